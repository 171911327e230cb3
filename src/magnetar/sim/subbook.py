"""The book of a subscription: what is open, what is acknowledged and how surely, and who holds what."""

from __future__ import annotations

from magnetar.core.ackset import AckSet
from magnetar.sim.book import Holder, Sent, TopicBook
from magnetar.sim.scenario import Place

__all__ = ["Delivery", "SubBook"]


class SubBook:
    """A subscription as its consumers know it."""

    def __init__(self, topic: TopicBook, place: Place, start: int) -> None:
        self.topic = topic
        self.place = place
        self.start = start
        self.holders: list[Holder] = []
        self.acked: set[int] = set()
        """Said to be acknowledged since the cursor was last set, and before a crash if that was durable."""
        self.sure: set[int] = set()
        """Of these, what must survive a crash."""
        self.unsure: list[int] = []
        self.in_flight: list[int] = []
        self.floor_in_flight = self.floor_sure = start
        """Where the cursor's floor stood when the last commit was handed over, and the last one that became durable."""
        self.excused = start
        """Below this the broker may call things acknowledged without having been told: skipped, expired."""
        self.parts: dict[int, int] = {}
        """Batches of which some messages are acknowledged: a mask of those that are not."""
        self.open: dict[str, list[int]] = {}
        """By key, the durable offsets that may be unacknowledged, in order."""
        self.key_holders: dict[str, dict[Holder, int]] = {}
        """Who holds how many entries of a key."""
        self.nacked: dict[str, set[int]] = {}
        """By key, what was given back and is not acknowledged."""
        self.single: dict[str, int] = {}
        """The one entry of such a key that was delivered since."""
        self.leaving = False
        """Somebody has asked to take the subscription away."""
        self.older_ms = 0
        """The broker was told to give up what was published before; finding it may take it a while."""
        self.turn = -1
        self.unacked_before = 0
        """Messages unacknowledged before the frames that are looked at now."""
        self.moving = False
        """A seek is under way; the cursor may be set anew at any moment."""
        self.moved = self.moved_in_flight = False
        """The cursor was set, and that is not durable; the commit that was handed over has it."""
        self.acks: AckSet | None = None
        """The broker's own set; when it is another one, the cursor was set."""

    def append(self, offset: int, key: str) -> None:
        """A durable entry has come."""
        if offset >= self.start:
            self.open.setdefault(key, []).append(offset)

    def hold(self, holder: Holder, offset: int, count: int) -> None:
        """The entry was delivered."""
        if offset not in holder.held:
            held = self.key_holders.setdefault(self.topic.log[offset].key, {})
            held[holder] = held.get(holder, 0) + 1
        else:
            holder.unacked -= holder.held[offset]
        holder.held[offset] = count
        holder.unacked += count

    def release(self, holder: Holder, offset: int) -> None:
        """The entry is no longer in the consumer's hands."""
        count = holder.held.pop(offset, -1)
        if count < 0:
            return
        holder.unacked -= count
        key = self.topic.log[offset].key
        held = self.key_holders[key]
        held[holder] -= 1
        if not held[holder]:
            del held[holder]
            if not held:
                del self.key_holders[key]

    def ack(self, offset: int) -> None:
        """The whole entry is acknowledged."""
        if offset not in self.acked:
            self.acked.add(offset)
            self.unsure.append(offset)
        self.parts.pop(offset, None)
        key = self.topic.log[offset].key
        if key in self.nacked:
            self.nacked[key].discard(offset)
            if not self.nacked[key]:
                del self.nacked[key]
        for holder in self.holders:
            if offset in holder.held:
                self.release(holder, offset)

    def give_back(self, holder: Holder, offset: int) -> None:
        """The consumer wants the entry to be delivered again."""
        if offset in holder.held:
            self.release(holder, offset)
            if offset not in self.acked:
                self.nacked.setdefault(self.topic.log[offset].key, set()).add(offset)

    def is_open(self, offset: int) -> bool:
        """Whether the entry is not done with: neither acknowledged, nor given up, nor lost."""
        return offset not in self.acked and offset >= self.excused and offset not in self.topic.damaged

    def take_over(self, acks: AckSet) -> None:
        """The cursor is what the broker says it is: after it was set, and after a crash."""
        topic = self.topic
        self.acks = acks
        self.start = self.excused = max(acks.floor, topic.first)
        self.floor_in_flight = self.floor_sure = 0
        everything = range(self.start, len(topic.log))
        self.acked = {offset for offset in everything if acks.contains(offset)}
        self.sure = set(self.acked)
        self.unsure, self.in_flight = [], []
        self.parts = dict(acks.parts)
        self.open = {}
        for offset in everything:
            if offset not in self.acked:
                self.append(offset, topic.log[offset].key)
        self.nacked, self.single = {}, {}
        self.excuse_older(self.older_ms)

    def excuse_older(self, before_ms: int) -> None:
        """The broker may give up what was published before the given time."""
        self.older_ms = max(self.older_ms, before_ms)
        log = self.topic.log
        for offset in range(len(log) - 1, self.excused - 1, -1):
            if log[offset].published_ms < self.older_ms:
                self.excused = offset + 1
                return

    def gone(self, holder: Holder) -> None:
        """The consumer has left, or was sent away."""
        if holder.closed:
            return
        holder.closed = True
        for offset in list(holder.held):
            self.release(holder, offset)
        self.holders.remove(holder)
        if not self.holders:
            self.nacked, self.single = {}, {}
            if not self.place.durable:
                # A reader's cursor ends with it, or is held over a seek; either way the next one begins anew.
                self.end()

    def end(self) -> None:
        """Nobody speaks of this subscription any more; there may be another of the same name already."""
        if self.topic.subs.get(self.place.name) is self:
            del self.topic.subs[self.place.name]


class Delivery:
    """A MESSAGE that has left the broker."""

    __slots__ = ("count", "epoch", "holder", "mask", "offset", "place", "redeliveries", "sent", "sub")

    def __init__(
        self,
        holder: Holder,
        place: tuple[int, int],
        offset: int,
        sent: Sent | None,
        mask: int,
        redeliveries: int,
        epoch: int,
    ) -> None:
        self.holder = holder
        self.sub = holder.sub
        self.place = place
        self.offset = offset
        self.sent = sent
        """Which message these bytes are; None if nobody published them."""
        self.mask = mask
        """The open messages of a partly acknowledged batch, -1 when all of it is open."""
        self.redeliveries = redeliveries
        self.epoch = epoch
        count = sent.count if sent is not None else 1
        self.count = count if mask < 0 else min(mask.bit_count(), count)
