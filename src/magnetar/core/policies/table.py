"""The table of policies: where each is set, what it may be, and what holds where it is not set.

A policy is a JSON value under its ``name``, which is its field in a namespace's policies as Pulsar writes them. The
topic's value wins over the namespace's, that over the broker's (``default``). Where ``by_cluster`` is set, the
namespace keeps the value under the name of the cluster. The admin interface makes its routes of this table
(``topic_path``, ``namespace_path``; empty: cannot be set there), and ``effective`` makes a topic's limits of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from magnetar.core.failover import SELECTORS as FAILOVER_SELECTORS
from magnetar.core.options import Options
from magnetar.core.policies.checks import Check, choice, fields, flag, number, retention, some_of
from magnetar.core.policies.defaults import (
    default_delayed,
    default_failover_selector,
    default_inactive,
    default_publish_rate,
    default_quotas,
    default_subscribe_rate,
    default_subscription_rate,
    default_topic_rate,
)
from magnetar.core.policies.values import EVICT, EXCEPTION, HOLD
from magnetar.core.selector.names import SELECTORS, default_selector

__all__ = [
    "BACKLOG_QUOTAS",
    "POLICIES",
    "QUOTA_KINDS",
    "RETENTION",
    "SELECTOR_POLICY",
    "SUBSCRIPTION_POLICIES",
    "UNDEFINED",
    "Policy",
    "backlog_quota",
    "policy",
]

Default = Callable[[Options], Any]


class Policy(NamedTuple):
    """One line of the table."""

    name: str
    topic_path: str
    namespace_path: str
    check: Check
    default: Default
    text: str
    by_cluster: bool = False
    query: str = ""
    """The value of a topic comes in this part of the query instead of in the body."""
    write: str = "POST"
    """The method that sets it."""
    unset: Any = None
    """What a namespace shows that does not set it; nothing where this is None."""
    namespace_write: str = ""
    """The method that sets it for a namespace, where that is another one."""


def _unset(options: Options) -> Any:
    """The broker has no such default."""
    return None


def _unlimited(options: Options) -> Any:
    return 0


SUBSCRIPTION_TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
UNDEFINED = "UNDEFINED"
"""A strategy that says nothing, so that of the level above holds."""
SCHEMA_STRATEGIES = (
    UNDEFINED,
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
)
QUOTA_KINDS = ("destination_storage", "message_age")
SELECTOR_POLICY = "key_shared_selector"
BACKLOG_QUOTAS = "backlog_quota_map"
RETENTION = "retention_policies"
SUBSCRIPTION_POLICIES = "subscription_policies"
INACTIVE_MODES = ("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up")
_quota_fields = fields(limit=-1, limitSize=-1, limitTime=-1, policy=HOLD)
_quota_action = choice(HOLD, EXCEPTION, EVICT)


def backlog_quota(value: Any) -> Any:
    """One quota. ``limit`` is the older name of ``limitSize``, and both are kept."""
    found = _quota_fields(value)
    _quota_action(found["policy"])
    size = found["limitSize"] if value.get("limitSize") is not None else found["limit"]
    return {**found, "limit": size, "limitSize": size}


_dispatch_rate = fields(
    dispatchThrottlingRateInMsg=-1, dispatchThrottlingRateInByte=-1, relativeToPublishRate=False, ratePeriodInSecond=1
)
_publish_rate = fields(publishThrottlingRateInMsg=-1, publishThrottlingRateInByte=-1)
_subscribe_rate = fields(subscribeThrottlingRatePerConsumer=-1, ratePeriodInSecond=30)
_inactive_fields = fields(
    inactiveTopicDeleteMode=INACTIVE_MODES[0], maxInactiveDurationSeconds=60, deleteWhileInactive=True
)
_inactive_mode = choice(*INACTIVE_MODES)
_delayed = fields(tickTime=1000, active=True, maxDeliveryDelayInMillis=0)
_persistence = fields(
    bookkeeperEnsemble=1, bookkeeperWriteQuorum=1, bookkeeperAckQuorum=1, managedLedgerMaxMarkDeleteRate=0.0
)
_auto_topic_fields = fields(allowAutoTopicCreation=True, topicType="non-partitioned", defaultNumPartitions=0)
_topic_type = choice("non-partitioned", "partitioned")
_auto_subscription = fields(allowAutoSubscriptionCreation=True)


def _inactive(value: Any) -> Any:
    found = _inactive_fields(value)
    _inactive_mode(found["inactiveTopicDeleteMode"])
    return found


def _auto_topic(value: Any) -> Any:
    found = _auto_topic_fields(value)
    _topic_type(found["topicType"])
    return found


def _quotas(value: Any) -> Any:
    """Both quotas at once; by the admin interface they are set one by one."""
    return {kind: backlog_quota(quota) for kind, quota in value.items() if kind in QUOTA_KINDS}


POLICIES: tuple[Policy, ...] = (
    Policy(RETENTION, "retention", "retention", retention,
           lambda o: {"retentionTimeInMinutes": _minutes(o.retention_ms), "retentionSizeInMB": _mb(o.retention_bytes)},
           "how long and how much is kept of what every subscription has acknowledged"),
    Policy("message_ttl_in_seconds", "messageTTL", "messageTTL", number(0), lambda o: o.message_ttl_ms // 1000,
           "after how many seconds a message counts as acknowledged", query="messageTTL"),
    Policy(BACKLOG_QUOTAS, "", "", _quotas, default_quotas,
           "how much and how old a backlog may become, and what happens then"),
    Policy("max_producers_per_topic", "maxProducers", "maxProducersPerTopic", number(0),
           lambda o: o.max_producers_per_topic, "producers of a topic; 0: no limit"),
    Policy("max_consumers_per_topic", "maxConsumers", "maxConsumersPerTopic", number(0),
           lambda o: o.max_consumers_per_topic, "consumers of a topic; 0: no limit"),
    Policy("max_consumers_per_subscription", "maxConsumersPerSubscription", "maxConsumersPerSubscription", number(0),
           lambda o: o.max_consumers_per_subscription, "consumers of a subscription; 0: no limit"),
    Policy("max_subscriptions_per_topic", "maxSubscriptionsPerTopic", "maxSubscriptionsPerTopic", number(0),
           lambda o: o.max_subscriptions_per_topic, "subscriptions of a topic; 0: no limit"),
    Policy("max_unacked_messages_per_consumer", "maxUnackedMessagesOnConsumer", "maxUnackedMessagesPerConsumer",
           number(0), lambda o: o.max_unacked_per_consumer,
           "unacknowledged messages at which a consumer gets no more; 0: no limit"),
    Policy("max_unacked_messages_per_subscription", "maxUnackedMessagesOnSubscription",
           "maxUnackedMessagesPerSubscription", number(0), lambda o: o.max_unacked_per_subscription,
           "unacknowledged messages at which a subscription gets no more; 0: no limit"),
    Policy("max_message_size", "maxMessageSize", "", number(0), lambda o: o.max_message_bytes,
           "bytes of the largest message; the broker's own limit holds as well"),
    Policy("max_topics_per_namespace", "", "maxTopicsPerNamespace", number(0), lambda o: o.max_topics_per_namespace,
           "topics of a namespace; 0: no limit"),
    Policy("deduplicationEnabled", "deduplicationEnabled", "deduplication", flag, lambda o: o.deduplication,
           "whether messages that a producer sends again are dropped"),
    Policy("deduplicationSnapshotIntervalSeconds", "deduplicationSnapshotInterval", "deduplicationSnapshotInterval",
           number(0), _unset, "kept for tools; what deduplication knows is durable with every message here"),
    Policy("subscription_types_enabled", "subscriptionTypesEnabled", "subscriptionTypesEnabled",
           some_of(*SUBSCRIPTION_TYPES), lambda o: [t for t in SUBSCRIPTION_TYPES if t in o.subscription_types],
           "subscription types that clients may use"),
    Policy("subscription_expiration_time_minutes", "subscriptionExpirationTime", "subscriptionExpirationTime",
           number(0), lambda o: o.subscription_expiration_ms // 60_000,
           "minutes after which an unused subscription is deleted; 0: never",
           query="subscriptionExpirationTime"),
    Policy("autoTopicCreationOverride", "", "autoTopicCreation", _auto_topic,
           lambda o: {"allowAutoTopicCreation": o.auto_create_topics,
                      "topicType": "partitioned" if o.auto_create_partitions else "non-partitioned",
                      "defaultNumPartitions": o.auto_create_partitions},
           "whether and how topics come into being by being used"),
    Policy("autoSubscriptionCreationOverride", "autoSubscriptionCreation", "autoSubscriptionCreation",
           _auto_subscription, lambda o: {"allowAutoSubscriptionCreation": o.auto_create_subscriptions},
           "whether subscriptions come into being by being used"),
    Policy("publishMaxMessageRate", "publishRate", "publishRate", _publish_rate, default_publish_rate,
           "messages and bytes a second that may be published", by_cluster=True),
    Policy("topicDispatchRate", "dispatchRate", "dispatchRate", _dispatch_rate, default_topic_rate,
           "messages and bytes that may be dispatched from a topic in a period", by_cluster=True),
    Policy("subscriptionDispatchRate", "subscriptionDispatchRate", "subscriptionDispatchRate", _dispatch_rate,
           default_subscription_rate, "messages and bytes that may be dispatched to a subscription in a period",
           by_cluster=True),
    Policy(SUBSCRIPTION_POLICIES, "", "", lambda value: value, _unset,
           "dispatch rates of single subscriptions of a topic, by their names"),
    Policy("replicatorDispatchRate", "replicatorDispatchRate", "replicatorDispatchRate", _dispatch_rate, _unset,
           "kept for tools; nothing is replicated", by_cluster=True),
    Policy("clusterSubscribeRate", "subscribeRate", "subscribeRate", _subscribe_rate, default_subscribe_rate,
           "how often a consumer may subscribe in a period", by_cluster=True),
    Policy("inactive_topic_policies", "inactiveTopicPolicies", "inactiveTopicPolicies", _inactive, default_inactive,
           "when a topic that nobody uses is deleted"),
    Policy("delayed_delivery_policies", "delayedDelivery", "delayedDelivery", _delayed, default_delayed,
           "whether messages are held back until the time that their producer asked for"),
    Policy("compaction_threshold", "compactionThreshold", "compactionThreshold", number(0),
           lambda o: o.compaction_threshold,
           "bytes of backlog at which a topic is compacted; 0: only when asked to", namespace_write="PUT"),
    Policy("dispatcherPauseOnAckStatePersistentEnabled", "dispatcherPauseOnAckStatePersistent",
           "dispatcherPauseOnAckStatePersistent", flag, lambda o: o.pause_on_ack_state,
           "whether dispatching pauses when acknowledgements cannot be kept"),
    Policy("magnetarFailoverSelector", "magnetarFailoverSelector", "magnetarFailoverSelector",
           choice(*FAILOVER_SELECTORS),
           default_failover_selector, "how the active consumer of a Failover subscription is chosen"),
    Policy("magnetarFailoverDrainMs", "magnetarFailoverDrainMs", "magnetarFailoverDrainMs", number(0),
           lambda o: o.failover_drain_ms,
           "milliseconds in which the active consumer may finish what it holds before another takes over; 0: none"),
    Policy(SELECTOR_POLICY, "keySharedSelector", "keySharedSelector", choice(*SELECTORS), default_selector,
           "how Key_Shared subscriptions share out keys: " + ", ".join(SELECTORS)),
    Policy("schema_compatibility_strategy", "schemaCompatibilityStrategy", "schemaCompatibilityStrategy",
           choice(*SCHEMA_STRATEGIES), lambda o: "FULL" if o.schema_strategy == UNDEFINED else o.schema_strategy,
           "how a new schema must go with earlier ones", write="PUT", unset=UNDEFINED),
    Policy("schema_validation_enforced", "schemaValidationEnforced", "schemaValidationEnforced", flag,
           lambda o: o.schema_enforced, "whether producers without a schema are refused on a topic that has one",
           unset=False),
    Policy("is_allow_auto_update_schema", "", "isAllowAutoUpdateSchema", flag, lambda o: o.schema_auto_update,
           "whether producers may register new schemas", unset=True),
    Policy("persistence", "persistence", "persistence", _persistence, _unset,
           "kept for tools; there are no bookies here"),
)  # fmt: skip


def _minutes(milliseconds: int) -> int:
    return milliseconds if milliseconds < 0 else milliseconds // 60_000


def _mb(size: int) -> int:
    return size if size < 0 else size >> 20


_BY_NAME = {line.name: line for line in POLICIES}


def policy(name: str) -> Policy:
    """The line of a policy."""
    return _BY_NAME[name]
