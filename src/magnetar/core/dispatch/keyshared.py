"""Key_Shared: a key is delivered, and may be unacknowledged, at one consumer at a time.

Keys are hashed, hashes fall into slots, and a selector says which consumer owns a slot. Ownership moves when consumers
join or leave; what makes the move safe is *draining* (``draining.py``): a key that its former owner still holds is not
delivered to the new one until the last of its entries was acknowledged or given back.

An entry that cannot be sent now waits under its key (``waiting.py``): because its key drains, because its consumer
has no permits, because an earlier entry of its key waits. Order within a key is kept by two rules: an entry newly read
joins the wait when anything of its key waits, and a consumer's heap gives out the lowest offset first.

Reading on past waiting entries stops at the look-ahead limit. If some consumer could still be served, reading *skims*
(``skim.py``): it goes on ahead, sends what is free, and merely passes over the rest, to which it comes back.

Two things go beyond Pulsar. What a consumer holds stays held, and keeps its key, when the cursor moves past it by
skipping or expiry; only the consumer's word or its end frees it. And with ``keySharedNackOrder`` a key that had a
negative acknowledgement gives out one entry at a time, lowest first, until everything that was nacked is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.consumer import pending_hash
from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.dispatch.draining import Drains
from magnetar.core.dispatch.duekeys import DueKeys
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.lease import DrainLease
from magnetar.core.dispatch.reselect import Selector, moved_drains, rebuilt_drains
from magnetar.core.dispatch.skim import Skim
from magnetar.core.dispatch.waiting import Line, Waiting
from magnetar.core.entryinfo import DELAYED
from magnetar.core.history import note_drained
from magnetar.core.selector.ring import RING_SLOTS
from magnetar.core.timers import Timer
from magnetar.wire.hashing import murmur3
from magnetar.wire.metadata import sticky_key

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["KeyShared"]

_REPLAY_READ: Final = 64
_IDLE: Final = -1
WAITS_A_PASS: Final = 100
"""So many of the entries that are read in one pass may have to wait."""
READ_ON_MS: Final = 1


class KeyShared(KeyedDispatcher):
    """The dispatcher of Key_Shared subscriptions."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription, RING_SLOTS)
        self.drains: Drains = Drains()
        self.waiting_keys: Waiting = Waiting()
        self.skim: Skim | None = None
        self.due_keys: DueKeys = DueKeys(self)
        self.owners: dict[int, Consumer] = {}
        self.freed: dict[int, bool] = {}
        """Keys whose drain has ended and that are served with the next unblocking."""
        self.unblock_timer: Timer | None = None
        self.nacked: dict[int, list[int]] = {}
        """With nack order: per held key the offsets that were nacked and are not acknowledged yet."""
        self.holding: dict[int, int] = {}
        """With nack order: per held key the one entry of it that is out since, or -1."""
        self.lease: DrainLease = DrainLease(self)
        self.read_timer: Timer | None = None

    # -- consumers come and go ---------------------------------------------------------------------------------------

    def add(self, consumer: Consumer) -> None:
        self.seat(consumer)
        self.ranges_moved()

    def remove(self, consumer: Consumer) -> None:
        self.unseat(consumer)
        self.owners.clear()
        self.give_back_all(consumer)
        if self.subscription.consumers:
            self.ranges_moved()
        else:
            self._clear()
        self.subscription.topic.broker.wake(self.subscription)

    def _clear(self) -> None:
        before, self.drains = self.drains, self.drains.begin()
        self.drains.cleared_total += before.active
        note_drained(self.subscription, before, self.drains)
        self.owners.clear()
        self.freed.clear()
        self.nacked.clear()
        self.holding.clear()
        self.redelivered.clear()
        if self.skim is None and self.delayed_count():
            return  # what is delayed stays known, and then everything must that was read
        self.forget_delayed()
        self.waiting_keys.clear()
        self.skim = None
        self.read_next = self.subscription.acks.floor

    def owner(self, slot: int) -> Consumer | None:
        """Who the slot belongs to by the selector, drains aside."""
        found = self.owners.get(slot)
        if found is None:
            found = self.selector.select(slot)
            if found is not None:
                self.owners[slot] = found
        return found

    def leave_selector(self, following: Selector) -> None:
        self.drains = moved_drains(self, self.drains, following)

    def ranges_moved(self) -> None:
        """Slots have moved: find out anew which keys drain, and whose queue each waiting entry is in."""
        self.owners.clear()
        if self.ordered:
            before, self.drains = self.drains, rebuilt_drains(self, self.drains)
            note_drained(self.subscription, before, self.drains)
            self.lease.watch()
        for consumer in self.subscription.consumers:
            consumer.line = Line()
        self.freed.clear()
        for key_hash in self.waiting_keys.keys:
            self._queue_key(key_hash)
        if self.skim is not None:
            self.skim.again()
        self.subscription.topic.broker.wake(self.subscription)

    # -- drains end --------------------------------------------------------------------------------------------------

    def released(self, offset: int, key_hash: int, consumer: Consumer) -> None:
        if self.nacked and self.holding.get(key_hash, _IDLE) == offset:
            self.holding[key_hash] = _IDLE
        if not self.drains.active or consumer.closed:
            return  # drains are counted anew when a consumer has left
        slot = self.selector.slot_of(key_hash)
        if self.owner(slot) is consumer:
            return
        whole = self.drains.is_coarse(slot)
        outcome = self.drains.release(key_hash, slot)
        if not outcome:
            return
        if outcome == 2:
            consumer.drained_total += 1
            note_drained(self.subscription, self.drains, self.drains)
        if whole:
            for waiting in self.waiting_keys.keys:
                if self.selector.slot_of(waiting) == slot:
                    self._free(waiting)
        else:
            self._free(key_hash)

    def _free(self, key_hash: int) -> None:
        """The key may be sent again: at once, or together with others after ``keySharedUnblockingIntervalMs``."""
        broker = self.subscription.topic.broker
        self.freed[key_hash] = True
        interval = broker.options.key_shared_unblocking_ms
        if interval <= 0:
            self._unblock()
        elif self.unblock_timer is None:
            self.unblock_timer = broker.timers.at(broker.now_ms + interval, self._unblock)

    def _unblock(self) -> None:
        if self.unblock_timer is not None:
            self.unblock_timer.cancel()
            self.unblock_timer = None
        freed = self.freed
        self.freed = {}
        for key_hash in freed:
            if key_hash in self.waiting_keys.keys:
                self._queue_key(key_hash)
        if self.skim is not None:
            self.skim.again()
        self.subscription.topic.broker.wake(self.subscription)

    def draining(self) -> int:
        return self.drains.active

    # -- waiting -----------------------------------------------------------------------------------------------------

    def waiting(self) -> int:
        return self.waiting_keys.count

    def _queue_key(self, key_hash: int) -> None:
        """The key's waiting entries go into its owner's heap, unless something holds the key."""
        slot = self.selector.slot_of(key_hash)
        target = self.owner(slot)
        if target is None or self.drains.blocks(key_hash, slot) or self.holding.get(key_hash, _IDLE) != _IDLE:
            return
        waiting = self.waiting_keys.keys[key_hash]
        for offset in waiting[:1] if key_hash in self.nacked else waiting:
            target.line.add(offset, key_hash)

    def wait(self, offset: int, key_hash: int) -> None:
        """The entry waits under its key."""
        self.waiting_keys.add(offset, key_hash)
        slot = self.selector.slot_of(key_hash)
        target = self.owner(slot)
        if self.drains.blocks(key_hash, slot):
            self.drains.note_blocked(slot)
            self.lease.watch()
        elif target is not None:
            target.line.add(offset, key_hash)

    def requeue(self, offset: int, key_hash: int) -> None:
        if not self.subscription.acks.contains(offset):
            self.wait(offset, key_hash)

    def unqueue(self, offset: int) -> None:
        key_hash = self.waiting_keys.find(offset)
        if key_hash >= 0:
            self.waiting_keys.remove(offset, key_hash)
            self._done(offset, key_hash)
        elif self.delayed is not None:
            self.acked_unheld(offset)

    def was_read(self, offset: int) -> bool:
        return offset < self.read_next or (self.skim is not None and self.skim.marked.contains(offset))

    def settle_below(self, floor: int) -> None:
        """What consumers hold stays theirs; what only waits is done with."""
        self.settle_delayed_below(floor)
        Dispatcher.settle_below(self, floor)
        self.waiting_keys.drop_below(floor)
        for key_hash in list(self.nacked):
            for offset in [o for o in self.nacked[key_hash] if o < floor]:
                self._done(offset, key_hash)
        consumers = self.subscription.consumers
        for offset in [o for o in self.redelivered if o < floor]:
            if not any(offset in consumer.pending for consumer in consumers):
                del self.redelivered[offset]

    def reset(self) -> None:
        super().reset()
        self._clear()

    # -- nack order --------------------------------------------------------------------------------------------------

    def redeliver(self, consumer: Consumer, offsets: list[int]) -> None:
        if self.ordered and self.subscription.topic.broker.options.key_shared_nack_order:
            for offset in offsets:
                word = consumer.pending.get(offset, 0)
                if word and not self.subscription.acks.contains(offset):
                    key_hash = pending_hash(word)
                    held = self.nacked.setdefault(key_hash, [])
                    if offset not in held:
                        held.append(offset)
                    self.holding.setdefault(key_hash, _IDLE)
        super().redeliver(consumer, offsets)
        for key_hash in list(self.nacked):
            if key_hash in self.waiting_keys.keys:
                self._queue_key(key_hash)

    def settle(self, consumer: Consumer, offset: int) -> None:
        key_hash = 0
        if self.nacked:
            holder = consumer if offset in consumer.pending else self.holder(offset)
            key_hash = pending_hash(holder.pending[offset]) if holder is not None else 0
        super().settle(consumer, offset)
        if self.nacked:
            self._done(offset, key_hash)

    def _done(self, offset: int, key_hash: int) -> None:
        """The entry is acknowledged; when it was the last nacked one of its key, the key is free again."""
        held = self.nacked.get(key_hash)
        if held is None:
            return
        if offset in held:
            held.remove(offset)
        if not held:
            del self.nacked[key_hash]
            del self.holding[key_hash]
        if key_hash in self.waiting_keys.keys:
            self._queue_key(key_hash)
            self.subscription.topic.broker.wake(self.subscription)

    # -- sending -----------------------------------------------------------------------------------------------------

    def dispatch(self) -> None:
        if self.drains.active:
            self.lease.watch()
        if self.blocked:
            return
        if self.delayed is not None:
            self.due_keys.run()
        for consumer in list(self.subscription.consumers):
            self._serve_line(consumer)
        self._serve_new()
        if self.delayed is not None:
            self.watch_delays()

    def _serve_line(self, consumer: Consumer) -> None:
        """Send the consumer what waits for it, lowest offset first."""
        sub = self.subscription
        line, acks, waiting, again = consumer.line, sub.acks, self.waiting_keys, self.again
        charged = 0
        while consumer.ready() and not self.blocked:
            offset, key_hash = line.first()
            if offset < 0:
                break
            stale = waiting.first(key_hash) != offset or self.holding.get(key_hash, _IDLE) != _IDLE
            if stale or (self.drains.active and self.drains.blocks(key_hash, self.selector.slot_of(key_hash))):
                line.drop_first()
                continue
            if acks.contains(offset):
                waiting.drop_first(key_hash)
                self._done(offset, key_hash)
                continue
            if not again.load(offset, _REPLAY_READ):
                break
            if not again.entry:
                self.lose(offset)  # now it counts as acknowledged, which is what the next round finds
                continue
            line.drop_first()
            waiting.drop_first(key_hash)
            if self.nacked and key_hash in self.nacked:
                self.holding[key_hash] = offset
            charged += self.give(consumer, offset, key_hash, again.entry, again.count)
        if charged:
            sub.sent(consumer, charged)

    def _serve_new(self) -> None:
        """Read on and send each entry to its key's owner, or let it wait."""
        source, waiting, sub = self.source, self.waiting_keys, self.subscription
        acks, keys, drains, owners = sub.acks, self.waiting_keys.keys, self.drains, self.owners
        end, now_ms = sub.topic.tail.end, sub.topic.broker.now_ms
        slots, first = self.slots, self.first_slot
        limit, ready = self.look_ahead(), self.any_ready()
        full = min(limit, waiting.count + WAITS_A_PASS)
        charged = 0
        while self.read_next < end and waiting.count < full and ready and not self.blocked:
            offset = self.read_next
            if acks.contains(offset) or (self.skim is not None and self.skim.took(offset)):
                self.read_next = offset + 1
                continue
            if not source.load(offset, end - offset):
                break
            self.read_next = offset + 1
            entry = source.entry
            if not entry:
                self.lose(offset)
                continue
            key_hash = murmur3(sticky_key(entry))
            if source.count & DELAYED and self.put_off(offset, entry, key_hash):
                if self.put_off_left <= 0:
                    break
                continue
            slot = key_hash % slots + first or 1
            target = owners.get(slot) or self.owner(slot)
            if (
                target is None
                or not target.ready()
                or (keys and self.ordered and key_hash in keys)
                or (drains.active and drains.blocks(key_hash, slot))
                or (self.nacked and key_hash in self.nacked)
            ):
                self.wait(offset, key_hash)
            else:
                charged += self.give(target, offset, key_hash, entry, source.count)
                if target.last_sent_ms != now_ms:
                    sub.sent(target, 0)
                ready = target.ready() or self.any_ready()
        sub.messages_out += charged
        if waiting.count >= full and ready and self.read_next < end and not self.blocked:
            if waiting.count < limit:
                self._read_on_soon()
                return
            if self.skim is None:
                self.skim = Skim(self)
            self.skim.run(end)

    def _read_on_soon(self) -> None:
        """Many entries had to wait in this pass: let their consumers ask for more before reading on."""
        if self.read_timer is None:
            broker = self.subscription.topic.broker
            self.read_timer = broker.timers.at(broker.now_ms + READ_ON_MS, self._read_on)

    def _read_on(self) -> None:
        self.read_timer = None
        self.subscription.topic.broker.wake(self.subscription)

    def free_owner(self, key_hash: int, slot: int) -> Consumer | None:
        """The consumer that may be sent a newly read entry of the key now."""
        target = self.owner(slot)
        if target is None or not target.ready():
            return None
        if self.ordered and (key_hash in self.waiting_keys.keys or (self.nacked and key_hash in self.nacked)):
            return None
        return None if self.drains.active and self.drains.blocks(key_hash, slot) else target
