import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.Namespaces;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.admin.Topics;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.impl.MessageIdImpl;
import org.apache.pulsar.common.policies.data.AuthAction;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.policies.data.SubscriptionAuthMode;

/** What an operator does with the official Java admin client; one line for each thing, exit code 1 if one fails. */
public final class AdminInterop {
    private final PulsarClient client;
    private final PulsarAdmin admin;

    /** One thing to try, with a name that nobody else uses. */
    private interface Check {
        void run(String name) throws Exception;
    }

    private AdminInterop(PulsarClient client, PulsarAdmin admin) {
        this.client = client;
        this.admin = admin;
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 2) {
            System.err.println("usage: AdminInterop pulsar://HOST:PORT http://HOST:PORT");
            System.exit(2);
        }
        int failed;
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).build();
                PulsarAdmin admin = PulsarAdmin.builder().serviceHttpUrl(args[1]).build()) {
            failed = new AdminInterop(client, admin).runAll();
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    private int runAll() {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("admin: properties of topics and subscriptions", this::properties);
        checks.put("admin: messages by id, by place, by time, compressed and in batches", this::messages);
        checks.put("admin: cursors are moved", this::cursors);
        checks.put("admin: truncate, trim, unload, terminate, delete", this::endings);
        checks.put("admin: partitions", this::partitions);
        checks.put("admin: namespaces and their ranges", this::namespaces);
        checks.put("admin: permissions", this::permissions);
        checks.put("admin: clusters and brokers", this::cluster);
        int failed = 0;
        for (Map.Entry<String, Check> check : checks.entrySet()) {
            try {
                check.getValue().run("java-" + UUID.randomUUID());
                System.out.println("ok      " + check.getKey());
            } catch (Exception | AssertionError error) {
                failed++;
                System.out.println("FAILED  " + check.getKey() + ": " + error);
            }
        }
        return failed;
    }

    private static void same(Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    private static String topic(String name) {
        return "persistent://public/default/" + name;
    }

    private static String text(Message<byte[]> message) {
        return new String(message.getData(), StandardCharsets.UTF_8);
    }

    /** A topic with a batch of three and one message alone, both compressed, and a subscription at its beginning. */
    private MessageIdImpl filled(String topic) throws Exception {
        admin.topics().createNonPartitionedTopic(topic);
        admin.topics().createSubscription(topic, "s", MessageId.earliest);
        try (Producer<byte[]> batches = client.newProducer().topic(topic).compressionType(CompressionType.ZSTD)
                .batchingMaxPublishDelay(10, TimeUnit.SECONDS).create()) {
            for (int number = 0; number < 3; number++) {
                batches.newMessage().value(("batch-" + number).getBytes(StandardCharsets.UTF_8)).sendAsync();
            }
            batches.flush();
        }
        try (Producer<byte[]> single = client.newProducer().topic(topic).compressionType(CompressionType.LZ4)
                .enableBatching(false).create()) {
            return (MessageIdImpl) single.newMessage().key("k").property("p", "\u00fc").eventTime(5)
                    .value("alone".getBytes(StandardCharsets.UTF_8)).send();
        }
    }

    private void properties(String name) throws Exception {
        Topics topics = admin.topics();
        String topic = topic(name);
        topics.createNonPartitionedTopic(topic, Map.of("a", "1"));
        topics.updateProperties(topic, Map.of("b", "2"));
        same(Map.of("a", "1", "b", "2"), topics.getProperties(topic));
        topics.removeProperties(topic, "a");
        same(Map.of("b", "2"), topics.getProperties(topic));
        topics.createSubscription(topic, "s/1", MessageId.latest);
        topics.updateSubscriptionProperties(topic, "s/1", Map.of("x", "y"));
        same(Map.of("x", "y"), topics.getSubscriptionProperties(topic, "s/1"));
        same(List.of("s/1"), topics.getSubscriptions(topic));
    }

    private void messages(String name) throws Exception {
        Topics topics = admin.topics();
        String topic = topic(name);
        MessageIdImpl last = filled(topic);
        List<String> peeked = new ArrayList<>();
        for (Message<byte[]> message : topics.peekMessages(topic, "s", 4)) {
            peeked.add(text(message));
        }
        same(List.of("batch-0", "batch-1", "batch-2", "alone"), peeked);
        Message<byte[]> found = topics.getMessagesById(topic, last.getLedgerId(), last.getEntryId()).get(0);
        same("alone", text(found));
        same("\u00fc", found.getProperties().get("p"));
        same(5L, found.getEventTime());
        same("k", found.getKey());
        same("alone", text(topics.examineMessage(topic, "latest", 1)));
        same(3, topics.getMessagesById(topic, last.getLedgerId(), 0).size());
        same(last.getEntryId(), ((MessageIdImpl) topics.getLastMessageId(topic)).getEntryId());
        same(-1L, ((MessageIdImpl) topics.getMessageIdByTimestamp(topic, 0)).getEntryId());
        same(4L, topics.analyzeSubscriptionBacklog(topic, "s", Optional.empty()).getMessages());
        same(0L, topics.getBacklogSizeByMessageId(topic, last));
        same(1, topics.getInternalStats(topic).ledgers.size());
    }

    private void cursors(String name) throws Exception {
        Topics topics = admin.topics();
        String topic = topic(name);
        MessageIdImpl last = filled(topic);
        topics.skipAllMessages(topic, "s");
        topics.resetCursor(topic, "s", 0L);
        same(2L, topics.getStats(topic).getSubscriptions().get("s").getMsgBacklog());
        topics.resetCursor(topic, "s", last, false);
        same(1L, topics.getStats(topic).getSubscriptions().get("s").getMsgBacklog());
        topics.resetCursor(topic, "s", last, true);
        same(0L, topics.getStats(topic).getSubscriptions().get("s").getMsgBacklog());
        topics.resetCursor(topic, "s", MessageId.earliest);
        topics.expireMessages(topic, "s", last, false);
        topics.deleteSubscription(topic, "s");
    }

    private void endings(String name) throws Exception {
        Topics topics = admin.topics();
        String topic = topic(name);
        filled(topic);
        topics.trimTopic(topic);
        topics.truncate(topic);
        topics.unload(topic);
        topics.terminateTopic(topic);
        topics.delete(topic);
        try {
            topics.getStats(topic);
            throw new AssertionError("the topic is still there");
        } catch (PulsarAdminException.NotFoundException gone) {
            same(404, gone.getStatusCode());
        }
    }

    private void partitions(String name) throws Exception {
        Topics topics = admin.topics();
        String topic = topic(name);
        topics.createPartitionedTopic(topic, 2, Map.of("a", "1"));
        same(Map.of("a", "1"), topics.getProperties(topic));
        topics.createMissedPartitions(topic);
        topics.createSubscription(topic, "s", MessageId.earliest);
        topics.updatePartitionedTopic(topic, 3);
        same(3, topics.getPartitionedTopicMetadata(topic).partitions);
        same(3, topics.getPartitionedInternalStats(topic).partitions.size());
        topics.resetCursor(topic, "s", 0L);
        topics.truncate(topic);
        topics.deletePartitionedTopic(topic);
    }

    private void namespaces(String name) throws Exception {
        Namespaces namespaces = admin.namespaces();
        String namespace = "public/" + name;
        namespaces.createNamespace(namespace, 2);
        same(2, namespaces.getBundles(namespace).getNumBundles());
        namespaces.setProperties(namespace, Map.of("a", "1"));
        namespaces.setProperty(namespace, "b", "2");
        same("2", namespaces.getProperty(namespace, "b"));
        same("2", namespaces.removeProperty(namespace, "b"));
        same(Map.of("a", "1"), namespaces.getProperties(namespace));
        same(null, namespaces.getRetention(namespace));
        same(null, namespaces.getNamespaceMessageTTL(namespace));
        namespaces.setNamespaceAntiAffinityGroup(namespace, "g");
        same("g", namespaces.getNamespaceAntiAffinityGroup(namespace));
        namespaces.setSubscriptionAuthMode(namespace, SubscriptionAuthMode.Prefix);
        same(SubscriptionAuthMode.Prefix, namespaces.getSubscriptionAuthMode(namespace));
        namespaces.splitNamespaceBundle(namespace, "0x00000000_0x80000000", false, null);
        same(3, namespaces.getBundles(namespace).getNumBundles());
        namespaces.unloadNamespaceBundle(namespace, "0x00000000_0x40000000");
        namespaces.unload(namespace);
        namespaces.clearNamespaceBacklog(namespace);
        namespaces.unsubscribeNamespace(namespace, "s");
        namespaces.deleteNamespace(namespace);
    }

    private void permissions(String name) throws Exception {
        String namespace = "public/" + name;
        String topic = "persistent://" + namespace + "/t";
        admin.namespaces().createNamespace(namespace);
        admin.topics().createNonPartitionedTopic(topic);
        admin.namespaces().grantPermissionOnNamespace(namespace, "app", Set.of(AuthAction.consume));
        admin.topics().grantPermission(topic, "app", Set.of(AuthAction.produce));
        same(Set.of(AuthAction.consume, AuthAction.produce), new HashSet<>(admin.topics().getPermissions(topic).get("app")));
        admin.topics().revokePermissions(topic, "app");
        same(Map.of("app", Set.of(AuthAction.consume)), admin.namespaces().getPermissions(namespace));
        admin.topics().delete(topic);
        admin.namespaces().deleteNamespace(namespace);
    }

    private void cluster(String name) throws Exception {
        admin.clusters().createCluster(name, ClusterData.builder().serviceUrl("http://there:8080").build());
        same("http://there:8080", admin.clusters().getCluster(name).getServiceUrl());
        admin.clusters().deleteCluster(name);
        admin.brokers().healthcheck();
        String broker = admin.brokers().getLeaderBroker().getBrokerId();
        same(List.of(broker), admin.brokers().getActiveBrokers());
        admin.brokers().getOwnedNamespaces(admin.clusters().getClusters().get(0), broker);
        admin.brokerStats().getTopics();
        admin.brokerStats().getMetrics();
    }
}
