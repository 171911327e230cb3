"""Planted faults: permits, limits and counts."""

from __future__ import annotations

from tests.sim.plant import Planted

__all__ = ["COUNTS"]

_PENDING = "core/dispatch/pending.py"

COUNTS: tuple[Planted, ...] = (
    Planted(
        "permit_lost",
        "a redelivered message costs two permits",
        "core/consumer.py",
        "        if redeliveries:\n            self.redelivered += count",
        "        if redeliveries:\n            self.permits -= 1\n            self.redelivered += count",
        ("permits",),
        weights={"nack": 60},
    ),
    Planted(
        "permit_given",
        "asking for messages gives one permit more than was asked for",
        "core/consumer.py",
        "        self.permits += permits\n",
        "        self.permits += permits + 1\n",
        ("permits",),
        world="shared",
    ),
    Planted(
        "limit_ignored",
        "the limit on a consumer's unacknowledged messages is found out one message too late",
        _PENDING,
        "if self.consumer_limit and consumer.unacked >= self.consumer_limit:",
        "if self.consumer_limit and consumer.unacked > self.consumer_limit:",
        ("unacked_limit",),
        options={"max_unacked_per_consumer": 5},
        weights={"policy": 0},
    ),
    Planted(
        "blocked_for_ever",
        "a blocked subscription is not released when half is acknowledged",
        _PENDING,
        "if self.blocked and self.unacked_total <= self.limit // 2:",
        "if self.blocked and self.unacked_total < 0:",
        ("liveness",),
        options={"max_unacked_per_consumer": 5, "max_unacked_per_subscription": 8},
        weights={"policy": 0},
    ),
    Planted(
        "unacked_drifts",
        "giving back does not take the message off the count",
        _PENDING,
        "        self.discharge(consumer, pending_count(word))\n        if self.subscription.acks.contains(offset):",
        "        if self.subscription.acks.contains(offset):",
        ("counts",),
        weights={"nack": 60},
    ),
    Planted(
        "redelivered_kept",
        "redelivery counts of skipped messages are kept for ever",
        _PENDING,
        "        if self.subscription.acks.contains(offset):\n            self.redelivered.pop(offset, None)",
        "        if False:\n            self.redelivered.pop(offset, None)",
        ("at_rest",),
        weights={"nack": 60, "skip": 40},
        seeds=60,
    ),
)  # fmt: skip
