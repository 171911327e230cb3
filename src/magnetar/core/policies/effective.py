"""What holds for a topic, made of its own policies over its namespace's over the broker's (``book``).

Limits are plain attributes, because they are read where messages pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnetar.core.options import FRAME_PADDING_BYTES, Options
from magnetar.core.policies.defaults import default_failover_selector
from magnetar.core.policies.table import SELECTOR_POLICY, UNDEFINED
from magnetar.core.policies.values import (
    Inactive,
    Quota,
    Rate,
    dispatch_rate,
    inactive,
    inactive_default,
    publish_rate,
    subscribe_rate,
)
from magnetar.core.selector.names import SELECTORS, default_selector

__all__ = ["TopicPolicies"]

_MINUTE_MS = 60_000


class TopicPolicies:
    """The limits and switches of one topic: the broker's, until others are ``put`` over them."""

    def __init__(self, options: Options) -> None:
        self.retention_ms: int = options.retention_ms
        self.retention_bytes: int = options.retention_bytes
        self.message_ttl_ms: int = options.message_ttl_ms
        self.max_producers: int = options.max_producers_per_topic
        self.max_consumers: int = options.max_consumers_per_topic
        self.max_consumers_per_subscription: int = options.max_consumers_per_subscription
        self.max_subscriptions: int = options.max_subscriptions_per_topic
        self.max_unacked_per_consumer: int = options.max_unacked_per_consumer
        self.max_unacked_per_subscription: int = options.max_unacked_per_subscription
        self.max_entry_bytes: int = options.max_message_bytes + FRAME_PADDING_BYTES
        self.deduplication: bool = options.deduplication
        self.subscription_types: frozenset[str] = options.subscription_types
        self.auto_create_subscriptions: bool = options.auto_create_subscriptions
        self.schema_strategy: str = "FULL" if options.schema_strategy == UNDEFINED else options.schema_strategy
        self.schema_auto_update: bool = options.schema_auto_update
        self.schema_enforced: bool = options.schema_enforced
        self.schema_always_enforced: bool = options.schema_enforced
        """The broker enforces it for all; no policy takes that back."""
        self.compaction_threshold: int = options.compaction_threshold
        self.delayed_delivery: bool = options.delayed_delivery
        self.delay_tick_ms: int = options.delay_tick_ms
        self.max_delay_ms: int = options.max_delay_ms if options.delayed_delivery else 0
        self.quota_size: Quota = Quota(options.quota_bytes, options.quota_action)
        self.quota_age: Quota = Quota(options.quota_ms, options.quota_action)
        self.inactive: Inactive = inactive_default(options)
        self.subscription_expiration_ms: int = options.subscription_expiration_ms
        self.publish_rate: Rate = Rate(options.publish_rate_messages, options.publish_rate_bytes)
        self.dispatch_rate: Rate = Rate(
            options.topic_dispatch_rate_messages,
            options.topic_dispatch_rate_bytes,
            relative=options.dispatch_rate_relative,
        )
        self.subscription_dispatch_rate: Rate = Rate(
            options.subscription_dispatch_rate_messages,
            options.subscription_dispatch_rate_bytes,
            relative=options.dispatch_rate_relative,
        )
        self.dispatch_rates: dict[str, Rate] = {}
        """Of single subscriptions, which win over ``subscription_dispatch_rate``."""
        self.subscribe_rate: Rate = Rate(options.subscribe_rate, 0, options.subscribe_rate_period_ms)
        self.key_shared_selector: str = default_selector(options)
        self.pause_on_ack_state: bool = options.pause_on_ack_state
        self.failover_selector: str = default_failover_selector(options)
        self.failover_drain_ms: int = options.failover_drain_ms

    def put(self, name: str, value: Any) -> None:
        """A policy as it is stored takes the place of what holds so far; those that limit nothing here pass."""
        put = _PUT.get(name)
        if put is not None:
            put(self, value)


def _retention(found: TopicPolicies, value: Any) -> None:
    minutes, megabytes = int(value["retentionTimeInMinutes"]), int(value["retentionSizeInMB"])
    found.retention_ms = minutes * _MINUTE_MS if minutes >= 0 else -1
    found.retention_bytes = megabytes << 20 if megabytes >= 0 else -1


def _ttl(found: TopicPolicies, value: Any) -> None:
    found.message_ttl_ms = int(value) * 1000


def _producers(found: TopicPolicies, value: Any) -> None:
    found.max_producers = int(value)


def _consumers(found: TopicPolicies, value: Any) -> None:
    found.max_consumers = int(value)


def _consumers_per_subscription(found: TopicPolicies, value: Any) -> None:
    found.max_consumers_per_subscription = int(value)


def _subscriptions(found: TopicPolicies, value: Any) -> None:
    found.max_subscriptions = int(value)


def _unacked_per_consumer(found: TopicPolicies, value: Any) -> None:
    found.max_unacked_per_consumer = int(value)


def _unacked_per_subscription(found: TopicPolicies, value: Any) -> None:
    found.max_unacked_per_subscription = int(value)


