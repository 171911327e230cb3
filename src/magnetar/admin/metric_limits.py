"""Metrics of limits: quotas and rates, and how often they have held something up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from magnetar.admin.rates import Sampler
from magnetar.admin.stats.common import seconds
from magnetar.core.dispatch.gate import Gate
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic

__all__ = ["LIMITS", "limit_families"]

Samples = Iterable[tuple[str, int]]

LIMITS: dict[str, Callable[[Topic, Sampler], int | float]] = {
    "pulsar_storage_backlog_quota_limit": lambda t, r: t.policies.quota_size.limit,
    "pulsar_storage_backlog_quota_limit_time": lambda t, r: seconds(t.policies.quota_age.limit),
    "pulsar_publish_rate_limit_times": lambda t, r: t.limits.publish.limited if t.limits.publish is not None else 0,
    "magnetar_topic_quota_held_back_total": lambda t, r: t.limits.held_back,
}
"""Of each topic."""


def limit_families(
    topics: list[tuple[str, Topic]], subs: list[tuple[str, Subscription]]
) -> Iterator[tuple[str, Samples]]:
    """Families whose samples have a label of their own; topics and subscriptions come with their labels."""
    yield "pulsar_storage_backlog_quota_exceeded_evictions_total", _evictions(topics)
    yield "pulsar_subscription_dispatch_throttled_msg_events", _throttled(subs, lambda gate: gate.limited_messages)
    yield "pulsar_subscription_dispatch_throttled_bytes_events", _throttled(subs, lambda gate: gate.limited_bytes)


def _evictions(topics: list[tuple[str, Topic]]) -> Samples:
    """How often a quota has passed over messages."""
    for labels, topic in topics:
        yield f'{labels},quota_type="size"', topic.limits.evicted_for_size
        yield f'{labels},quota_type="time"', topic.limits.evicted_for_age


def _throttled(subs: list[tuple[str, Subscription]], counts: Callable[[Gate], list[int]]) -> Samples:
    """How often a dispatch rate has made a subscription wait, where there is one."""
    for labels, sub in subs:
        if sub.gate is not None:
            for reason, count in zip(("subscription", "topic", "broker"), counts(sub.gate), strict=True):
                yield f'{labels},reason="{reason}"', count
