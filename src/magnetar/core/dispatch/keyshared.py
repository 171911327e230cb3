"""Key_Shared: a key is delivered, and may be unacknowledged, at one consumer at a time.

Keys are hashed to slots, and a selector says which consumer owns a slot. Ownership moves when consumers join or leave;
what makes the move safe is *draining*: a slot whose old owner still holds unacknowledged entries is not delivered to
the new owner until the old one has acknowledged or given back the last of them.

An entry that cannot be sent now (its slot drains, its owner has no permits, or earlier entries of its slot wait)
waits under its slot, in order of offset. Each consumer has a heap of what waits for it and is not held up by a drain.
Entries newly read from the topic go past waiting ones of other slots, as far as the look-ahead limit allows.

Order of one slot is kept because a newly read entry joins the wait when any entry of its slot waits already, and
because a heap gives out the lowest offset first.
"""

from __future__ import annotations

import heapq
from bisect import insort
from typing import TYPE_CHECKING

from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.entryinfo import COUNT
from magnetar.core.selector.ring import Ring
from magnetar.core.selector.sticky import StickyRanges
from magnetar.wire.metadata import sticky_key

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["Draining", "KeyShared"]

_REPLAY_READ = 64


class Draining:
    """A slot that is still held by its former owner: ``count`` unacknowledged entries."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer: Consumer = consumer
        self.count: int = 0
        self.blocked: int = 0
        """How often an entry had to wait for this drain."""


class KeyShared(PendingDispatcher):
    """The dispatcher of Key_Shared subscriptions."""

    kind = "Key_Shared"

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.selector: Ring | StickyRanges = (
            StickyRanges() if subscription.sticky else Ring(subscription.topic.broker.options.ring_points)
        )
        self.ordered: bool = not subscription.out_of_order
        self.drains: bool = self.ordered and not subscription.sticky
        self.draining: dict[int, Draining] = {}
        self.drained_total: int = 0
        self.waits: dict[int, list[int]] = {}
        self.wait_count: int = 0
        self.owners: dict[int, Consumer | None] = {}

    # -- consumers come and go ---------------------------------------------------------------------------------------

    def add(self, consumer: Consumer) -> None:
        self.selector.add(consumer)
        self._reassign()

    def remove(self, consumer: Consumer) -> None:
        self.selector.remove(consumer)
        self.owners.clear()
        self.give_back_all(consumer)
        if self.subscription.consumers:
            self._reassign()
        else:
            self._clear()
            self.read_next = self.subscription.acks.floor
        self.subscription.topic.broker.wake(self.subscription)

    def _clear(self) -> None:
        self.draining.clear()
        self.waits.clear()
        self.wait_count = 0
        self.owners.clear()
        self.redelivered.clear()

    def owner(self, slot: int) -> Consumer | None:
        """Who the slot belongs to by the selector, drains aside."""
        if slot in self.owners:
            return self.owners[slot]
        found = self.selector.select(slot)
        self.owners[slot] = found
        return found

    def _reassign(self) -> None:
        """Ranges have moved: find out anew which slots drain, and whose queue each waiting entry is in."""
        self.owners.clear()
        if self.drains:
            before = self.draining
            self.draining = {}
            for consumer in self.subscription.consumers:
                for word in consumer.pending.values():
                    slot = word >> 32
                    if self.owner(slot) is not consumer:
                        self._drain(slot, consumer, before)
        for consumer in self.subscription.consumers:
            consumer.queue = []
        for slot in self.waits:
            self._queue_slot(slot)
        self.subscription.topic.broker.wake(self.subscription)

    def _drain(self, slot: int, consumer: Consumer, before: dict[int, Draining]) -> None:
        """One more entry of the slot is held by a consumer that does not own it."""
        found = self.draining.get(slot)
        if found is None:
            found = Draining(consumer)
            old = before.get(slot)
            if old is not None and old.consumer is consumer:
                found.blocked = old.blocked
            self.draining[slot] = found
        assert found.consumer is consumer, "two consumers hold one slot"
        found.count += 1

    # -- waiting -----------------------------------------------------------------------------------------------------

    def _blocked_by(self, slot: int, target: Consumer | None) -> Draining | None:
        drain = self.draining.get(slot)
        return drain if drain is not None and drain.consumer is not target else None

    def _queue_slot(self, slot: int) -> None:
        """The slot's waiting entries go into its owner's heap, unless a drain holds them up."""
        target = self.owner(slot)
        if target is None or self._blocked_by(slot, target) is not None:
            return
        for offset in self.waits[slot]:
            heapq.heappush(target.queue, (offset, slot))

    def _wait(self, offset: int, slot: int) -> None:
        """The entry waits under its slot."""
        waiting = self.waits.get(slot)
        if waiting is None:
            self.waits[slot] = [offset]
        elif offset > waiting[-1]:
            waiting.append(offset)
        else:
            insort(waiting, offset)
        self.wait_count += 1
        target = self.owner(slot)
        drain = self._blocked_by(slot, target)
        if drain is not None:
            drain.blocked += 1
        elif target is not None:
            heapq.heappush(target.queue, (offset, slot))

    def _unwait(self, offset: int, slot: int) -> bool:
        """The entry no longer waits; whether it did."""
        waiting = self.waits.get(slot)
        if waiting is None or offset not in waiting:
            return False
        waiting.remove(offset)
        self.wait_count -= 1
        if not waiting:
            del self.waits[slot]
        return True

    def waiting(self) -> int:
        return self.wait_count

    def requeue(self, offset: int, slot: int) -> None:
        if not self.subscription.acks.contains(offset):
            self._wait(offset, slot)

    def unqueue(self, offset: int) -> None:
        for slot, waiting in self.waits.items():
            if offset in waiting:
                self._unwait(offset, slot)
                return

    def settle_below(self, floor: int) -> None:
        super().settle_below(floor)
        for slot in list(self.waits):
            for offset in [o for o in self.waits[slot] if o < floor]:
                self._unwait(offset, slot)

    def released(self, offset: int, slot: int, consumer: Consumer) -> None:
        drain = self.draining.get(slot) if self.draining else None
        if drain is None or drain.consumer is not consumer:
            return
        drain.count -= 1
        if drain.count == 0:
            del self.draining[slot]
            self.drained_total += 1
            if slot in self.waits:
                self._queue_slot(slot)
                self.subscription.topic.broker.wake(self.subscription)

    def reset(self) -> None:
        super().reset()
        self._clear()

    # -- sending -----------------------------------------------------------------------------------------------------

    def dispatch(self) -> None:
        if self.blocked:
            return
        for consumer in list(self.subscription.consumers):
            if consumer.queue:
                self._serve_queue(consumer)
        self._serve_new()

    def _serve_queue(self, consumer: Consumer) -> None:
        """Send the consumer what waits for it, lowest offset first."""
        sub = self.subscription
        queue, acks = consumer.queue, sub.acks
        charged = 0
        while queue and consumer.ready() and not self.blocked:
            offset, slot = queue[0]
            waiting = self.waits.get(slot)
            if waiting is None or waiting[0] != offset or self._blocked_by(slot, consumer) is not None:
                heapq.heappop(queue)
                continue
            if acks.contains(offset):
                self._unwait(offset, slot)
                continue
            if not self.again.load(offset, _REPLAY_READ):
                break
            heapq.heappop(queue)
            self._unwait(offset, slot)
            if not self.again.entry:
                sub.lose(offset)
                continue
            charged += self._send(consumer, offset, slot, self.again.entry, self.again.count)
        if charged:
            sub.sent(consumer, charged)

    def _send(self, consumer: Consumer, offset: int, slot: int, entry: bytes, count: int) -> int:
        sub = self.subscription
        topic = sub.topic
        ledger, number = topic.ledgers.position(offset)
        redeliveries = self.redelivered.get(offset, 0) if self.redelivered else 0
        count = consumer.send(
            ledger, number, entry, count & COUNT, sub.acks.part(offset), redeliveries, topic.name.partition
        )
        self.charge(consumer, offset, slot, count)
        return count

    def _look_ahead(self) -> int:
        """How many entries may wait before reading on stops."""
        options = self.subscription.topic.broker.options
        limit = options.look_ahead_per_subscription
        if options.look_ahead_per_consumer > 0:
            by_consumer = options.look_ahead_per_consumer * len(self.subscription.consumers)
            limit = min(limit, by_consumer) if limit > 0 else by_consumer
        return limit if limit > 0 else 1 << 30

    def _any_ready(self) -> bool:
        return any(consumer.ready() for consumer in self.subscription.consumers)

    def _serve_new(self) -> None:
        """Read on and send each entry to its slot's owner, or let it wait."""
        end = self.subscription.topic.tail.end
        limit = self._look_ahead()
        ready = self._any_ready()
        while self.read_next < end and self.wait_count < limit and ready and not self.blocked:
            if self.subscription.acks.contains(self.read_next):
                self.read_next += 1
            elif self.source.load(self.read_next, end - self.read_next):
                self.read_next += 1
                target = self._route(self.read_next - 1, self.source.entry)
                ready = target is None or target.ready() or self._any_ready()
            else:
                return

    def _route(self, offset: int, entry: bytes) -> Consumer | None:
        """Send a newly read entry, or let it wait; the consumer that it was sent to."""
        sub = self.subscription
        if not entry:
            sub.lose(offset)
            return None
        slot = self.selector.slot_of(sticky_key(entry))
        target = self.owner(slot)
        free = target is not None and target.ready() and not (self.ordered and slot in self.waits)
        if target is None or not free or (self.draining and self._blocked_by(slot, target) is not None):
            self._wait(offset, slot)
            return None
        sub.sent(target, self._send(target, offset, slot, entry, self.source.count))
        return target
