"""Every setting of the broker: its name as in Pulsar's broker.conf, its default, what it may be, and what it does.

A setting is one line of the table below, and the attribute of the same name on a ``Settings``. Where its values come
from, and what is said about a wrong one, is in ``settings_load``. ``docs/reference/settings.md`` is made of this table.

A name that Pulsar has means here what it means there. ``later`` marks those that this version takes without acting on
them, so that one file serves both brokers: whoever changes such a setting is told so. ``refused`` marks those where
that would be dangerous, such as a request to authenticate: a broker that only looks closed must not start.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache

from magnetar.core.selector.names import SELECTORS
from magnetar.server import settings_choices as choices
from magnetar.server.settings_key import Key, Value
from magnetar.server.settings_key import key as _key
from magnetar.server.settings_key import limit as _limit
from magnetar.server.settings_key import port as _port
from magnetar.server.settings_key import some as _some

__all__ = ["INDEX_INTERCEPTOR", "TIME_INTERCEPTOR", "Key", "Settings", "Value", "keys"]

TIME_INTERCEPTOR = "org.apache.pulsar.common.intercept.AppendBrokerTimestampMetadataInterceptor"
INDEX_INTERCEPTOR = "org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor"


@dataclass(slots=True, frozen=True)
class Settings:
    """The settings of one broker.

    >>> Settings(brokerServicePort=16650).brokerServicePort
    16650
    """

    # Where it listens and where its data lies.
    clusterName: str = _key("standalone", "Name of the cluster that clients and tools see.")
    bindAddress: str = _key("127.0.0.1", "Address to listen on; 0.0.0.0 opens the broker to the network.")
    advertisedAddress: str = _key("", "Host that lookups tell clients to connect to; empty: the one listened on.")
    advertisedListeners: tuple[str, ...] = _key(
        (), "Addresses by listener name, as name:pulsar://host:port.", later=True
    )
    internalListenerName: str = _key("", "The listener that other brokers use.", later=True)
    brokerServicePort: int | None = _port(6650, "Port for clients; 0: any free one.")
    brokerServicePortTls: int | None = _port(None, "Port for clients over TLS; empty: none.", refused=True)
    webServicePort: int | None = _port(8080, "Port for HTTP: administration and metrics; 0: any free one; empty: none.")
    webServicePortTls: int | None = _port(None, "Port for HTTPS; empty: none.", refused=True)
    dataDirectory: str = _key("data", "Folder for messages and metadata. Magnetar's own setting.")
    metadataStoreUrl: str = _key("", "Where metadata lives; empty: a SQLite file in the data folder.", refused=True)

    # Connections.
    brokerMaxConnections: int = _limit(0, "Connections of clients at a time; 0: no limit.")
    brokerMaxConnectionsPerIp: int = _limit(0, "Connections of clients at a time from one address; 0: no limit.")
    keepAliveIntervalSeconds: int = _some(
        30, "A connection silent for so long is pinged, and closed if it stays silent."
    )
    connectionLivenessCheckTimeoutMillis: int = _limit(
        5000, "Time for a client to show that it lives when another wants its place; 0: no check."
    )
    maxMessageSize: int = _some(5242880, "Largest message in bytes.")
    maxPendingPublishRequestsPerConnection: int = _some(
        1000, "Unconfirmed publishes of a connection before it is not read."
    )
    maxConcurrentLookupRequest: int = _some(50000, "Lookups in progress before clients are told to come back.")
    maxConcurrentTopicLoadRequest: int = _some(5000, "Topics being loaded at a time.")
    topicLoadTimeoutSeconds: int = _some(60, "Time to load a topic before the client is told to come back.")
    brokerShutdownTimeoutMs: int = _limit(60000, "Time for a clean stop, in milliseconds.")

    # Topics.
    allowAutoTopicCreation: bool = _key(True, "Create a topic that is missing when a client asks for it.")
    allowAutoTopicCreationType: str = _key(
        "non-partitioned", "What is created automatically.", one_of=("non-partitioned", "partitioned")
    )
    defaultNumPartitions: int = _some(1, "Partitions of a partitioned topic that is created automatically.")
    maxNumPartitionsPerPartitionedTopic: int = _limit(0, "Partitions that a topic may have; 0: no limit.")
    allowAutoSubscriptionCreation: bool = _key(True, "Create a subscription that is missing when a client subscribes.")
    brokerDeleteInactiveTopicsEnabled: bool = _key(True, "Delete topics that nobody uses.")
    brokerDeleteInactiveTopicsFrequencySeconds: int = _some(60, "Time between two looks for unused topics.")
    brokerDeleteInactiveTopicsMode: str = _key(
        "delete_when_no_subscriptions", "When a topic counts as unused.", one_of=choices.INACTIVE_MODES
    )
    brokerDeleteInactiveTopicsMaxInactiveDurationSeconds: int | None = _key(
        None, "How long a topic stays unused before it is deleted; empty: as the time between looks.", at_least=1
    )
    brokerDeleteInactivePartitionedTopicMetadataEnabled: bool = _key(
        False, "Delete a partitioned topic once all of its partitions are deleted."
    )
    enablePersistentTopics: bool = _key(True, "Serve persistent topics.")
    enableNonPersistentTopics: bool = _key(True, "Serve non-persistent topics.")
    maxConcurrentNonPersistentMessagePerConnection: int = _some(
        1000, "Non-persistent messages in progress of one connection before more are dropped."
    )
    maxTopicsPerNamespace: int = _limit(0, "Topics that a namespace may have; 0: no limit.")
    maxProducersPerTopic: int = _limit(0, "Producers that a topic may have; 0: no limit.")
    maxConsumersPerTopic: int = _limit(0, "Consumers that a topic may have; 0: no limit.")
    maxConsumersPerSubscription: int = _limit(0, "Consumers that a subscription may have; 0: no limit.")
    maxSubscriptionsPerTopic: int = _limit(0, "Subscriptions that a topic may have; 0: no limit.")
    maxSameAddressProducersPerTopic: int = _limit(0, "Producers from one address on a topic; 0: no limit.", later=True)
    maxSameAddressConsumersPerTopic: int = _limit(0, "Consumers from one address on a topic; 0: no limit.", later=True)
    defaultNumberOfNamespaceBundles: int = _some(4, "Bundles that a new namespace shows to administration tools.")
    forceDeleteNamespaceAllowed: bool = _key(False, "Allow deleting a namespace together with its topics.")
    forceDeleteTenantAllowed: bool = _key(False, "Allow deleting a tenant together with its namespaces.")
    subscriptionPatternMaxLength: int = _limit(50, "Length of a topic pattern up to which the broker evaluates it.")
    enableBrokerSideSubscriptionPatternEvaluation: bool = _key(True, "Evaluate topic patterns in the broker.")
    enableBrokerTopicListWatcher: bool = _key(True, "Tell clients that watch a topic pattern what changes in its list.")

    # Deduplication.
    brokerDeduplicationEnabled: bool = _key(False, "Recognize and drop what a producer sends a second time.")
    brokerDeduplicationMaxNumberOfProducers: int = _some(
        10000, "Producers of a topic that are remembered for deduplication."
    )
    brokerDeduplicationEntriesInterval: int = _some(1000, "Entries after which what is remembered is saved.")
    brokerDeduplicationSnapshotIntervalSeconds: int = _some(120, "Time after which what is remembered is saved.")
    brokerDeduplicationSnapshotFrequencyInSeconds: int = _some(120, "Time between two looks for topics to save.")
    brokerDeduplicationProducerInactivityTimeoutMinutes: int = _some(360, "How long an absent producer is remembered.")

    # Retention, expiry and quotas.
    defaultRetentionTimeInMinutes: int = _key(
        0, "How long acknowledged messages are kept; 0: not at all, -1: for ever.", at_least=-1
    )
    defaultRetentionSizeInMB: int = _key(
        0, "How many megabytes of acknowledged messages a topic keeps; 0: none, -1: all.", at_least=-1
    )
    retentionCheckIntervalInSeconds: int = _some(120, "Time between two looks for acknowledged data to drop.")
    ttlDurationDefaultInSeconds: int = _limit(0, "Age at which an unacknowledged message expires; 0: never.")
    messageExpiryCheckIntervalInMinutes: int = _some(5, "Time between two looks for expired messages.")
    subscriptionExpirationTimeMinutes: int = _limit(0, "Time after which an unused subscription is deleted; 0: never.")
    subscriptionExpiryCheckIntervalInMinutes: int = _some(5, "Time between two looks for unused subscriptions.")
    backlogQuotaCheckEnabled: bool = _key(True, "Enforce the quotas on what lies unacknowledged.")
    backlogQuotaCheckIntervalInSeconds: int = _some(60, "Time between two looks at the quotas.")
    backlogQuotaDefaultLimitGB: float = _key(
        -1.0, "Gigabytes that may lie unacknowledged in a topic; -1 or 0: as the limit in bytes says.", at_least=-1
    )
    backlogQuotaDefaultLimitBytes: int = _key(-1, "The same in bytes; -1: no limit.", at_least=-1)
    backlogQuotaDefaultLimitSecond: int = _key(
        -1, "Age in seconds that an unacknowledged message may reach; -1: no limit.", at_least=-1
    )
    backlogQuotaDefaultRetentionPolicy: str = _key(
        "producer_request_hold", "What happens at the quota.", one_of=choices.QUOTA_ACTIONS
    )
    preciseTimeBasedBacklogQuotaCheck: bool = _key(False, "Has no meaning here: ages are always those of messages.")

    # Storage.
    managedLedgerCacheSizeMB: int = _limit(64, "Memory for the newest entries of all topics, in megabytes.")
    managedLedgerMaxEntriesPerLedger: int = _some(50000, "Entries after which a topic begins its next ledger.")
    managedLedgerMaxSizePerLedgerMbytes: int = _some(2048, "Megabytes after which a topic begins its next ledger.")
    managedLedgerMinLedgerRolloverTimeMinutes: int = _limit(
        10, "A ledger is not closed before it has this age.", later=True
    )
    managedLedgerMaxLedgerRolloverTimeMinutes: int = _some(
        240, "A ledger is closed at the latest at this age.", later=True
    )

    # Subscriptions and dispatch.
    subscriptionTypesEnabled: tuple[str, ...] = _key(
        choices.SUBSCRIPTION_TYPES, "Subscription types that clients may use.", one_of=choices.SUBSCRIPTION_TYPES
    )
    acknowledgmentAtBatchIndexLevelEnabled: bool = _key(True, "Remember which messages of a batch are acknowledged.")
    subscriptionRedeliveryTrackerEnabled: bool = _key(True, "Count how often a message is delivered.")
    maxUnackedMessagesPerConsumer: int = _limit(
        50000, "Unacknowledged messages at which a consumer gets no more; 0: no limit."
    )
    maxUnackedMessagesPerSubscription: int = _limit(
        200000, "Unacknowledged messages at which a subscription gets no more; 0: no limit."
    )
    maxUnackedMessagesPerBroker: int = _limit(
        0, "Unacknowledged messages of the whole broker; 0: no limit.", later=True
    )
    maxUnackedMessagesPerSubscriptionOnBrokerBlocked: float = _key(
        0.16, "Share of that limit at which a subscription counts as its cause.", at_least=0, at_most=1, later=True
    )
    dispatcherMaxReadBatchSize: int = _some(100, "Entries read at a time for a subscription.")
    dispatcherMinReadBatchSize: int = _some(1, "Entries read at a time after a failed read.", later=True)
    dispatcherMaxReadSizeBytes: int = _some(5242880, "Bytes read at a time for a subscription.")
    dispatcherMaxRoundRobinBatchSize: int = _some(
        20, "Messages a shared consumer gets before it is the next one's turn."
    )
    dispatcherRetryBackoffInitialTimeInMs: int = _limit(1, "First pause when nothing could be dispatched.", later=True)
    dispatcherRetryBackoffMaxTimeInMs: int = _limit(10, "Longest pause when nothing could be dispatched.", later=True)
    dispatcherReadFailureBackoffInitialTimeInMs: int = _limit(15000, "First pause after a failed read.", later=True)
    dispatcherReadFailureBackoffMaxTimeInMs: int = _limit(60000, "Longest pause after failed reads.", later=True)
    dispatcherReadFailureBackoffMandatoryStopTimeInMs: int = _limit(
        0, "Time after which failed reads are given a last try.", later=True
    )
    dispatcherDispatchMessagesInSubscriptionThread: bool = _key(
        True, "Has no meaning here: there is one loop.", later=True
    )
    dispatcherPauseOnAckStatePersistentEnabled: bool = _key(
        False, "Pause subscriptions while acknowledgements cannot be made durable, because the log fails."
    )
    preciseDispatcherFlowControl: bool = _key(False, "Estimate the messages of an entry when reading.", later=True)
    unblockStuckSubscriptionEnabled: bool = _key(False, "Look for stuck subscriptions and wake them.", later=True)
    delayedDeliveryEnabled: bool = _key(True, "Hold messages back until the time that their producer asked for.")
    delayedDeliveryTickTimeMillis: int = _some(1000, "Time in which delayed messages that are due are served together.")
    isDelayedDeliveryDeliverAtTimeStrict: bool = _key(False, "Has no meaning here: nothing comes before its time.")
    delayedDeliveryMaxDelayInMillis: int = _limit(0, "Longest delay that a producer may ask for; 0: no limit.")

    # Compaction.
    brokerServiceCompactionMonitorIntervalInSeconds: int = _some(60, "Time between two looks for topics to compact.")
    brokerServiceCompactionThresholdInBytes: int = _limit(
        0, "Bytes not compacted yet at which a topic is compacted; 0: only on demand."
    )
    topicCompactionRetainNullKey: bool = _key(False, "Keep messages without a key when a topic is compacted.")

    # Rates.
    maxPublishRatePerTopicInMessages: int = _limit(0, "Messages a second that may be published to a topic; 0: any.")
    maxPublishRatePerTopicInBytes: int = _limit(0, "Bytes a second that may be published to a topic; 0: any.")
    dispatchThrottlingRateInMsg: int = _limit(0, "Messages a second that the broker dispatches; 0: any.")
    dispatchThrottlingRateInByte: int = _limit(0, "Bytes a second that the broker dispatches; 0: any.")
    dispatchThrottlingRatePerTopicInMsg: int = _limit(0, "Messages a second dispatched from a topic; 0: any.")
    dispatchThrottlingRatePerTopicInByte: int = _limit(0, "Bytes a second dispatched from a topic; 0: any.")
    dispatchThrottlingRatePerSubscriptionInMsg: int = _limit(
        0, "Messages a second dispatched to a subscription; 0: any."
    )
    dispatchThrottlingRatePerSubscriptionInByte: int = _limit(0, "Bytes a second dispatched to a subscription; 0: any.")
    dispatchThrottlingRateRelativeToPublishRate: bool = _key(
        False, "Let topics and subscriptions dispatch these rates on top of what is published."
    )
    dispatchThrottlingOnNonBacklogConsumerEnabled: bool = _key(
        True, "Hold subscriptions to these rates that are less than 1000 entries behind as well."
    )
    subscribeThrottlingRatePerConsumer: int = _limit(
        0, "Times that a consumer may subscribe to a topic in a period; 0: any."
    )
    subscribeRatePeriodPerConsumerInSecond: int = _some(30, "That period.")

    # Failover and Key_Shared.
    activeConsumerFailoverDelayTimeMillis: int = _limit(1000, "Pause before a newly active consumer gets messages.")
    activeConsumerFailoverConsistentHashing: bool = _key(
        False, "Choose the active consumer of every topic by consistent hashing."
    )
    activeConsumerFailoverSelector: str = _key(
        "", "How the active consumer is chosen; empty: as the setting above says.", one_of=choices.FAILOVER_SELECTORS
    )
    activeConsumerFailoverDrainMs: int = _limit(
        0, "Time for the active consumer to finish what it holds before another takes over; 0: a pause instead."
    )
    subscriptionKeySharedEnable: bool = _key(
        True, "Allow Key_Shared; subscriptionTypesEnabled is the newer way to say it."
    )
    subscriptionKeySharedUseConsistentHashing: bool = _key(
        True, "Share keys by consistent hashing, else by splitting ranges."
    )
    subscriptionKeySharedSelector: str = _key(
        "", "How keys are shared; empty: as the setting above says. Magnetar's own.", one_of=tuple(SELECTORS)
    )
    keySharedRebalanceSlotsPerMinute: int = _limit(
        0, "Slots that rateAware may move in a minute while consumers stay; 0: none. Magnetar's own setting."
    )
    keySharedRebalanceThresholdPercent: int = _some(
        10, "How far the busiest consumer is above the mean rate before slots move. Magnetar's own setting."
    )
    subscriptionKeySharedConsistentHashingReplicaPoints: int = _some(100, "Points of each consumer on the ring.")
    subscriptionKeySharedUseClassicPersistentImplementation: bool = _key(
        False, "Use the older rule of recently joined consumers, which does not keep a key at one consumer."
    )
    subscriptionSharedUseClassicPersistentImplementation: bool = _key(
        False, "Use the older dispatcher of Shared.", later=True
    )
    keySharedLookAheadMsgInReplayThresholdPerConsumer: int = _limit(
        4000, "Held-back messages for each consumer up to which the broker reads ahead; 0: no limit."
    )
    keySharedLookAheadMsgInReplayThresholdPerSubscription: int = _limit(
        40000, "Held-back messages of a subscription up to which the broker reads ahead; 0: no limit."
    )
    keySharedNackOrder: bool = _key(
        False, "Give out a key's messages one by one from a nack until what was nacked is done. Magnetar's own setting."
    )
    keySharedDrainLeaseMs: int = _limit(
        0, "How long a consumer may hold a key that others wait for without acknowledging; 0: for ever. Magnetar's own."
    )
    keySharedUnblockingIntervalMs: int = _limit(10, "Time within which keys that became free are served together.")

    # Schemas and transactions.
    schemaCompatibilityStrategy: str = _key(
        "FULL", "How a new schema must go with the earlier ones.", one_of=choices.SCHEMA_STRATEGIES
    )
    isAllowAutoUpdateSchemaEnabled: bool = _key(True, "Let producers register new schemas.")
    isSchemaValidationEnforced: bool = _key(False, "Refuse producers without a schema on a topic that has one.")
    transactionCoordinatorEnabled: bool = _key(False, "Serve transactions.", refused=True)
    brokerEntryMetadataInterceptors: tuple[str, ...] = _key(
        (), "What the broker writes before each entry: time, index.", one_of=(TIME_INTERCEPTOR, INDEX_INTERCEPTOR)
    )
    exposingBrokerEntryMetadataToClientEnabled: bool = _key(False, "Send that to clients that know it.")

    # Metrics.
    statsUpdateFrequencyInSecs: int = _some(60, "Time over which rates in the statistics are measured.")
    exposeTopicLevelMetricsInPrometheus: bool = _key(True, "Publish metrics for each topic.")
    exposeConsumerLevelMetricsInPrometheus: bool = _key(False, "Publish metrics for each consumer.")
    exposeProducerLevelMetricsInPrometheus: bool = _key(False, "Publish metrics for each producer.")
    authenticateMetricsEndpoint: bool = _key(False, "Ask for authentication at /metrics.", refused=True)

    # Security.
    authenticationEnabled: bool = _key(False, "Ask clients who they are.", refused=True)
    authenticationProviders: tuple[str, ...] = _key((), "Ways in which clients may say who they are.", later=True)
    authenticationRefreshCheckSeconds: int = _some(
        60, "Time between two looks for credentials that have run out.", later=True
    )
    authorizationEnabled: bool = _key(False, "Check what clients may do.", refused=True)
    authorizationProvider: str = _key("", "Who decides what clients may do.", later=True)
    superUserRoles: tuple[str, ...] = _key((), "Roles that may do everything.", later=True)
    proxyRoles: tuple[str, ...] = _key((), "Roles that may speak for others.", later=True)
    anonymousUserRole: str = _key("", "Role of clients that do not say who they are.", later=True)
    tokenSecretKey: str = _key("", "Key that signs tokens, shared with whoever issues them.", later=True)
    tokenPublicKey: str = _key("", "Key that checks tokens of an issuer with a private key.", later=True)
    tokenPublicAlg: str = _key("", "Algorithm of that key.", later=True)
    tokenAuthClaim: str = _key("", "Claim of a token that names the role; empty: sub.", later=True)
    tokenAudienceClaim: str = _key("", "Claim of a token that names its audience.", later=True)
    tokenAudience: str = _key("", "Audience that a token must name.", later=True)
    tlsCertificateFilePath: str = _key("", "File with the broker's certificate.", later=True)
    tlsKeyFilePath: str = _key("", "File with the private key of the certificate.", later=True)
    tlsTrustCertsFilePath: str = _key(
        "", "File with the certificates that clients' own are checked against.", later=True
    )
    tlsAllowInsecureConnection: bool = _key(False, "Take clients whose certificate cannot be checked.", later=True)
    tlsRequireTrustedClientCertOnConnect: bool = _key(False, "Refuse clients without a certificate.", refused=True)


@cache
def keys() -> dict[str, Key]:
    """All settings by name, in the order of the table."""
    found = {}
    for entry in fields(Settings):
        key: Key = entry.metadata["key"]
        found[entry.name] = replace(key, name=entry.name, optional="None" in str(entry.type))
    return found
