import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.ConsumerEventListener;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.PatternMultiTopicsConsumerImpl;

/** A dozen things the official Java client does, each against a fresh topic; one line for each, exit code 1 if one fails. */
public final class Interop {
    static final int SECONDS = 20;
    private static final int QUIET_MILLIS = 400;

    private final PulsarClient client;
    private final String adminUrl;

    /** One thing to try. */
    private interface Check {
        void run(String topic) throws Exception;
    }

    private Interop(PulsarClient client, String adminUrl) {
        this.client = client;
        this.adminUrl = adminUrl;
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 2) {
            System.err.println("usage: Interop pulsar://HOST:PORT http://HOST:PORT");
            System.exit(2);
        }
        int failed;
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).build()) {
            failed = new Interop(client, args[1]).runAll();
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    private int runAll() {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("publish one by one", topic -> publishes(topic, false));
        checks.put("publish in batches", topic -> publishes(topic, true));
        checks.put("exclusive refuses a second consumer", this::exclusive);
        checks.put("failover tells who is active and hands over", this::failover);
        checks.put("shared shares", this::shared);
        checks.put("key-shared keeps the order of a key on one consumer", this::keyShared);
        checks.put("cumulative acknowledgement", this::cumulative);
        checks.put("acknowledgement inside a batch, with receipts", this::batchIndex);
        checks.put("seek by id and by time", this::seek);
        checks.put("reader, hasMessageAvailable", this::reader);
        checks.put("negative acknowledgement and dead letters", this::deadLetters);
        checks.put("retry letters", this::retryLetters);
        checks.put("chunks", this::chunks);
        checks.put("partitions", this::partitions);
        checks.put("exclusive producer is fenced", this::fencing);
        checks.put("message listener", this::listener);
        checks.put("redeliver all with a consumer epoch", this::redeliverAll);
        Schemas schemas = new Schemas(client);
        checks.put("Avro and JSON schemas, read as they come", schemas::structures);
        checks.put("schemas in several versions, from one producer", schemas::versions);
        checks.put("schemas that do not go together", schemas::incompatible);
        checks.put("key-value schemas", schemas::pairs);
        checks.put("schemas of single values", schemas::values);
        checks.put("bytes that are checked against the topic's schema", schemas::checkedBytes);
        checks.put("a pattern hears of topics that come and go", this::pattern);
        checks.put("non-persistent, all four types", this::nonPersistent);
        int failed = 0;
        for (Map.Entry<String, Check> check : checks.entrySet()) {
            String topic = "persistent://public/default/java-" + UUID.randomUUID();
            long start = System.nanoTime();
            String outcome = "ok  ";
            String reason = "";
            try {
                check.getValue().run(topic);
            } catch (Exception | AssertionError error) {
                failed++;
                outcome = "FAIL";
                reason = ": " + error;
            }
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            System.out.printf("%s  %-55s %5d ms%s%n", outcome, check.getKey(), millis, reason);
        }
        System.out.printf("%d of %d checks passed%n", checks.size() - failed, checks.size());
        return failed;
    }

    private void publishes(String topic, boolean batched) throws Exception {
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Exclusive).subscribe();
                Producer<String> producer = producer(topic, batched).create()) {
            List<CompletableFuture<MessageId>> receipts = new ArrayList<>();
            for (int number = 0; number < 200; number++) {
                receipts.add(producer.newMessage().key("k" + number).property("n", "" + number).value("m-" + number)
                        .eventTime(1000L + number).sendAsync());
            }
            producer.flush();
            for (int number = 0; number < 200; number++) {
                Message<String> message = receive(consumer);
                same("m-" + number, message.getValue());
                same("k" + number, message.getKey());
                same("" + number, message.getProperty("n"));
                same(1000L + number, message.getEventTime());
                same(receipts.get(number).get(), message.getMessageId());
                consumer.acknowledge(message);
            }
            nothing(consumer);
        }
    }

    private void exclusive(String topic) throws Exception {
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Exclusive).subscribe()) {
            fails(PulsarClientException.ConsumerBusyException.class,
                    () -> consumer(topic, "s", SubscriptionType.Exclusive).subscribe());
            fails(PulsarClientException.ConsumerBusyException.class,
                    () -> consumer(topic, "s", SubscriptionType.Shared).subscribe());
            same(true, consumer.isConnected());
        }
    }

    private void failover(String topic) throws Exception {
        CountDownLatch active = new CountDownLatch(1);
        ConsumerEventListener listener = new ConsumerEventListener() {
            @Override
            public void becameActive(Consumer<?> consumer, int partition) {
                active.countDown();
            }

            @Override
            public void becameInactive(Consumer<?> consumer, int partition) {
            }
        };
        Consumer<String> first =
                consumer(topic, "s", SubscriptionType.Failover).consumerName("a").priorityLevel(0).subscribe();
        try (Producer<String> producer = producer(topic, false).create()) {
            for (int number = 0; number < 10; number++) {
                producer.send("m-" + number);
            }
            for (int number = 0; number < 10; number++) {
                Message<String> message = receive(first);
                if (number < 6) {
                    first.acknowledge(message);
                }
            }
            try (Consumer<String> second = consumer(topic, "s", SubscriptionType.Failover).consumerName("b")
                    .priorityLevel(1).consumerEventListener(listener).subscribe()) {
                nothing(second);
                first.close();
                same(true, active.await(SECONDS, TimeUnit.SECONDS));
                for (int number = 6; number < 10; number++) {
                    same("m-" + number, receive(second).getValue());
                }
            }
        }
    }

    private void shared(String topic) throws Exception {
        try (Consumer<String> one = consumer(topic, "s", SubscriptionType.Shared).subscribe();
                Consumer<String> two = consumer(topic, "s", SubscriptionType.Shared).subscribe();
                Producer<String> producer = producer(topic, false).create()) {
            for (int number = 0; number < 100; number++) {
                producer.sendAsync("m-" + number);
            }
            producer.flush();
            Map<Consumer<String>, List<Message<String>>> got = drain(List.of(one, two), 100);
            Set<String> all = new HashSet<>();
            got.values().forEach(messages -> messages.forEach(message -> all.add(message.getValue())));
            same(100, all.size());
            same(false, got.get(one).isEmpty() || got.get(two).isEmpty());
        }
    }

    private void keyShared(String topic) throws Exception {
        try (Consumer<String> one = consumer(topic, "s", SubscriptionType.Key_Shared).consumerName("a").subscribe();
                Consumer<String> two = consumer(topic, "s", SubscriptionType.Key_Shared).consumerName("b").subscribe();
                Producer<String> producer =
                        producer(topic, true).batcherBuilder(BatcherBuilder.KEY_BASED).create()) {
            for (int number = 0; number < 300; number++) {
                producer.newMessage().key("k" + number % 20).value("" + number).sendAsync();
            }
            producer.flush();
            Map<String, Consumer<String>> owners = new HashMap<>();
            Map<String, Integer> last = new HashMap<>();
            Map<Consumer<String>, List<Message<String>>> got = drain(List.of(one, two), 300);
            got.forEach((consumer, messages) -> messages.forEach(message -> {
                same(consumer, owners.computeIfAbsent(message.getKey(), key -> consumer));
                int number = Integer.parseInt(message.getValue());
                same(true, number > last.getOrDefault(message.getKey(), -1));
                last.put(message.getKey(), number);
            }));
            same(20, owners.size());
            same(2, new HashSet<>(owners.values()).size());
        }
    }

    private void cumulative(String topic) throws Exception {
        try (Producer<String> producer = producer(topic, false).create()) {
            try (Consumer<String> consumer =
                    consumer(topic, "s", SubscriptionType.Exclusive).isAckReceiptEnabled(true).subscribe()) {
                for (int number = 0; number < 10; number++) {
                    producer.send("m-" + number);
                }
                Message<String> seventh = null;
                for (int number = 0; number < 7; number++) {
                    seventh = receive(consumer);
                }
                consumer.acknowledgeCumulative(seventh);
            }
            try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Exclusive).subscribe()) {
                same("m-7", receive(consumer).getValue());
            }
        }
    }

    private void batchIndex(String topic) throws Exception {
        try (Producer<String> producer = producer(topic, true).create()) {
            try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Shared)
                    .enableBatchIndexAcknowledgment(true).isAckReceiptEnabled(true).subscribe()) {
                for (int number = 0; number < 10; number++) {
                    producer.sendAsync("m-" + number);
                }
                producer.flush();
                for (int number = 0; number < 10; number++) {
                    Message<String> message = receive(consumer);
                    if (number != 3 && number != 8) {
                        consumer.acknowledge(message);
                    }
                }
            }
            try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Shared)
                    .enableBatchIndexAcknowledgment(true).isAckReceiptEnabled(true).subscribe()) {
                String first = receive(consumer).getValue();
                // A broker that does not keep indexes (as Pulsar 4 does unless told) sends the whole batch again.
                if (!first.equals("m-0")) {
                    same("m-3", first);
                    same("m-8", receive(consumer).getValue());
                    nothing(consumer);
                }
            }
        }
    }

    private void seek(String topic) throws Exception {
        try (Consumer<String> keeper = consumer(topic, "keeper", SubscriptionType.Exclusive).subscribe();
                Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Exclusive).subscribe();
                Producer<String> producer = producer(topic, false).create()) {
            List<MessageId> ids = new ArrayList<>();
            for (int number = 0; number < 10; number++) {
                ids.add(producer.send("m-" + number));
            }
            for (int number = 0; number < 10; number++) {
                consumer.acknowledge(receive(consumer));
            }
            consumer.seek(ids.get(4));
            same("m-5", receive(consumer).getValue());
            consumer.seek(1L);
            same("m-0", receive(consumer).getValue());
            consumer.seek(MessageId.latest);
            producer.send("new");
            same("new", receive(consumer).getValue());
            consumer.seek(MessageId.earliest);
            same("m-0", receive(consumer).getValue());
            same(true, keeper.isConnected());
        }
    }

    private void reader(String topic) throws Exception {
        try (Producer<String> producer = producer(topic, true).create();
                Reader<String> empty = client.newReader(Schema.STRING).topic(topic)
                        .startMessageId(MessageId.earliest).create()) {
            same(false, empty.hasMessageAvailable());
            for (int number = 0; number < 10; number++) {
                producer.sendAsync("m-" + number);
            }
            producer.flush();
            MessageId fourth = null;
            for (int number = 0; number < 10; number++) {
                same(true, empty.hasMessageAvailable());
                Message<String> message = empty.readNext(SECONDS, TimeUnit.SECONDS);
                same("m-" + number, message.getValue());
                fourth = number == 4 ? message.getMessageId() : fourth;
            }
            same(false, empty.hasMessageAvailable());
            try (Reader<String> from = client.newReader(Schema.STRING).topic(topic).startMessageId(fourth).create();
                    Reader<String> with = client.newReader(Schema.STRING).topic(topic).startMessageId(fourth)
                            .startMessageIdInclusive().create()) {
                same("m-5", from.readNext(SECONDS, TimeUnit.SECONDS).getValue());
                same("m-4", with.readNext(SECONDS, TimeUnit.SECONDS).getValue());
            }
        }
    }

    private void deadLetters(String topic) throws Exception {
        DeadLetterPolicy policy = DeadLetterPolicy.builder().maxRedeliverCount(2).deadLetterTopic(topic + "-dead")
                .initialSubscriptionName("first").build();
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Shared).deadLetterPolicy(policy)
                        .negativeAckRedeliveryDelay(100, TimeUnit.MILLISECONDS).subscribe();
                Producer<String> producer = producer(topic, false).create()) {
            producer.send("bad");
            for (int count = 0; count <= 2; count++) {
                Message<String> message = receive(consumer);
                same(count, message.getRedeliveryCount());
                consumer.negativeAcknowledge(message);
            }
            nothing(consumer);
            try (Consumer<String> dead = consumer(topic + "-dead", "first", SubscriptionType.Exclusive).subscribe()) {
                same("bad", receive(dead).getValue());
            }
        }
    }

    private void retryLetters(String topic) throws Exception {
        DeadLetterPolicy policy = DeadLetterPolicy.builder().maxRedeliverCount(1).build();
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Shared).deadLetterPolicy(policy)
                        .enableRetry(true).subscribe();
                Consumer<String> dead = consumer(topic + "-s-DLQ", "watcher", SubscriptionType.Exclusive).subscribe();
                Producer<String> producer = producer(topic, false).create()) {
            producer.send("later");
            for (int attempt = 0; attempt < 2; attempt++) {
                Message<String> message = receive(consumer);
                same("later", message.getValue());
                consumer.reconsumeLater(message, 0, TimeUnit.MILLISECONDS);
            }
            same("later", receive(dead).getValue());
        }
    }

    private void chunks(String topic) throws Exception {
        byte[] large = new byte[12 * 1024 * 1024];
        new Random(7).nextBytes(large);
        try (Consumer<byte[]> consumer = client.newConsumer().topic(topic).subscriptionName("s")
                        .subscriptionType(SubscriptionType.Shared).subscribe();
                Producer<byte[]> producer =
                        client.newProducer().topic(topic).enableChunking(true).enableBatching(false).create()) {
            producer.send(large);
            Message<byte[]> message = consumer.receive(SECONDS, TimeUnit.SECONDS);
            same(true, Arrays.equals(large, message.getData()));
            consumer.acknowledge(message);
        }
    }

    private void partitions(String topic) throws Exception {
        put(topic.replace("://", "/") + "/partitions", "3");
        same(3, client.getPartitionsForTopic(topic).get().size());
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Shared).subscribe();
                Producer<String> producer = producer(topic, false).create()) {
            Set<String> sent = new TreeSet<>();
            for (int number = 0; number < 60; number++) {
                producer.newMessage().key("k" + number).value("m-" + number).send();
                sent.add("m-" + number);
            }
            Set<String> got = new TreeSet<>();
            Set<String> topics = new HashSet<>();
            for (int number = 0; number < 60; number++) {
                Message<String> message = receive(consumer);
                got.add(message.getValue());
                topics.add(message.getTopicName());
                consumer.acknowledge(message);
            }
            same(sent, got);
            same(3, topics.size());
        }
    }

    private void fencing(String topic) throws Exception {
        try (Producer<String> first = producer(topic, false).accessMode(ProducerAccessMode.Exclusive).create()) {
            first.send("first");
            fails(PulsarClientException.ProducerFencedException.class,
                    () -> producer(topic, false).accessMode(ProducerAccessMode.Exclusive).create());
            fails(PulsarClientException.ProducerBusyException.class, () -> producer(topic, false).create());
            try (Producer<String> second =
                    producer(topic, false).accessMode(ProducerAccessMode.ExclusiveWithFencing).create()) {
                second.send("second");
                fails(PulsarClientException.ProducerFencedException.class, () -> first.send("late"));
            }
        }
    }

    private void listener(String topic) throws Exception {
        ConcurrentLinkedQueue<String> heard = new ConcurrentLinkedQueue<>();
        CountDownLatch all = new CountDownLatch(50);
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Exclusive)
                        .messageListener((from, message) -> {
                            heard.add(message.getValue());
                            from.acknowledgeAsync(message);
                            all.countDown();
                        }).subscribe();
                Producer<String> producer = producer(topic, true).create()) {
            List<String> sent = new ArrayList<>();
            for (int number = 0; number < 50; number++) {
                producer.sendAsync("m-" + number);
                sent.add("m-" + number);
            }
            producer.flush();
            same(true, all.await(SECONDS, TimeUnit.SECONDS));
            same(sent, new ArrayList<>(heard));
            same("s", consumer.getSubscription());
        }
    }

    private void redeliverAll(String topic) throws Exception {
        try (Consumer<String> consumer = consumer(topic, "s", SubscriptionType.Exclusive).subscribe();
                Producer<String> producer = producer(topic, false).create()) {
            for (int number = 0; number < 10; number++) {
                producer.send("m-" + number);
            }
            for (int round = 0; round < 5; round++) {
                for (int number = 0; number < 10; number++) {
                    same("m-" + number, receive(consumer).getValue());
                }
                consumer.redeliverUnacknowledgedMessages();
            }
        }
    }

    /** The client polls every ten minutes here, so what it knows sooner it was told by a watcher. */
    private void pattern(String topic) throws Exception {
        String stem = topic.substring(0, topic.lastIndexOf('/') + 1) + "j" + UUID.randomUUID().toString().substring(0, 8);
        producer(stem + "-0", false).create().close();
        try (Consumer<String> consumer = client.newConsumer(Schema.STRING).topicsPattern(Pattern.compile(stem + "-.*"))
                .patternAutoDiscoveryPeriod(10, TimeUnit.MINUTES).subscriptionName("s")
                .subscriptionType(SubscriptionType.Shared)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe()) {
            for (int number = 0; number < 5; number++) {
                try (Producer<String> producer = producer(stem + "-" + number, false).create()) {
                    producer.send("m-" + number);
                }
                Message<String> message = receive(consumer);
                same("m-" + number, message.getValue());
                consumer.acknowledge(message);
            }
            put(path(stem + "-parts") + "/partitions", "3");
            try (Producer<String> producer = producer(stem + "-parts", false).create()) {
                Set<String> sent = new TreeSet<>();
                Set<String> found = new TreeSet<>();
                for (int number = 0; number < 9; number++) {
                    producer.send("p-" + number);
                    sent.add("p-" + number);
                }
                for (int number = 0; number < 9; number++) {
                    found.add(receive(consumer).getValue());
                }
                same(sent, found);
            }
            known(consumer, 8);
            for (int number = 0; number < 4; number++) {
                request("DELETE", path(stem + "-" + number) + "?force=true", "");
            }
            known(consumer, 4);
            try (Producer<String> producer = producer(stem + "-0", false).create()) {
                producer.send("again");
            }
            same("again", receive(consumer).getValue());
        }
    }

    /** Waits until the pattern's consumer has so many consumers of topics and partitions. */
    private static void known(Consumer<String> consumer, int count) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        int found;
        while ((found = ((PatternMultiTopicsConsumerImpl<String>) consumer).getConsumers().size()) != count) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("the pattern has " + found + " consumers instead of " + count);
            }
            Thread.sleep(20);
        }
    }

    private static String path(String topic) {
        return topic.replace("://", "/");
    }

    private void nonPersistent(String topic) throws Exception {
        String passing = "non-" + topic;
        try (Producer<String> producer = producer(passing, false).create()) {
            for (SubscriptionType type : SubscriptionType.values()) {
                try (Consumer<String> consumer = consumer(passing, "s-" + type, type).subscribe()) {
                    for (int number = 0; number < 20; number++) {
                        producer.newMessage().key("k" + number % 4).value("m-" + number).send();
                    }
                    for (int number = 0; number < 20; number++) {
                        Message<String> message = receive(consumer);
                        same("m-" + number, message.getValue());
                        consumer.acknowledge(message);
                    }
                    nothing(consumer);
                }
            }
        }
    }

    private ConsumerBuilder<String> consumer(String topic, String subscription, SubscriptionType type) {
        return client.newConsumer(Schema.STRING).topic(topic).subscriptionName(subscription).subscriptionType(type)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest);
    }

    private ProducerBuilder<String> producer(String topic, boolean batched) {
        return client.newProducer(Schema.STRING).topic(topic).enableBatching(batched).blockIfQueueFull(true);
    }

    private static Message<String> receive(Consumer<String> consumer) throws PulsarClientException {
        Message<String> message = consumer.receive(SECONDS, TimeUnit.SECONDS);
        if (message == null) {
            throw new AssertionError("no message came");
        }
        return message;
    }

    private static void nothing(Consumer<String> consumer) throws PulsarClientException {
        Message<String> message = consumer.receive(QUIET_MILLIS, TimeUnit.MILLISECONDS);
        if (message != null) {
            throw new AssertionError("came and should not: " + message.getValue());
        }
    }

    private static Map<Consumer<String>, List<Message<String>>> drain(List<Consumer<String>> consumers, int count)
            throws PulsarClientException {
        Map<Consumer<String>, List<Message<String>>> got = new HashMap<>();
        consumers.forEach(consumer -> got.put(consumer, new ArrayList<>()));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        int missing = count;
        while (missing > 0) {
            for (Consumer<String> consumer : consumers) {
                Message<String> message = consumer.receive(5, TimeUnit.MILLISECONDS);
                if (message != null) {
                    got.get(consumer).add(message);
                    consumer.acknowledge(message);
                    missing--;
                }
            }
            if (System.nanoTime() > deadline) {
                throw new AssertionError(missing + " messages did not come");
            }
        }
        return got;
    }

    private void put(String path, String body) throws Exception {
        request("PUT", path, body);
    }

    private void request(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(adminUrl + "/admin/v2/" + path))
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        int status = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
        same(true, status == 204 || status == 200);
    }

    static void same(Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    /** Something that may fail. */
    interface Step {
        Object run() throws Exception;
    }

    static void fails(Class<? extends Exception> kind, Step step) throws Exception {
        try {
            step.run();
        } catch (Exception error) {
            if (kind.isInstance(error)) {
                return;
            }
            throw error;
        }
        throw new AssertionError(kind.getSimpleName() + " expected");
    }
}
