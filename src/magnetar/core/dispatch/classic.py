"""Key_Shared as Pulsar had it before draining (and before PIP-282): the rule of *recently joined consumers*.

Kept for those who must go back, and as a yardstick: it is known to break the contract of a key, and the checkers have
to find that out. Whoever joins while messages are out notes the reading position of that moment and gets nothing from
there on until everything before it was acknowledged. The rule speaks of positions, not of keys. Whatever lies before
that position and is not out goes to the newcomer while the former owner still holds an earlier message of the same
key: what waits for redelivery, and what was read and is about to be handed out. And when the oldest newcomer leaves,
the next one inherits what was kept from both.

Reading and handing out are two steps, as in Pulsar: what was read goes out ``READ_MS`` later. Entries that cannot be
sent then wait by their slot (``Waiting``), and so does whatever is read of the slot after them. Everything that waits
is looked at in every pass, lowest offset first.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from magnetar.core.dispatch.delaying import DUE_ENTRIES_MAX
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.waiting import Waiting
from magnetar.core.entryinfo import DELAYED
from magnetar.core.selector.ring import CLASSIC_RING_SLOTS
from magnetar.wire.hashing import murmur3
from magnetar.wire.metadata import sticky_key

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["READ_MS", "ClassicKeyShared"]

READ_MS = 1
_READ_ENTRIES = 100
_REPLAY_READ = 64
_NO_LIMIT = 1 << 62


class ClassicKeyShared(KeyedDispatcher):
    """The dispatcher of Key_Shared subscriptions with ``key_shared_classic``."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription, CLASSIC_RING_SLOTS)
        self.follows_selector = False
        self.waiting_slots: Waiting = Waiting()
        self.batch: list[tuple[int, bytes, int]] = []
        """Read and not handed out yet: offset, entry, count."""
        self.joined_at: dict[Consumer, int] = {}
        """Where reading stood when each consumer joined."""
        self.recent: dict[Consumer, int] = {}
        """Those that joined recently, in order of joining, and the offset from which on they get nothing yet."""

    # -- consumers come and go ---------------------------------------------------------------------------------------

    def add(self, consumer: Consumer) -> None:
        self.seat(consumer)
        self.joined_at[consumer] = self.read_next
        if self.ordered and len(self.subscription.consumers) > 1 and self.read_next > self.subscription.acks.floor:
            self.recent[consumer] = self.read_next

    def remove(self, consumer: Consumer) -> None:
        self.unseat(consumer)
        del self.joined_at[consumer]
        self.recent.pop(consumer, None)
        self.give_back_all(consumer)
        left = len(self.subscription.consumers)
        if left == 1:
            self.recent.clear()
        elif left == 0:
            self.forget_delayed()
            self.waiting_slots.clear()
            self.batch.clear()
            self.redelivered.clear()
            self.read_next = self.subscription.acks.floor
        self.subscription.topic.broker.wake(self.subscription)

    def reset(self) -> None:
        super().reset()
        self.waiting_slots.clear()
        self.batch.clear()
        self.recent.clear()

    # -- waiting -----------------------------------------------------------------------------------------------------

    def waiting(self) -> int:
        return self.waiting_slots.count

    def requeue(self, offset: int, key_hash: int) -> None:
        if not self.subscription.acks.contains(offset):
            self.waiting_slots.add(offset, self.selector.slot_of(key_hash))

    def unqueue(self, offset: int) -> None:
        slot = self.waiting_slots.find(offset)
        if slot >= 0:
            self.waiting_slots.remove(offset, slot)
        elif self.delayed is not None and all(offset != read for read, _, _ in self.batch):
            self.acked_unheld(offset)

    def settle(self, consumer: Consumer, offset: int) -> None:
        super().settle(consumer, offset)
        if self.recent:
            self.subscription.topic.broker.wake(self.subscription)

    def settle_below(self, floor: int) -> None:
        super().settle_below(floor)
        self.waiting_slots.drop_below(floor)
        self.subscription.topic.broker.wake(self.subscription)

    # -- sending -----------------------------------------------------------------------------------------------------

    def dispatch(self) -> None:
        if self.blocked:
            return
        self._forget_joins()
        if self.delayed is not None:
            self._take_due()
        self._serve_waiting()
        self._read()
        if self.delayed is not None:
            self.watch_delays()

    def _take_due(self) -> None:
        """Delayed entries whose time has come wait by their slots, as far as the look-ahead allows."""
        self.run_delays()
        room = min(self.look_ahead() - self.waiting_slots.count, DUE_ENTRIES_MAX)
        if self.delayed is not None and self.delayed.due and room > 0:
            for offset, key_hash in self.delayed.take(room, self.subscription.acks):
                self.waiting_slots.add(offset, self.selector.slot_of(key_hash))
            if self.delayed.due:
                self.put_off_left = 0  # there is more for the next turn

    def _forget_joins(self) -> None:
        """Whoever joined at or before the first unacknowledged entry is no newcomer any more."""
        floor = self.subscription.acks.floor
        for consumer in list(self.recent):
            if self.recent[consumer] > floor:
                return
            del self.recent[consumer]

    def _limit(self, consumer: Consumer, again: bool) -> int:
        """The offset from which on the consumer gets nothing; for what waited the oldest newcomer's limit counts."""
        limit = self.recent.get(consumer, _NO_LIMIT)
        if again and limit != _NO_LIMIT:
            limit = min(limit, next(iter(self.recent.values())))
        return limit

    def _serve_waiting(self) -> None:
        """Send what waits and may go, lowest offset first over all slots."""
        sub, waiting = self.subscription, self.waiting_slots
        heap = [(offsets[0], slot) for slot, offsets in waiting.keys.items() if self._may(slot, offsets[0], True)]
        heapq.heapify(heap)
        while heap and not self.blocked:
            offset, slot = heapq.heappop(heap)
            if sub.acks.contains(offset):
                waiting.remove(offset, slot)
            elif self._may(slot, offset, True):
                if not self.again.load(offset, _REPLAY_READ):
                    return
                waiting.remove(offset, slot)
                target = self.selector.select(slot)
                if not self.again.entry:
                    self.lose(offset)
                elif target is not None:
                    self._send(target, offset, self.again.entry, self.again.count)
            else:
                continue
            following = waiting.first(slot)
            if following >= 0:
                heapq.heappush(heap, (following, slot))

    def _may(self, slot: int, offset: int, again: bool) -> bool:
        """Whether the slot's owner may be sent the entry now."""
        target = self.selector.select(slot)
        return target is not None and target.ready() and offset < self._limit(target, again)

    def _read(self) -> None:
        """Read on as far as somebody can be served and few enough wait; from now on that is the reading position."""
        sub = self.subscription
        if self.batch or not self.any_ready():
            return
        end, most = sub.topic.tail.end, min(_READ_ENTRIES, self.look_ahead() - self.waiting_slots.count)
        while self.read_next < end and len(self.batch) < most:
            offset = self.read_next
            if not sub.acks.contains(offset):
                if not self.source.load(offset, end - offset):
                    break
                entry = self.source.entry
                if not (self.source.count & DELAYED and self.put_off(offset, entry, murmur3(sticky_key(entry)))):
                    self.batch.append((offset, entry, self.source.count))
            self.read_next = offset + 1
            if self.put_off_left <= 0:
                break
        if self.batch:
            broker = sub.topic.broker
            broker.timers.at(broker.now_ms + READ_MS, self._hand_out)

    def _hand_out(self) -> None:
        """Send each entry that was read to its slot's owner, or let it wait."""
        batch = self.batch
        self.batch = []
        self._forget_joins()
        for offset, entry, count in batch:
            if not self.subscription.acks.contains(offset):
                self._route(offset, entry, count)
        self.subscription.topic.broker.wake(self.subscription)

    def _route(self, offset: int, entry: bytes, count: int) -> None:
        if not entry:
            self.lose(offset)
            return
        slot = self.selector.slot_of(murmur3(sticky_key(entry)))
        target = self.selector.select(slot)
        free = not self.blocked and not (self.ordered and slot in self.waiting_slots.keys)
        if target is not None and free and self._may(slot, offset, False):
            self._send(target, offset, entry, count)
        else:
            self.waiting_slots.add(offset, slot)

    def _send(self, consumer: Consumer, offset: int, entry: bytes, count: int) -> None:
        self.subscription.sent(consumer, self.give(consumer, offset, murmur3(sticky_key(entry)), entry, count))
