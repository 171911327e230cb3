"""What the two dispatchers of Key_Shared have in common: a selector, sending an entry, how far reading goes ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.dispatch.delaying import DelayingDispatcher
from magnetar.core.entryinfo import COUNT
from magnetar.core.selector.ring import Ring
from magnetar.core.selector.split import SPLIT_SLOTS, WidestSplit
from magnetar.core.selector.sticky import STICKY_SLOTS, StickyRanges

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["KeyedDispatcher"]

NO_LIMIT = 1 << 30


class KeyedDispatcher(DelayingDispatcher):
    """Entries go to the owner of their key's slot. Subclasses say what keeps an entry back."""

    kind = "Key_Shared"

    def __init__(self, subscription: Subscription, ring_slots: int) -> None:
        super().__init__(subscription)
        options = subscription.topic.broker.options
        self.selector: Ring | WidestSplit | StickyRanges
        self.slots: int
        self.first_slot: int
        """What the selector's ``slot_of`` goes by, for where it is asked for every message."""
        if subscription.sticky:
            self.selector = StickyRanges()
            self.slots, self.first_slot = STICKY_SLOTS, 0
        elif options.key_shared_ring:
            self.selector = Ring(options.ring_points, ring_slots)
            self.slots, self.first_slot = ring_slots, 1
        else:
            self.selector = WidestSplit()
            self.slots, self.first_slot = SPLIT_SLOTS, 0
        self.ordered: bool = not subscription.out_of_order

    def share(self, consumer: Consumer) -> int:
        return self.selector.share(consumer)

    def give(self, consumer: Consumer, offset: int, key_hash: int, entry: bytes, count: int) -> int:
        """Send an entry and charge it; how many messages that were."""
        sub = self.subscription
        topic = sub.topic
        ledger, number = topic.ledgers.position(offset)
        redeliveries = self.redelivered.get(offset, 0) if self.redelivered else 0
        count = consumer.send(
            ledger, number, entry, count & COUNT, sub.acks.part(offset), redeliveries, topic.name.partition
        )
        self.charge(consumer, offset, key_hash, count)
        return count

    def any_ready(self) -> bool:
        """Whether some consumer could be sent something."""
        return any(consumer.ready() for consumer in self.subscription.consumers)

    def look_ahead(self) -> int:
        """How many entries may wait before reading on stops; without such a limit those on unacknowledged messages."""
        options = self.subscription.topic.broker.options
        consumers = len(self.subscription.consumers)
        limit = options.look_ahead_per_subscription
        if options.look_ahead_per_consumer > 0:
            by_consumer = options.look_ahead_per_consumer * consumers
            limit = min(limit, by_consumer) if limit > 0 else by_consumer
        if limit <= 0:
            limit = min(self.limit or NO_LIMIT, consumers * self.consumer_limit or NO_LIMIT)
        return limit
