"""Rounds over all topics that policies ask for now and then, a slice of them at a time.

Each round begins again as long after its end as its interval says, and looks the interval up each time, because it may
be changed while the broker runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.quota import check_quotas
from magnetar.core.unused import delete_if_unused, expire_subscriptions

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.topic import Topic

__all__ = ["SLICE_TOPICS", "Round", "start_rounds"]

SLICE_TOPICS = 1_000
"""Topics that are looked at in one turn."""

_NEXT_SLICE_MS = 1


class Round:
    """One of the rounds; ``wait_ms`` says how long to wait for the next."""

    def __init__(self, broker: Broker, visit: Callable[[Topic], None], wait_ms: Callable[[], int]) -> None:
        self.broker: Broker = broker
        self.visit: Callable[[Topic], None] = visit
        self.wait_ms: Callable[[], int] = wait_ms
        self.left: list[Topic] = []

    def plan(self) -> None:
        self.broker.timers.at(self.broker.now_ms + self.wait_ms(), self._begin)

    def _begin(self) -> None:
        self.left = list(self.broker.topics.values())
        self._slice()

    def _slice(self) -> None:
        now, self.left = self.left[:SLICE_TOPICS], self.left[SLICE_TOPICS:]
        for topic in now:
            self.visit(topic)
        if self.left:
            self.broker.timers.at(self.broker.now_ms + _NEXT_SLICE_MS, self._slice)
        else:
            self.plan()


def start_rounds(broker: Broker) -> None:
    """Backlog quotas, topics that nobody uses, subscriptions that nobody uses."""
    options = broker.options
    for visit, wait_ms in (
        (check_quotas, lambda: options.quota_check_ms),
        (delete_if_unused, lambda: options.inactive_check_ms),
        (expire_subscriptions, lambda: options.subscription_expiry_check_ms),
    ):
        Round(broker, visit, wait_ms).plan()
