"""What the broker's own settings come to where they are more than a number, in the shape in which policies are read."""

from __future__ import annotations

from typing import Any

from magnetar.core.failover import MODULO, RING
from magnetar.core.options import Options

__all__ = [
    "default_delayed",
    "default_failover_selector",
    "default_inactive",
    "default_publish_rate",
    "default_quotas",
    "default_subscribe_rate",
    "default_subscription_rate",
    "default_topic_rate",
]


def default_failover_selector(options: Options) -> Any:
    """Pulsar's switch says the same in its own way, where no selector is set."""
    return options.failover_selector or (RING if options.failover_by_hash else MODULO)


def default_quotas(options: Options) -> Any:
    """Both kinds of backlog quota."""
    seconds = options.quota_ms if options.quota_ms < 0 else options.quota_ms // 1000
    size = options.quota_bytes
    shared = {"limit": size, "limitSize": size, "limitTime": seconds, "policy": options.quota_action}
    return {"destination_storage": shared, "message_age": dict(shared)}


def default_delayed(options: Options) -> Any:
    return {
        "tickTime": options.delay_tick_ms,
        "active": options.delayed_delivery,
        "maxDeliveryDelayInMillis": options.max_delay_ms,
    }


def default_inactive(options: Options) -> Any:
    mode = "delete_when_subscriptions_caught_up" if options.inactive_caught_up else "delete_when_no_subscriptions"
    return {
        "inactiveTopicDeleteMode": mode,
        "maxInactiveDurationSeconds": options.inactive_after_ms // 1000,
        "deleteWhileInactive": options.delete_inactive,
    }


def default_publish_rate(options: Options) -> Any:
    """None where the broker has none: that is how Pulsar answers."""
    messages, size = options.publish_rate_messages, options.publish_rate_bytes
    if messages <= 0 and size <= 0:
        return None
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": size}


def default_topic_rate(options: Options) -> Any:
    return _dispatch(options, options.topic_dispatch_rate_messages, options.topic_dispatch_rate_bytes)


def default_subscription_rate(options: Options) -> Any:
    return _dispatch(options, options.subscription_dispatch_rate_messages, options.subscription_dispatch_rate_bytes)


def _dispatch(options: Options, messages: int, size: int) -> Any:
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "relativeToPublishRate": options.dispatch_rate_relative,
        "ratePeriodInSecond": 1,
    }


def default_subscribe_rate(options: Options) -> Any:
    return {
        "subscribeThrottlingRatePerConsumer": options.subscribe_rate,
        "ratePeriodInSecond": options.subscribe_rate_period_ms // 1000,
    }