def _message_bytes(found: TopicPolicies, value: Any) -> None:
    if value:
        found.max_entry_bytes = min(int(value), found.max_entry_bytes)


def _deduplication(found: TopicPolicies, value: Any) -> None:
    found.deduplication = bool(value)


def _types(found: TopicPolicies, value: Any) -> None:
    if value:
        found.subscription_types = frozenset(value)


def _auto_subscription(found: TopicPolicies, value: Any) -> None:
    found.auto_create_subscriptions = bool(value["allowAutoSubscriptionCreation"])


def _schema_strategy(found: TopicPolicies, value: Any) -> None:
    if value != UNDEFINED:
        found.schema_strategy = str(value)


def _schema_enforced(found: TopicPolicies, value: Any) -> None:
    found.schema_enforced = found.schema_always_enforced or bool(value)


def _schema_auto_update(found: TopicPolicies, value: Any) -> None:
    found.schema_auto_update = bool(value)


def _compaction_threshold(found: TopicPolicies, value: Any) -> None:
    found.compaction_threshold = int(value)


def _delayed(found: TopicPolicies, value: Any) -> None:
    found.delayed_delivery = bool(value["active"])
    found.delay_tick_ms = max(int(value["tickTime"]), 1)
    found.max_delay_ms = int(value["maxDeliveryDelayInMillis"]) if found.delayed_delivery else 0


def _quotas(found: TopicPolicies, value: Any) -> None:
    """Each kind on its own: where only one is set, the other keeps what held so far."""
    size, age = value.get("destination_storage"), value.get("message_age")
    if size is not None:
        found.quota_size = Quota(int(size["limitSize"]), size["policy"])
    if age is not None:
        seconds = int(age["limitTime"])
        found.quota_age = Quota(seconds * 1000 if seconds > 0 else -1, age["policy"])


def _inactive(found: TopicPolicies, value: Any) -> None:
    found.inactive = inactive(value)


def _expiration(found: TopicPolicies, value: Any) -> None:
    found.subscription_expiration_ms = int(value) * _MINUTE_MS


def _publish_rate(found: TopicPolicies, value: Any) -> None:
    found.publish_rate = publish_rate(value)


def _dispatch_rate(found: TopicPolicies, value: Any) -> None:
    found.dispatch_rate = dispatch_rate(value)


def _subscription_dispatch_rate(found: TopicPolicies, value: Any) -> None:
    found.subscription_dispatch_rate = dispatch_rate(value)


def _dispatch_rates(found: TopicPolicies, value: Any) -> None:
    found.dispatch_rates = {sub: dispatch_rate(own["dispatchRate"]) for sub, own in value.items()}


def _subscribe_rate(found: TopicPolicies, value: Any) -> None:
    found.subscribe_rate = subscribe_rate(value)


def _selector(found: TopicPolicies, value: Any) -> None:
    found.key_shared_selector = SELECTORS[value]


def _pause(found: TopicPolicies, value: Any) -> None:
    found.pause_on_ack_state = bool(value)


def _failover_selector(found: TopicPolicies, value: Any) -> None:
    found.failover_selector = str(value)


def _failover_drain(found: TopicPolicies, value: Any) -> None:
    found.failover_drain_ms = int(value)


_PUT: dict[str, Callable[[TopicPolicies, Any], None]] = {
    "retention_policies": _retention,
    "message_ttl_in_seconds": _ttl,
    "max_producers_per_topic": _producers,
    "max_consumers_per_topic": _consumers,
    "max_consumers_per_subscription": _consumers_per_subscription,
    "max_subscriptions_per_topic": _subscriptions,
    "max_unacked_messages_per_consumer": _unacked_per_consumer,
    "max_unacked_messages_per_subscription": _unacked_per_subscription,
    "max_message_size": _message_bytes,
    "deduplicationEnabled": _deduplication,
    "subscription_types_enabled": _types,
    "compaction_threshold": _compaction_threshold,
    "delayed_delivery_policies": _delayed,
    "autoSubscriptionCreationOverride": _auto_subscription,
    "schema_compatibility_strategy": _schema_strategy,
    "schema_validation_enforced": _schema_enforced,
    "is_allow_auto_update_schema": _schema_auto_update,
    "backlog_quota_map": _quotas,
    "inactive_topic_policies": _inactive,
    "subscription_expiration_time_minutes": _expiration,
    "publishMaxMessageRate": _publish_rate,
    "topicDispatchRate": _dispatch_rate,
    "subscriptionDispatchRate": _subscription_dispatch_rate,
    "subscription_policies": _dispatch_rates,
    "clusterSubscribeRate": _subscribe_rate,
    "dispatcherPauseOnAckStatePersistentEnabled": _pause,
    "magnetarFailoverSelector": _failover_selector,
    "magnetarFailoverDrainMs": _failover_drain,
    SELECTOR_POLICY: _selector,
}
"""What each policy that acts on a topic does to its limits."""
