"""What a topic knows of its own limits: the throttles that its policies ask for, and how old its backlog is.

Everything here is rebuilt from the policies (``follow``) and none of it is durable: after a restart buckets are full
and a topic counts as used just now.
"""

from __future__ import annotations

from magnetar.core.policies.effective import TopicPolicies
from magnetar.core.policies.values import Rate
from magnetar.core.throttle import Bucket, Throttle, throttle

__all__ = ["SUBSCRIBERS_MAX", "TopicLimits"]

SUBSCRIBERS_MAX = 1_000
"""Consumers whose subscribing is counted; beyond it those are forgotten that may subscribe again anyway."""


class TopicLimits:
    """One for each topic."""

    def __init__(self, policies: TopicPolicies, now_ms: int) -> None:
        self.publish: Throttle | None = None
        self.dispatch: Throttle | None = None
        self.subscribe: Rate = policies.subscribe_rate
        self.subscribers: dict[str, Bucket] = {}
        self.last_used_ms: int = now_ms
        """When the last producer or consumer left, or a moment at which there was one."""
        self.oldest_offset: int = -1
        self.oldest_ms: int = 0
        """The publish time of the entry at ``oldest_offset``, which was the first of the backlog when it was read."""
        self.evicted_for_size: int = 0
        self.evicted_for_age: int = 0
        self.held_back: int = 0
        """Producers that were sent away or refused because of a quota."""
        self.follow(policies, now_ms)

    def follow(self, policies: TopicPolicies, now_ms: int) -> None:
        """The policies may be others now."""
        self.publish = throttle(self.publish, policies.publish_rate, now_ms)
        self.dispatch = throttle(self.dispatch, policies.dispatch_rate, now_ms)
        if self.subscribe != policies.subscribe_rate:
            self.subscribe = policies.subscribe_rate
            self.subscribers.clear()

    def may_subscribe(self, who: str, now_ms: int) -> bool:
        """Whether this consumer may subscribe once more, which it then has done."""
        rate = self.subscribe
        if not rate.limits():
            return True
        if len(self.subscribers) >= SUBSCRIBERS_MAX:
            counted = self.subscribers
            self.subscribers = {name: one for name, one in counted.items() if one.left(now_ms) < one.rate}
        bucket = self.subscribers.get(who)
        if bucket is None:
            bucket = self.subscribers[who] = Bucket(rate.messages, rate.period_ms, now_ms)
        if bucket.left(now_ms) <= 0:
            return False
        bucket.take(1)
        return True
