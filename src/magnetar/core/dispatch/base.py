"""What every dispatcher can do; the subscription talks to it through these calls only.

A dispatcher owns who gets what next. It never touches the cursor but through the subscription, and it never sends but
through ``Consumer.send``. Calls that may make something deliverable do not deliver at once: they ask the broker to wake
the subscription, and ``dispatch`` runs once at the end of the turn for all of them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.source import Source

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.policies.effective import TopicPolicies
    from magnetar.core.subscription import Subscription

__all__ = ["Dispatcher"]


class Dispatcher:
    """The base: a read position and a source of entries."""

    kind: str = ""
    tracks_pending: bool = False
    """Whether consumers' unacknowledged entries are known one by one (the Shared family)."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription: Subscription = subscription
        self.read_next: int = subscription.acks.floor
        topic = subscription.topic
        self.source: Source = Source(topic.broker, subscription, topic.stream, topic.tail)
        self.redelivered: dict[int, int] = {}
        """How often an entry was given back, where the dispatcher counts that."""

    def add(self, consumer: Consumer) -> None:
        """A consumer has joined; it is in the subscription's list already."""
        raise NotImplementedError

    def remove(self, consumer: Consumer) -> None:
        """A consumer has left; it is no longer in the list."""
        raise NotImplementedError

    def dispatch(self) -> None:
        """Send what can be sent now."""
        raise NotImplementedError

    def dispatch_some(self, messages: int) -> None:
        """The same, but not more than so many messages, at least one; a batch is sent whole or not at all."""
        raise NotImplementedError

    def settle(self, consumer: Consumer, offset: int) -> None:
        """The entry at ``offset`` is wholly acknowledged, as ``consumer`` said."""

    def settle_part(self, consumer: Consumer, offset: int, left: int) -> None:
        """Of the batch at ``offset`` only ``left`` messages are open."""

    def settle_below(self, floor: int) -> None:
        """Everything below ``floor`` is acknowledged (cumulative, skip, expiry)."""
        if self.read_next < floor:
            self.read_next = floor

    def lose(self, offset: int) -> None:
        """The entry cannot be read any more: nothing waits for it, and nothing is remembered of it."""
        self.redelivered.pop(offset, None)
        self.subscription.lose(offset)

    def redeliver(self, consumer: Consumer, offsets: list[int]) -> None:
        """The consumer gives these entries back."""
        raise NotImplementedError

    def redeliver_all(self, consumer: Consumer) -> None:
        """The consumer gives everything back that it holds."""
        raise NotImplementedError

    def reset(self) -> None:
        """The cursor was set elsewhere; nobody is connected."""
        self.read_next = self.subscription.acks.floor
        self.source.forget()

    def follow_policies(self, policies: TopicPolicies) -> None:
        """The topic's limits may be others now."""

    def unacked(self) -> int:
        """Messages that consumers hold unacknowledged, where that is tracked."""
        return 0

    def waiting(self) -> int:
        """Entries that wait for redelivery."""
        return 0

    def delayed_count(self) -> int:
        """Entries that are kept until their time."""
        return 0

    def delayed_until(self) -> int:
        """When the first of them may go, -1 for never."""
        return -1

    def share(self, consumer: Consumer) -> int:
        """How many hash slots the consumer owns, for the types that have them."""
        return 0

    def draining(self) -> int:
        """How many slots drain."""
        return 0

    def active(self) -> Consumer | None:
        """The one consumer that is served, for the types that have one."""
        return None
