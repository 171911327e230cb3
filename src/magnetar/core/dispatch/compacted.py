"""Exclusive and Failover consumers that asked for it are given the compacted view first, then the topic behind it.

The view is a stream of its own (``compaction/state``). Where to begin in it is found by halving, over the offsets that
its entries name, and reads as it goes; from there on it is read like any stream. When another compaction has put a new
view into the place of the one being read, or the reading position was set elsewhere, the place is looked for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.compaction.state import Compacted, unpack
from magnetar.core.dispatch.single import SingleActive
from magnetar.core.entryinfo import COUNT, entry_count
from magnetar.core.source import READ_RETRY_MS, Source
from magnetar.core.tail import Tail
from magnetar.ports.log import ReadDone

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["CompactedActive"]


class _Reading:
    """A place in a view: ``at`` is the number of the entry that comes next, found for the offset ``begin``."""

    def __init__(self, subscription: Subscription, view: Compacted, begin: int) -> None:
        self.subscription: Subscription = subscription
        self.view: Compacted = view
        self.begin: int = begin
        self.at: int = 0
        self.high: int = view.entries if begin > 0 else 0
        self.finding: bool = False
        broker = subscription.topic.broker
        self.source: Source = Source(broker, subscription, view.stream, Tail(view.entries))

    def found(self) -> bool:
        """Whether the place is known; else it is being looked for, and the subscription is woken when it is."""
        if self.at < self.high and not self.finding:
            self.finding = True
            self._halve()
        return not self.finding

    def _halve(self) -> None:
        broker = self.subscription.topic.broker
        if self.at >= self.high:
            self.finding = False
            broker.wake(self.subscription)
            return
        broker.read(self.view.stream, (self.at + self.high) // 2, 1, 1, self._arrived)

    def _arrived(self, ticket: int, wanted: int, answer: ReadDone) -> None:
        if answer.error is not None:
            broker = self.subscription.topic.broker
            broker.timers.at(broker.now_ms + READ_RETRY_MS, self._halve)
            return
        entry = answer.entries[0] if answer.entries and answer.offset == wanted else None
        if entry is None or unpack(entry).offset < self.begin:
            self.at = wanted + 1
        else:
            self.high = wanted
        self._halve()


class CompactedActive(SingleActive):
    """See the module's text. A consumer that did not ask for the view is served as if there were none."""

    def __init__(self, subscription: Subscription, kind: str) -> None:
        super().__init__(subscription, kind)
        self.reading: _Reading | None = None
        self.read_out: bool = False
        """Whether a view was read to its end since reading began."""
        self.reading_next: int = -1
        """The reading position that ``reading`` has reached; any other means that somebody has set it."""

    def dispatch(self) -> None:
        consumer = self.current
        if consumer is not None and consumer.read_compacted and self.handover is None and not self._serve(consumer):
            return
        super().dispatch()

    def _serve(self, consumer: Consumer) -> bool:
        """Send from the view; whether there is nothing more of it to send."""
        sub = self.subscription
        topic, view = sub.topic, sub.topic.compaction.view
        # What retention has taken from the topic is in the view only: who has acknowledged nothing gets that too.
        whole = sub.durable and not self.read_out and self.read_next <= topic.first_offset
        if view is None or (self.read_next >= view.horizon and not whole):
            self.reading = None
            return True
        reading = self.reading
        if reading is None or reading.view is not view or self.reading_next != self.read_next:
            reading = self.reading = _Reading(sub, view, 0 if whole else self.read_next)
            self.reading_next = self.read_next
        if not reading.found():
            return False
        charged = sent = 0
        while reading.at < view.entries and consumer.ready():
            if not reading.source.load(reading.at, view.entries - reading.at):
                break
            if reading.source.entry:
                count = self._send(consumer, reading.source.entry)
                charged += count
                sent += count > 0
            reading.at += 1
        if sent:
            sub.sent(consumer, charged)
        if reading.at < view.entries:
            return False
        self.read_next = self.reading_next = max(self.read_next, view.horizon)
        self.read_out = True
        return True

    def _send(self, consumer: Consumer, packed: bytes) -> int:
        """Send an entry of the view, unless it is acknowledged; the messages that were charged."""
        sub = self.subscription
        kept = unpack(packed)
        left, offset = kept.left, kept.offset
        if offset >= sub.topic.first_offset:
            self.read_next = self.reading_next = max(self.read_next, offset + 1)
            if sub.acks.contains(offset):
                return 0
            left &= sub.acks.part(offset)
            if not left:
                return 0
        redeliveries = self.redelivered.get(offset, 0) if self.redelivered else 0
        count = entry_count(kept.entry) & COUNT
        partition = sub.topic.name.partition
        return consumer.send(kept.ledger, kept.number, kept.entry, count, left, redeliveries, partition)

    def counts_from(self) -> int:
        """Which entries of the view a consumer holds is not known, only that it has those behind it."""
        view = self.subscription.topic.compaction.view
        return view.horizon if view is not None else 0

    def _rewind(self) -> None:
        self.reading, self.read_out = None, False
        super()._rewind()

    def reset(self) -> None:
        super().reset()
        self.reading, self.read_out = None, False
