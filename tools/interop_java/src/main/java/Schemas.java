import java.time.Instant;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;

/** What the official Java client does with schemas. */
final class Schemas {
    private final PulsarClient client;

    Schemas(PulsarClient client) {
        this.client = client;
    }

    /** A record. */
    public static class Order {
        public int id;
        public String item;
    }

    /** Its next version; what is new may be absent. */
    public static class OrderWithNote {
        public int id;
        public String item;
        public String note;
    }

    /** Not its next version. */
    public static class OrderByName {
        public String id;
        public String item;
    }

    void structures(String topic) throws Exception {
        Map<String, Schema<Order>> schemas = new LinkedHashMap<>();
        schemas.put("avro", Schema.AVRO(Order.class));
        schemas.put("json", Schema.JSON(Order.class));
        for (Map.Entry<String, Schema<Order>> each : schemas.entrySet()) {
            String name = topic + "-" + each.getKey();
            try (Producer<Order> producer = client.newProducer(each.getValue()).topic(name).create();
                    Consumer<GenericRecord> any = consumer(Schema.AUTO_CONSUME(), name, "any");
                    Consumer<Order> typed = consumer(each.getValue(), name, "typed")) {
                producer.send(order(7, "tea"));
                GenericRecord record = receive(any).getValue();
                Interop.same(7, record.getField("id"));
                Interop.same("tea", String.valueOf(record.getField("item")));
                Interop.same("tea", receive(typed).getValue().item);
            }
        }
    }

    void versions(String topic) throws Exception {
        Schema<OrderWithNote> later = Schema.AVRO(OrderWithNote.class);
        try (Consumer<GenericRecord> early = consumer(Schema.AUTO_CONSUME(), topic, "early");
                Producer<Order> producer = client.newProducer(Schema.AVRO(Order.class)).topic(topic).create();
                Consumer<OrderWithNote> consumer = consumer(later, topic, "s")) {
            producer.send(order(1, "tea"));
            OrderWithNote noted = new OrderWithNote();
            noted.id = 2;
            noted.item = "cup";
            noted.note = "blue";
            producer.newMessage(later).value(noted).send();
            Message<OrderWithNote> first = receive(consumer);
            Message<OrderWithNote> second = receive(consumer);
            Interop.same(null, first.getValue().note);
            Interop.same("blue", second.getValue().note);
            Interop.same(0, first.getSchemaVersion()[7] + 0);
            Interop.same(1, second.getSchemaVersion()[7] + 0);
            Interop.same(1, receive(early).getValue().getField("id"));
            Interop.same("blue", String.valueOf(receive(early).getValue().getField("note")));
        }
    }

    void incompatible(String topic) throws Exception {
        try (Producer<Order> producer = client.newProducer(Schema.AVRO(Order.class)).topic(topic).create()) {
            producer.send(order(1, "tea"));
            Class<PulsarClientException.IncompatibleSchemaException> refused =
                    PulsarClientException.IncompatibleSchemaException.class;
            Interop.fails(refused, () -> client.newProducer(Schema.AVRO(OrderByName.class)).topic(topic).create());
            Interop.fails(refused, () -> client.newProducer(Schema.JSON(Order.class)).topic(topic).create());
            Interop.fails(refused, () -> client.newProducer(Schema.STRING).topic(topic).create());
            Interop.fails(refused, () -> consumer(Schema.AVRO(OrderByName.class), topic, "s"));
            Interop.fails(refused, () -> consumer(Schema.INT32, topic, "s"));
        }
    }

    void pairs(String topic) throws Exception {
        for (KeyValueEncodingType encoding : KeyValueEncodingType.values()) {
            String name = topic + "-" + encoding;
            Schema<KeyValue<String, Order>> schema =
                    Schema.KeyValue(Schema.STRING, Schema.AVRO(Order.class), encoding);
            try (Producer<KeyValue<String, Order>> producer = client.newProducer(schema).topic(name).create();
                    Consumer<KeyValue<String, Order>> typed = consumer(schema, name, "typed");
                    Consumer<GenericRecord> any = consumer(Schema.AUTO_CONSUME(), name, "any")) {
                producer.send(new KeyValue<>("k", order(3, "pot")));
                Interop.same("k", receive(typed).getValue().getKey());
                KeyValue<?, ?> found = (KeyValue<?, ?>) receive(any).getValue().getNativeObject();
                Interop.same("k", found.getKey());
                Interop.same(3, ((GenericRecord) found.getValue()).getField("id"));
                Interop.fails(PulsarClientException.IncompatibleSchemaException.class, () -> client
                        .newProducer(Schema.KeyValue(Schema.STRING, Schema.AVRO(OrderByName.class), encoding))
                        .topic(name).create());
            }
        }
    }

    void values(String topic) throws Exception {
        value(topic + "-boolean", Schema.BOOL, true);
        value(topic + "-int", Schema.INT32, 42);
        value(topic + "-long", Schema.INT64, 1L << 40);
        value(topic + "-double", Schema.DOUBLE, 1.5);
        value(topic + "-text", Schema.STRING, "x");
        value(topic + "-instant", Schema.INSTANT, Instant.ofEpochSecond(1));
        value(topic + "-time", Schema.LOCAL_DATE_TIME, LocalDateTime.of(2020, 1, 2, 3, 4));
    }

    private <T> void value(String topic, Schema<T> schema, T value) throws Exception {
        try (Producer<T> producer = client.newProducer(schema).topic(topic).create();
                Consumer<T> consumer = consumer(schema, topic, "s");
                Consumer<GenericRecord> any = consumer(Schema.AUTO_CONSUME(), topic, "any")) {
            producer.send(value);
            Interop.same(value, receive(consumer).getValue());
            Interop.same(value, receive(any).getValue().getNativeObject());
        }
    }

    void checkedBytes(String topic) throws Exception {
        Schema<Order> schema = Schema.AVRO(Order.class);
        try (Consumer<Order> consumer = consumer(schema, topic, "s");
                Producer<byte[]> producer = client.newProducer(Schema.AUTO_PRODUCE_BYTES()).topic(topic).create()) {
            producer.send(schema.encode(order(5, "jar")));
            Interop.same("jar", receive(consumer).getValue().item);
        }
    }

    private static Order order(int id, String item) {
        Order made = new Order();
        made.id = id;
        made.item = item;
        return made;
    }

    private <T> Consumer<T> consumer(Schema<T> schema, String topic, String name) throws PulsarClientException {
        return client.newConsumer(schema).topic(topic).subscriptionName(name)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
    }

    private static <T> Message<T> receive(Consumer<T> consumer) throws PulsarClientException {
        Message<T> message = consumer.receive(Interop.SECONDS, TimeUnit.SECONDS);
        if (message == null) {
            throw new AssertionError("no message came");
        }
        return message;
    }
}
