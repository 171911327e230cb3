"""What some policies amount to once they are read: rates, quotas, and when a topic counts as unused."""

from __future__ import annotations

from typing import Any, NamedTuple

from magnetar.core.options import Options

__all__ = [
    "EVICT",
    "EXCEPTION",
    "HOLD",
    "NO_RATE",
    "Inactive",
    "Quota",
    "Rate",
    "dispatch_rate",
    "inactive",
    "inactive_default",
    "publish_rate",
    "subscribe_rate",
]

HOLD, EXCEPTION, EVICT = "producer_request_hold", "producer_exception", "consumer_backlog_eviction"
"""What happens at a quota: producers wait, producers fail, or the oldest messages count as acknowledged."""

_SECOND_MS = 1_000


class Rate(NamedTuple):
    """Messages and bytes in a period; 0 or less: no limit."""

    messages: int
    bytes: int
    period_ms: int = _SECOND_MS
    relative: bool = False
    """The rate at which the topic is published to comes on top."""

    def limits(self) -> bool:
        return self.messages > 0 or self.bytes > 0


NO_RATE = Rate(0, 0)


class Quota(NamedTuple):
    """A limit (bytes, or milliseconds of age; below 0: none) and what happens there."""

    limit: int
    action: str


class Inactive(NamedTuple):
    """Whether a topic that nobody uses is deleted, whether its subscriptions keep it, and how long that takes."""

    deletes: bool
    caught_up: bool
    after_ms: int


def publish_rate(value: Any) -> Rate:
    """A publish rate as it is stored."""
    return Rate(int(value["publishThrottlingRateInMsg"]), int(value["publishThrottlingRateInByte"]))


def dispatch_rate(value: Any) -> Rate:
    """A dispatch rate as it is stored."""
    return Rate(
        int(value["dispatchThrottlingRateInMsg"]),
        int(value["dispatchThrottlingRateInByte"]),
        max(int(value["ratePeriodInSecond"]), 1) * _SECOND_MS,
        bool(value["relativeToPublishRate"]),
    )


def subscribe_rate(value: Any) -> Rate:
    """A subscribe rate as it is stored; what it counts are subscriptions, under the name of messages."""
    period_ms = max(int(value["ratePeriodInSecond"]), 1) * _SECOND_MS
    return Rate(int(value["subscribeThrottlingRatePerConsumer"]), 0, period_ms)


def inactive(value: Any) -> Inactive:
    """The policy for unused topics as it is stored."""
    return Inactive(
        bool(value.get("deleteWhileInactive", True)),
        value.get("inactiveTopicDeleteMode") == "delete_when_subscriptions_caught_up",
        int(value.get("maxInactiveDurationSeconds", 60)) * _SECOND_MS,
    )


def inactive_default(options: Options) -> Inactive:
    """What the broker does with unused topics."""
    return Inactive(options.delete_inactive, options.inactive_caught_up, options.inactive_after_ms)
