"""Who gets a message that is not kept: whoever is connected, has permits and a connection that takes it, or nobody.

The choice is that of the persistent dispatchers (turns, hash ranges, one active consumer), without their memory:
nothing is pending, nothing is delivered again, and a key needs no draining, because what was sent is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.single import SingleActive
from magnetar.core.entryinfo import COUNT
from magnetar.core.selector.ring import RING_SLOTS
from magnetar.wire.hashing import murmur3
from magnetar.wire.metadata import sticky_key

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["Giver", "Keyed", "OneActive", "Rotating"]

_LEDGER: Final = 0
_ENTRY: Final = 0
"""Every message has this place."""
_WHOLE: Final = -1


class Giver(Protocol):
    """What the dispatchers here have in common besides what every dispatcher has."""

    dropped: int
    """Messages that nobody could take."""

    def offer(self, entries: list[bytes], counts: list[int]) -> None:
        """Give each entry to whoever can take it now, or drop it."""


def _deliver(sub: Subscription, consumer: Consumer, entry: bytes, count: int) -> None:
    sub.sent(consumer, consumer.send(_LEDGER, _ENTRY, entry, count & COUNT, _WHOLE, 0, sub.topic.name.partition))


class Rotating(Dispatcher):
    """Shared: consumers of the best priority level that can take an entry take turns."""

    kind = "Shared"

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.turn: int = 0
        self.dropped: int = 0

    def add(self, consumer: Consumer) -> None:
        """It has its turn when it has permits."""

    def remove(self, consumer: Consumer) -> None:
        """What it was sent is its own affair."""

    def dispatch(self) -> None:
        """Nothing waits here."""

    def redeliver(self, consumer: Consumer, offsets: list[int]) -> None:
        """Nothing is kept that could be delivered again."""

    def redeliver_all(self, consumer: Consumer) -> None:
        """As above."""

    def offer(self, entries: list[bytes], counts: list[int]) -> None:
        sub = self.subscription
        for k in range(len(entries)):
            consumer = self._next()
            if consumer is None:
                self.dropped += counts[k] & COUNT
            else:
                _deliver(sub, consumer, entries[k], counts[k])

    def _next(self) -> Consumer | None:
        consumers = self.subscription.consumers
        count = len(consumers)
        found: Consumer | None = None
        found_at = 0
        turn = self.turn
        for step in range(count):
            at = (turn + step) % count
            consumer = consumers[at]
            if (found is None or consumer.priority < found.priority) and consumer.ready():
                found = consumer
                found_at = at
                if not consumer.priority:
                    break
        if found is not None:
            self.turn = found_at + 1
        return found


class Keyed(KeyedDispatcher):
    """Key_Shared: an entry goes to the owner of its key's slot, who alone may have it."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription, RING_SLOTS)
        self.dropped: int = 0

    def add(self, consumer: Consumer) -> None:
        self.seat(consumer)

    def remove(self, consumer: Consumer) -> None:
        self.unseat(consumer)

    def dispatch(self) -> None:
        """Nothing waits here."""

    def requeue(self, offset: int, key_hash: int) -> None:
        """Nothing is kept that could be delivered again."""

    def unqueue(self, offset: int) -> None:
        """As above."""

    def offer(self, entries: list[bytes], counts: list[int]) -> None:
        sub, selector = self.subscription, self.selector
        for k in range(len(entries)):
            key_hash = murmur3(sticky_key(entries[k]))
            owner = selector.select(selector.slot_of(key_hash))
            if owner is None or not owner.ready():
                self.dropped += counts[k] & COUNT
            else:
                _deliver(sub, owner, entries[k], counts[k])
                if self.load is not None:
                    self.observe(self.load, key_hash, counts[k] & COUNT)


class OneActive(SingleActive):
    """Exclusive and Failover. Who is active is served from the moment it is: there is nothing to wait for that its
    predecessor might still acknowledge."""

    def __init__(self, subscription: Subscription, kind: str) -> None:
        super().__init__(subscription, kind)
        self.dropped: int = 0

    def dispatch(self) -> None:
        """Nothing waits here."""

    def offer(self, entries: list[bytes], counts: list[int]) -> None:
        sub, consumer = self.subscription, self.current
        for k in range(len(entries)):
            if consumer is None or not consumer.ready():
                self.dropped += counts[k] & COUNT
            else:
                _deliver(sub, consumer, entries[k], counts[k])
