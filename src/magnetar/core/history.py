"""What happened to a subscription lately: who came and went, which slots moved, when drains ended.

A bounded list in memory, one event for each change of the assignment and not one for each slot, so that the last
hundred events reach back far enough to tell the story of a rolling restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.dispatch.draining import Drains
    from magnetar.core.subscription import Subscription

__all__ = [
    "ACTIVE",
    "BALANCE",
    "DISCONNECTED",
    "DRAINED",
    "EVICTED",
    "FINISHING",
    "JOIN",
    "JOINED",
    "LEASED_OUT",
    "LEAVE",
    "LEFT",
    "POLICY",
    "RANGES",
    "SELECTOR",
    "Event",
    "History",
    "note",
    "note_drained",
]

JOINED = "joined"
LEFT = "left"
ACTIVE = "active"
"""Failover and Exclusive: the consumer is served from now on."""
FINISHING = "finishing"
"""Failover: the consumer is to be active, as soon as the one that is has finished what it holds."""
DRAINED = "drained"
"""The last slot that drained is free; ``lasted_ms`` since the first one began."""
LEASED_OUT = "leasedOut"
"""The consumer is disconnected, because it held a drain for longer than the drain lease."""
DISCONNECTED = "disconnected"
"""The consumer is disconnected, because an operator said so."""

EVICTED = "evicted"
"""A backlog quota has passed over the oldest messages."""

JOIN, LEAVE, POLICY, BALANCE = "joined", "left", "policy", "balance"
"""Why another consumer is active: somebody came, somebody went, the selector is another, topics were evened out."""
SELECTOR = "selector"
"""Key_Shared: slots are shared out by another selector from now on."""

RANGES = "rebalanced"
"""Key_Shared: slots changed hands between consumers that stay."""

_CHANGES = (JOINED, LEFT, ACTIVE)


@dataclass(slots=True, frozen=True)
class Event:
    """One line of the history; what does not belong to its kind is empty."""

    at_ms: int
    what: str
    consumer: str = ""
    slots: int = 0
    """Key_Shared: how many slots changed hands."""
    draining: int = 0
    """Key_Shared: how many slots drain after it."""
    held: int = 0
    """The entries that a consumer held unacknowledged when it left, or that were evicted."""
    lasted_ms: int = 0
    why: str = ""
    """Failover: what made the selector look."""
    selector: str = ""


class History:
    """The newest ``most`` events, oldest first."""

    def __init__(self, most: int) -> None:
        self.most: int = most
        self.events: list[Event] = []
        self.changes: int = 0
        """Changes of the assignment, those that are forgotten included."""
        self.switches: int = 0
        """Failover: how often a consumer has become active in another's place."""
        self.repeated: int = 0
        """Failover: entries that were given to a new active consumer while an earlier one might still finish them."""

    def note(self, event: Event) -> None:
        self.events.append(event)
        if event.what in _CHANGES:
            self.changes += 1
        if len(self.events) > self.most:
            del self.events[: len(self.events) - self.most]


def note(
    sub: Subscription, what: str, consumer: Consumer, slots: int, held: int, why: str = "", selector: str = ""
) -> None:
    """A line about a consumer into its subscription's history."""
    draining = sub.dispatcher.draining() if sub.dispatcher is not None else 0
    sub.history.note(Event(sub.topic.broker.now_ms, what, consumer.name, slots, draining, held, 0, why, selector))


def note_drained(sub: Subscription, before: Drains, now: Drains) -> None:
    """A line when nothing drains any more, with how long something did."""
    if before.began_ms and not now.active:
        at_ms = sub.topic.broker.now_ms
        sub.history.note(Event(at_ms, DRAINED, lasted_ms=at_ms - before.began_ms))
        before.began_ms = now.began_ms = 0
