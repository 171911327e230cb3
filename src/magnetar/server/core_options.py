"""Settings, named as in broker.conf, turned into the core's options, named by what they limit."""

from __future__ import annotations

from magnetar import __version__
from magnetar.core.options import Options
from magnetar.server.settings import INDEX_INTERCEPTOR, TIME_INTERCEPTOR, Settings

__all__ = ["core_options"]

_MINUTE_MS = 60_000
_MB = 1 << 20


def _forever(value: int, unit: int) -> int:
    """A count in the setting's unit; -1 stays -1, which means without end."""
    return value if value < 0 else value * unit


def core_options(settings: Settings) -> Options:
    """The options that the settings ask for. Addresses are filled in when the ports are known."""
    s, o = settings, Options()
    o.server_version = f"Magnetar {__version__}"
    o.cluster = s.clusterName
    o.max_message_bytes = s.maxMessageSize
    o.keep_alive_ms = s.keepAliveIntervalSeconds * 1000
    o.liveness_probe_ms = s.connectionLivenessCheckTimeoutMillis
    o.max_pending_publishes = s.maxPendingPublishRequestsPerConnection
    o.max_connections = s.brokerMaxConnections
    o.auto_create_topics = s.allowAutoTopicCreation
    o.auto_create_partitions = s.defaultNumPartitions if s.allowAutoTopicCreationType == "partitioned" else 0
    o.auto_create_subscriptions = s.allowAutoSubscriptionCreation
    o.default_partitions = s.defaultNumPartitions
    o.non_persistent_topics = s.enableNonPersistentTopics
    o.non_persistent_pending_max = s.maxConcurrentNonPersistentMessagePerConnection
    o.pattern_evaluation = s.enableBrokerSideSubscriptionPatternEvaluation
    o.pattern_length_max = s.subscriptionPatternMaxLength
    o.topic_watchers = s.enableBrokerTopicListWatcher
    o.tail_cache_bytes = s.managedLedgerCacheSizeMB * _MB
    o.read_batch_bytes = s.dispatcherMaxReadSizeBytes
    o.ledger_entries_max = s.managedLedgerMaxEntriesPerLedger
    o.ledger_bytes_max = s.managedLedgerMaxSizePerLedgerMbytes * _MB
    o.ledger_min_ms = s.managedLedgerMinLedgerRolloverTimeMinutes * _MINUTE_MS
    o.ledger_max_ms = s.managedLedgerMaxLedgerRolloverTimeMinutes * _MINUTE_MS
    o.retention_ms = _forever(s.defaultRetentionTimeInMinutes, _MINUTE_MS)
    o.retention_bytes = _forever(s.defaultRetentionSizeInMB, _MB)
    o.retention_check_ms = s.retentionCheckIntervalInSeconds * 1000
    o.message_ttl_ms = s.ttlDurationDefaultInSeconds * 1000
    o.expiry_check_ms = s.messageExpiryCheckIntervalInMinutes * _MINUTE_MS
    o.max_unacked_per_consumer = s.maxUnackedMessagesPerConsumer
    o.max_unacked_per_subscription = s.maxUnackedMessagesPerSubscription
    o.max_producers_per_topic = s.maxProducersPerTopic
    o.max_consumers_per_topic = s.maxConsumersPerTopic
    o.max_consumers_per_subscription = s.maxConsumersPerSubscription
    o.max_subscriptions_per_topic = s.maxSubscriptionsPerTopic
    o.max_topics_per_namespace = s.maxTopicsPerNamespace
    o.round_robin_entries = s.dispatcherMaxRoundRobinBatchSize
    o.batch_index_ack = s.acknowledgmentAtBatchIndexLevelEnabled
    o.schema_strategy = s.schemaCompatibilityStrategy
    o.schema_auto_update = s.isAllowAutoUpdateSchemaEnabled
    o.schema_enforced = s.isSchemaValidationEnforced
    o.deduplication = s.brokerDeduplicationEnabled
    o.dedup_producers_max = s.brokerDeduplicationMaxNumberOfProducers
    o.subscription_types = frozenset(s.subscriptionTypesEnabled)
    o.ring_points = s.subscriptionKeySharedConsistentHashingReplicaPoints
    o.key_shared_ring = s.subscriptionKeySharedUseConsistentHashing
    o.key_shared_classic = s.subscriptionKeySharedUseClassicPersistentImplementation
    o.key_shared_unblocking_ms = s.keySharedUnblockingIntervalMs
    o.key_shared_nack_order = s.keySharedNackOrder
    o.key_shared_drain_lease_ms = s.keySharedDrainLeaseMs
    o.look_ahead_per_consumer = s.keySharedLookAheadMsgInReplayThresholdPerConsumer
    o.look_ahead_per_subscription = s.keySharedLookAheadMsgInReplayThresholdPerSubscription
    o.delayed_delivery = s.delayedDeliveryEnabled
    o.delay_tick_ms = s.delayedDeliveryTickTimeMillis
    o.max_delay_ms = s.delayedDeliveryMaxDelayInMillis
    o.compaction_threshold = s.brokerServiceCompactionThresholdInBytes
    o.compaction_check_ms = s.brokerServiceCompactionMonitorIntervalInSeconds * 1000
    o.compaction_retain_null_key = s.topicCompactionRetainNullKey
    o.entry_timestamp = TIME_INTERCEPTOR in s.brokerEntryMetadataInterceptors
    o.entry_index = INDEX_INTERCEPTOR in s.brokerEntryMetadataInterceptors
    o.entry_metadata_exposed = s.exposingBrokerEntryMetadataToClientEnabled
    _failover(s, o)
    _policies(s, o)
    return o


