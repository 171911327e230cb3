"""Skimming: serving idle consumers when so much waits that reading on has stopped.

With the look-ahead full of entries for consumers that cannot take them, the others would starve. Skimming reads ahead
from there: what is free is sent and marked; what is not is *passed over*, remembered only as one bit for its slot, so
that nothing of that slot overtakes it. Reading proper comes back to everything that was passed when there is room
again, and leaves out what is marked.

When something becomes free that may have been passed over (a drain has ended, a consumer has permits again), skimming
starts anew from the reading position, at most every ``AGAIN_MS``, and never further ahead than ``AHEAD_MAX`` entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.ackset import AckSet
from magnetar.core.entryinfo import DELAYED
from magnetar.wire.hashing import murmur3
from magnetar.wire.metadata import sticky_key

if TYPE_CHECKING:
    from magnetar.core.dispatch.keyshared import KeyShared

__all__ = ["AGAIN_MS", "AHEAD_MAX", "Skim"]

AHEAD_MAX = 20_000
AGAIN_MS = 50
_SLOTS = 65_537


class Skim:
    """See the module's text; lives in a ``KeyShared`` from the first skimming until reading has caught up."""

    def __init__(self, dispatcher: KeyShared) -> None:
        self.dispatcher: KeyShared = dispatcher
        self.marked: AckSet = AckSet(dispatcher.read_next)
        self.top: int = -1
        """The highest entry that is marked."""
        self.next: int = dispatcher.read_next
        self.passed: bytearray = bytearray(_SLOTS)
        self.starved: dict[int, bool] = {}
        """Numbers of the sessions whose consumers were passed over for want of permits."""
        self.stale: bool = False
        self.waits: bool = False
        self.last_ms: int = dispatcher.subscription.topic.broker.now_ms

    def took(self, offset: int) -> bool:
        """Whether the entry was sent while skimming. Asked in ascending order by reading proper."""
        if offset >= self.top and offset + 1 >= self.next:
            self.dispatcher.skim = None
        return self.marked.contains(offset)

    def again(self) -> None:
        """Something passed over may be free now."""
        self.stale = True

    def run(self, end: int) -> None:
        """Skim on, or anew."""
        dispatcher = self.dispatcher
        broker = dispatcher.subscription.topic.broker
        for consumer in dispatcher.subscription.consumers:
            if consumer.session.number in self.starved and consumer.ready():
                self.stale = True
        if self.stale:
            if broker.now_ms < self.last_ms + AGAIN_MS:
                if not self.waits:
                    self.waits = True
                    broker.timers.at(self.last_ms + AGAIN_MS, self._wake)
                return
            self.stale = False
            self.last_ms = broker.now_ms
            self.next = dispatcher.read_next
            self.passed = bytearray(_SLOTS)
            self.starved.clear()
        # Reading proper may have gone past the place where skimming was to begin anew.
        self.next = max(self.next, dispatcher.read_next)
        last = min(end, dispatcher.read_next + AHEAD_MAX)
        ready = True
        while self.next < last and ready and not dispatcher.blocked:
            offset = self.next
            if not dispatcher.subscription.acks.contains(offset) and not self.marked.contains(offset):
                if not dispatcher.source.load(offset, last - offset):
                    return
                if dispatcher.source.entry:
                    ready = self._offer(offset, dispatcher.source.entry)
            self.next = offset + 1

    def _wake(self) -> None:
        self.waits = False
        self.dispatcher.subscription.topic.broker.wake(self.dispatcher.subscription)

    def _offer(self, offset: int, entry: bytes) -> bool:
        """Send the entry if it is free; whether any consumer can still be served."""
        dispatcher = self.dispatcher
        key_hash = murmur3(sticky_key(entry))
        slot = dispatcher.selector.slot_of(key_hash)
        if dispatcher.source.count & DELAYED and dispatcher.put_off(offset, entry, key_hash):
            self.marked.add(offset)
            return dispatcher.put_off_left > 0
        target = None if self.passed[slot] else dispatcher.free_owner(key_hash, slot)
        if target is None:
            self.passed[slot] = 1
            owner = dispatcher.owner(slot)
            if owner is not None and not owner.ready():
                self.starved[owner.session.number] = True
            return True
        self.marked.add(offset)
        self.top = max(self.top, offset)
        count = dispatcher.give(target, offset, key_hash, entry, dispatcher.source.count)
        dispatcher.subscription.sent(target, count)
        return target.ready() or dispatcher.any_ready()
