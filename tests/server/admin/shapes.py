"""Field names and types of answers, as a real Apache Pulsar 4.2.4 standalone gave them.

Each shape is written as a line for each type with the names that have it; ``shape`` says the same of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping

Shape = dict[str, str]


def shape(answer: object) -> Shape:
    """The fields of a JSON object with the types of their values."""
    assert isinstance(answer, Mapping), answer
    return {name: type(value).__name__ for name, value in answer.items()}


def _read(**types: str) -> Shape:
    return {name: kind for kind, names in types.items() for name in names.split()}


TOPIC = _read(
    float="msgRateIn msgThroughputIn msgRateOut msgThroughputOut averageMsgSize",
    int="""
        bytesInCounter msgInCounter systemTopicBytesInCounter bytesOutCounter msgOutCounter
        bytesOutInternalCounter storageSize backlogSize backlogQuotaLimitSize backlogQuotaLimitTime
        oldestBacklogMessageAgeSeconds publishRateLimitedTimes earliestMsgPublishTimeInBacklogs
        offloadedStorageSize lastOffloadLedgerId lastOffloadSuccessTimeStamp lastOffloadFailureTimeStamp
        ongoingTxnCount abortedTxnCount committedTxnCount waitingPublishers nonContiguousDeletedMessagesRanges
        nonContiguousDeletedMessagesRangesSerializedSize delayedMessageIndexSizeInBytes topicCreationTimeStamp
        lastPublishTimeStamp
    """,
    bool="msgChunkPublished",
    list="publishers",
    dict="subscriptions replication compaction",
    str="deduplicationStatus ownerBroker",
)
WITH_BACKLOG = {**TOPIC, "oldestBacklogMessageSubscriptionName": "str"}
"""Pulsar says whose backlog is the oldest when it has looked at the quotas, which here is always known."""
PUBLISHER = _read(
    str="accessMode producerName address connectedSince clientVersion",
    float="msgRateIn msgThroughputIn averageMsgSize chunkedMessageRate",
    int="producerId",
    bool="supportsPartialProducer",
    dict="metadata",
)
KEY_SHARED = _read(
    float="msgRateOut msgThroughputOut msgRateRedeliver messageAckRate chunkedMessageRate msgRateExpired",
    int="""
        bytesOutCounter msgOutCounter msgBacklog backlogSize earliestMsgPublishTimeInBacklog msgBacklogNoDelayed
        msgDelayed msgInReplay unackedMessages msgExpired totalMsgExpired lastExpireTimestamp
        lastConsumedFlowTimestamp lastConsumedTimestamp lastAckedTimestamp lastMarkDeleteAdvancedTimestamp
        drainingHashesCount drainingHashesClearedTotal drainingHashesUnackedMessages
        nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize
        delayedMessageIndexSizeInBytes filterProcessedMsgCount filterAcceptedMsgCount filterRejectedMsgCount
        filterRescheduledMsgCount dispatchThrottledMsgEventsBySubscriptionLimit
        dispatchThrottledBytesEventsBySubscriptionLimit dispatchThrottledMsgEventsByTopicLimit
        dispatchThrottledBytesEventsByTopicLimit dispatchThrottledMsgEventsByBrokerLimit
        dispatchThrottledBytesEventsByBrokerLimit
    """,
    bool="blockedSubscriptionOnUnackedMsgs isDurable isReplicated allowOutOfOrderDelivery durable replicated",
    str="type keySharedMode",
    list="consumers",
    dict="consumersAfterMarkDeletePosition subscriptionProperties",
)
KEY_SHARED_CONSUMER = _read(
    float="msgRateOut msgThroughputOut msgRateRedeliver messageAckRate chunkedMessageRate",
    int="""
        bytesOutCounter msgOutCounter availablePermits unackedMessages avgMessagesPerEntry drainingHashesCount
        drainingHashesClearedTotal drainingHashesUnackedMessages lastAckedTimestamp lastConsumedTimestamp
        firstMessagesSentTimestamp lastConsumedFlowTimestamp firstConsumedFlowTimestamp
    """,
    str="consumerName address connectedSince clientVersion lastAckedTime lastConsumedTime",
    bool="blockedConsumerOnUnackedMsgs",
    list="drainingHashes keyHashRangeArrays",
    dict="metadata",
)
CLASSIC_CONSUMER = {
    name: kind for name, kind in KEY_SHARED_CONSUMER.items() if name not in ("drainingHashes", "keyHashRangeArrays")
} | _read(
    str="readPositionWhenJoining",
    list="keyHashRanges",
)
DRAINING = _read(
    int="hash unackMsgs blockedAttempts",
)
SHARED = _read(
    float="msgRateOut msgThroughputOut msgRateRedeliver messageAckRate chunkedMessageRate msgRateExpired",
    int="""
        bytesOutCounter msgOutCounter msgBacklog backlogSize earliestMsgPublishTimeInBacklog msgBacklogNoDelayed
        msgDelayed msgInReplay unackedMessages msgExpired totalMsgExpired lastExpireTimestamp
        lastConsumedFlowTimestamp lastConsumedTimestamp lastAckedTimestamp lastMarkDeleteAdvancedTimestamp
        drainingHashesCount drainingHashesClearedTotal drainingHashesUnackedMessages
        nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize
        delayedMessageIndexSizeInBytes filterProcessedMsgCount filterAcceptedMsgCount filterRejectedMsgCount
        filterRescheduledMsgCount dispatchThrottledMsgEventsBySubscriptionLimit
        dispatchThrottledBytesEventsBySubscriptionLimit dispatchThrottledMsgEventsByTopicLimit
        dispatchThrottledBytesEventsByTopicLimit dispatchThrottledMsgEventsByBrokerLimit
        dispatchThrottledBytesEventsByBrokerLimit
    """,
    bool="blockedSubscriptionOnUnackedMsgs isDurable isReplicated allowOutOfOrderDelivery durable replicated",
    str="type",
    list="consumers",
    dict="consumersAfterMarkDeletePosition subscriptionProperties",
)
FAILOVER = SHARED | _read(
    str="activeConsumerName",
)
CONSUMER = _read(
    float="msgRateOut msgThroughputOut msgRateRedeliver messageAckRate chunkedMessageRate",
    int="""
        bytesOutCounter msgOutCounter availablePermits unackedMessages avgMessagesPerEntry drainingHashesCount
        drainingHashesClearedTotal drainingHashesUnackedMessages lastAckedTimestamp lastConsumedTimestamp
        firstMessagesSentTimestamp lastConsumedFlowTimestamp firstConsumedFlowTimestamp
    """,
    str="consumerName address connectedSince clientVersion lastAckedTime lastConsumedTime",
    bool="blockedConsumerOnUnackedMsgs",
    dict="metadata",
)
NON_PERSISTENT_TOPIC = {name: kind for name, kind in TOPIC.items() if name != "deduplicationStatus"} | _read(
    float="msgDropRate",
)
NON_PERSISTENT_PUBLISHER = PUBLISHER | _read(
    float="msgDropRate",
)
NON_PERSISTENT_SHARED = SHARED | _read(
    float="msgDropRate",
)
NON_PERSISTENT_INTERNAL = _read(
    int="""
        entriesAddedCounter numberOfEntries totalSize currentLedgerEntries currentLedgerSize waitingCursorsCount
        pendingAddEntriesCount
    """,
    dict="cursors",
)
NON_PERSISTENT_CURSOR = _read(
    bool="waitingReadOp active subscriptionHavePendingRead subscriptionHavePendingReplayRead",
    int="""
        pendingReadOps messagesConsumedCounter cursorLedger cursorLedgerLastEntry
        numberOfEntriesSinceFirstNotAckedMessage totalNonContiguousDeletedMessagesRange
    """,
)
PARTITIONED = _read(
    float="msgRateIn msgThroughputIn msgRateOut msgThroughputOut averageMsgSize",
    int="""
        bytesInCounter msgInCounter systemTopicBytesInCounter bytesOutCounter msgOutCounter
        bytesOutInternalCounter storageSize backlogSize backlogQuotaLimitSize backlogQuotaLimitTime
        oldestBacklogMessageAgeSeconds publishRateLimitedTimes earliestMsgPublishTimeInBacklogs
        offloadedStorageSize lastOffloadLedgerId lastOffloadSuccessTimeStamp lastOffloadFailureTimeStamp
        ongoingTxnCount abortedTxnCount committedTxnCount waitingPublishers nonContiguousDeletedMessagesRanges
        nonContiguousDeletedMessagesRangesSerializedSize delayedMessageIndexSizeInBytes topicCreationTimeStamp
        lastPublishTimeStamp
    """,
    bool="msgChunkPublished",
    list="publishers",
    dict="subscriptions replication compaction metadata partitions",
)
PARTITIONED_PUBLISHER = _read(
    float="msgRateIn msgThroughputIn averageMsgSize chunkedMessageRate",
    int="producerId",
    bool="supportsPartialProducer",
)
PARTITIONED_CONSUMER = _read(
    float="msgRateOut msgThroughputOut msgRateRedeliver messageAckRate chunkedMessageRate",
    int="""
        bytesOutCounter msgOutCounter availablePermits unackedMessages avgMessagesPerEntry drainingHashesCount
        drainingHashesClearedTotal drainingHashesUnackedMessages lastAckedTimestamp lastConsumedTimestamp
        firstMessagesSentTimestamp lastConsumedFlowTimestamp firstConsumedFlowTimestamp
    """,
    str="consumerName lastAckedTime lastConsumedTime",
    bool="blockedConsumerOnUnackedMsgs",
)
INTERNAL = _read(
    int="""
        entriesAddedCounter numberOfEntries totalSize currentLedgerEntries currentLedgerSize waitingCursorsCount
        pendingAddEntriesCount
    """,
    str="lastLedgerCreatedTimestamp lastConfirmedEntry state",
    list="ledgers schemaLedgers",
    dict="cursors properties compactedLedger",
)
LEDGER = _read(
    int="ledgerId entries size",
    bool="offloaded underReplicated",
)
CURSOR = _read(
    str="markDeletePosition readPosition individuallyDeletedMessages lastLedgerSwitchTimestamp state",
    bool="waitingReadOp active subscriptionHavePendingRead subscriptionHavePendingReplayRead",
    int="""
        pendingReadOps messagesConsumedCounter cursorLedger cursorLedgerLastEntry
        numberOfEntriesSinceFirstNotAckedMessage totalNonContiguousDeletedMessagesRange
    """,
    dict="properties",
)
MESSAGE_ID = _read(
    int="ledgerId entryId partitionIndex batchIndex batchSize",
)
BACKLOG = _read(
    str="topicName brokerName",
    int="storageSize totalMessages messageBacklog statGeneratedAt",
    list="dataLedgerDetails",
    dict="cursorDetails",
)
LOOKUP = _read(
    str="brokerUrl httpUrl nativeUrl brokerUrlSsl",
)
CLUSTER = _read(
    str="""
        serviceUrl brokerServiceUrl brokerClientTlsTrustStoreType brokerClientTlsKeyStoreType
        brokerClientSslFactoryPlugin
    """,
    bool="brokerClientTlsEnabled tlsAllowInsecureConnection brokerClientTlsEnabledWithKeyStore",
)
POLICIES = _read(
    dict="""
        auth_policies bundles backlog_quota_map clusterDispatchRate topicDispatchRate subscriptionDispatchRate
        replicatorDispatchRate clusterSubscribeRate publishMaxMessageRate latency_stats_sample_rate properties
    """,
    list="replication_clusters allowed_clusters subscription_types_enabled",
    bool="deleted encryption_required is_allow_auto_update_schema schema_validation_enforced migrated",
    str="subscription_auth_mode schema_compatibility_strategy",
    int="offload_threshold offload_threshold_in_seconds",
)
BUNDLES = _read(
    list="boundaries",
    int="numBundles",
)

DYNAMIC_IN_PULSAR = frozenset(
    _read(
        any="""
    allowAutoSubscriptionCreation allowAutoTopicCreation allowAutoTopicCreationType
    brokerDeleteInactivePartitionedTopicMetadataEnabled brokerDeleteInactiveTopicsEnabled
    brokerDeleteInactiveTopicsFrequencySeconds brokerDeleteInactiveTopicsMaxInactiveDurationSeconds
    brokerDeleteInactiveTopicsMode brokerShutdownTimeoutMs defaultNumPartitions defaultNumberOfNamespaceBundles
    dispatcherDispatchMessagesInSubscriptionThread dispatcherMaxReadBatchSize dispatcherMaxReadSizeBytes
    dispatcherMaxRoundRobinBatchSize dispatcherMinReadBatchSize dispatcherPauseOnAckStatePersistentEnabled
    dispatcherReadFailureBackoffInitialTimeInMs dispatcherReadFailureBackoffMandatoryStopTimeInMs
    dispatcherReadFailureBackoffMaxTimeInMs forceDeleteNamespaceAllowed forceDeleteTenantAllowed
    isAllowAutoUpdateSchemaEnabled keySharedLookAheadMsgInReplayThresholdPerConsumer
    keySharedLookAheadMsgInReplayThresholdPerSubscription keySharedUnblockingIntervalMs managedLedgerCacheSizeMB
    maxConcurrentLookupRequest maxConcurrentTopicLoadRequest maxNumPartitionsPerPartitionedTopic
    maxTopicsPerNamespace preciseDispatcherFlowControl subscriptionKeySharedEnable
    subscriptionKeySharedUseClassicPersistentImplementation subscriptionRedeliveryTrackerEnabled
    subscriptionSharedUseClassicPersistentImplementation subscriptionTypesEnabled superUserRoles
    unblockStuckSubscriptionEnabled dispatchThrottlingOnNonBacklogConsumerEnabled dispatchThrottlingRateInByte
    dispatchThrottlingRateInMsg dispatchThrottlingRatePerSubscriptionInByte dispatchThrottlingRatePerSubscriptionInMsg
    dispatchThrottlingRatePerTopicInByte dispatchThrottlingRatePerTopicInMsg
    dispatchThrottlingRateRelativeToPublishRate maxPublishRatePerTopicInBytes maxPublishRatePerTopicInMessages
    subscribeRatePeriodPerConsumerInSecond subscribeThrottlingRatePerConsumer
    """
    )
)
"""Of the settings that we have: those that Pulsar lets one change while it runs."""