def _failover(s: Settings, o: Options) -> None:
    o.failover_delay_ms = s.activeConsumerFailoverDelayTimeMillis
    o.failover_by_hash = s.activeConsumerFailoverConsistentHashing
    o.failover_selector = s.activeConsumerFailoverSelector
    o.failover_drain_ms = s.activeConsumerFailoverDrainMs


def _policies(s: Settings, o: Options) -> None:
    """What holds for topics whose policies say nothing else."""
    o.max_partitions = s.maxNumPartitionsPerPartitionedTopic
    o.quota_check = s.backlogQuotaCheckEnabled
    o.quota_check_ms = s.backlogQuotaCheckIntervalInSeconds * 1000
    gigabytes = s.backlogQuotaDefaultLimitGB
    o.quota_bytes = int(gigabytes * (1 << 30)) if gigabytes > 0 else s.backlogQuotaDefaultLimitBytes
    o.quota_ms = _forever(s.backlogQuotaDefaultLimitSecond, 1000)
    o.quota_action = s.backlogQuotaDefaultRetentionPolicy
    o.delete_inactive = s.brokerDeleteInactiveTopicsEnabled
    o.delete_inactive_partitioned = s.brokerDeleteInactivePartitionedTopicMetadataEnabled
    o.inactive_caught_up = s.brokerDeleteInactiveTopicsMode == "delete_when_subscriptions_caught_up"
    o.inactive_check_ms = s.brokerDeleteInactiveTopicsFrequencySeconds * 1000
    longest = s.brokerDeleteInactiveTopicsMaxInactiveDurationSeconds
    o.inactive_after_ms = o.inactive_check_ms if longest is None else longest * 1000
    o.subscription_expiration_ms = s.subscriptionExpirationTimeMinutes * _MINUTE_MS
    o.subscription_expiry_check_ms = s.subscriptionExpiryCheckIntervalInMinutes * _MINUTE_MS
    o.publish_rate_messages = s.maxPublishRatePerTopicInMessages
    o.publish_rate_bytes = s.maxPublishRatePerTopicInBytes
    o.dispatch_rate_messages = s.dispatchThrottlingRateInMsg
    o.dispatch_rate_bytes = s.dispatchThrottlingRateInByte
    o.topic_dispatch_rate_messages = s.dispatchThrottlingRatePerTopicInMsg
    o.topic_dispatch_rate_bytes = s.dispatchThrottlingRatePerTopicInByte
    o.subscription_dispatch_rate_messages = s.dispatchThrottlingRatePerSubscriptionInMsg
    o.subscription_dispatch_rate_bytes = s.dispatchThrottlingRatePerSubscriptionInByte
    o.dispatch_rate_relative = s.dispatchThrottlingRateRelativeToPublishRate
    o.throttle_caught_up = s.dispatchThrottlingOnNonBacklogConsumerEnabled
    o.subscribe_rate = s.subscribeThrottlingRatePerConsumer
    o.subscribe_rate_period_ms = s.subscribeRatePeriodPerConsumerInSecond * 1000
    o.key_shared_selector = s.subscriptionKeySharedSelector
    o.rebalance_slots = s.keySharedRebalanceSlotsPerMinute
    o.rebalance_percent = s.keySharedRebalanceThresholdPercent
    o.pause_on_ack_state = s.dispatcherPauseOnAckStatePersistentEnabled
