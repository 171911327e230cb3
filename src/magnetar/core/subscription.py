"""A subscription: a named cursor over a topic, the consumers on it, and a dispatcher of their kind.

The cursor is an ``AckSet``. What changes in it during a turn is noted here and written to the log as one delta in the
turn's commit (``write``); whoever wants to know that it is durable waits for that commit. A cursor that was touched by
a commit which failed is written whole in the next one.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

from magnetar.core.ackset import AckSet, delta_floor, delta_offsets, delta_parts
from magnetar.core.activity import activity_key, note_activity
from magnetar.core.batchmask import open_mask
from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.dispatch.choose import make_dispatcher
from magnetar.core.dispatch.gate import Gate, gate_of
from magnetar.core.history import JOINED, LEFT, History, note
from magnetar.core.requests.notices import end_of_topic
from magnetar.ports.log import Drop, Merge, Put, Record

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.topic import Topic
    from magnetar.wire.hot import Ack, MessageId

__all__ = ["CURSOR_HEAD", "CURSOR_VERSION", "Subscription", "cursor_key"]

CURSOR_HEAD = struct.Struct("<BI")
CURSOR_VERSION = 1


def cursor_key(name: str) -> bytes:
    """The state key of a durable cursor in its topic's stream."""
    return b"c" + name.encode("utf-8", "surrogatepass")


class Subscription:
    """See the module's text."""

    def __init__(self, topic: Topic, name: str, durable: bool, floor: int) -> None:
        self.topic: Topic = topic
        self.name: str = name
        self.durable: bool = durable
        self.acks: AckSet = AckSet(floor)
        self.properties: dict[str, str] = {}
        self.consumers: list[Consumer] = []
        self.history: History = History(topic.broker.options.history_events_max)
        self.kind: str = ""
        self.dispatcher: Dispatcher | None = None
        self.gate: Gate | None = None
        self.idle_since_ms: int = topic.broker.now_ms
        """Since when nobody is connected, 0 while somebody is."""
        self.fenced: bool = False
        self.deleted: bool = False
        self.awake: bool = False
        self.dirty: bool = False
        self.whole: bool = False
        self.new_offsets: list[int] = []
        self.new_parts: dict[int, int] = {}
        self.new_floor: int = -1
        self.out_of_order: bool = False
        self.sticky: bool = False
        self.messages_out: int = 0
        self.bytes_out: int = 0
        """Sent to consumers that have left; those that are there count their own."""
        self.acked_count: int = 0
        self.redelivered_count: int = 0
        self.expired_count: int = 0
        self.lost_count: int = 0
        self.last_acked_ms: int = 0
        self.last_sent_ms: int = 0
        self.last_flow_ms: int = 0
        self.last_moved_ms: int = 0
        self.last_expired_ms: int = 0
        self.gate = gate_of(self)

    # -- consumers -------------------------------------------------------------------------------------------------

    def use_kind(self, kind: str, sticky: bool, out_of_order: bool) -> None:
        """Make the dispatcher of ``kind``; only while nobody is connected."""
        self.kind, self.sticky, self.out_of_order = kind, sticky, out_of_order
        self.dispatcher = make_dispatcher(self, kind)

    def join(self, consumer: Consumer) -> None:
        """The consumer is connected; raises ConsumerAssignFailed when the selector has no place for it."""
        assert self.dispatcher is not None
        self.consumers.append(consumer)
        try:
            self.dispatcher.add(consumer)
        except Exception:
            self.consumers.remove(consumer)
            raise
        note(self, JOINED, consumer, self.dispatcher.share(consumer), 0)
        note_activity(self)
        self.topic.broker.wake(self)

    def leave(self, consumer: Consumer) -> None:
        """The consumer is gone; what it held waits for the others."""
        if consumer.closed:
            return
        consumer.closed = True
        self.consumers.remove(consumer)
        self.bytes_out += consumer.bytes_out
        if self.dispatcher is not None:
            slots, held = self.dispatcher.share(consumer), len(consumer.pending)
            self.dispatcher.remove(consumer)
            note(self, LEFT, consumer, slots, held)
        note_activity(self)
        self.topic.consumer_left(self)

    def dispatch(self) -> None:
        """Send what can be sent; called once at the end of a turn in which the subscription was woken."""
        if self.fenced or self.dispatcher is None or not self.consumers:
            return
        if self.gate is None:
            self.dispatcher.dispatch()
        else:
            self.gate.dispatch()
        if self.topic.terminated:
            self.tell_end()

    def sent(self, consumer: Consumer, messages: int) -> None:
        """The dispatcher has sent a run of entries to the consumer."""
        now = self.topic.broker.now_ms
        self.messages_out += messages
        self.last_sent_ms = now
        consumer.last_sent_ms = now
        if not consumer.first_sent_ms:
            consumer.first_sent_ms = now

    def tell_end(self) -> None:
        """When a terminated topic has nothing left here, every consumer hears of it once."""
        topic = self.topic
        if topic.terminated and not topic.pending_runs and self.acks.floor >= topic.tail.end:
            for consumer in self.consumers:
                if not consumer.end_told:
                    consumer.end_told = True
                    consumer.session.push(end_of_topic(consumer.id))

    # -- acknowledgement -------------------------------------------------------------------------------------------

    def ack_plain(self, consumer: Consumer, ledger: int, number: int) -> None:
        """The hot way: one whole entry, no answer wanted."""
        topic = self.topic
        offset = topic.ledgers.offset(ledger, number)
        if offset < 0 or offset >= topic.tail.end:
            return
        if self.acks.add(offset):
            self.new_offsets.append(offset)
            if not self.dirty:
                self.mark()
        dispatcher = self.dispatcher
        if dispatcher is not None:
            dispatcher.settle(consumer, offset)

    def ack(self, consumer: Consumer, ack: Ack) -> None:
        """Any other acknowledgement."""
        if ack.ack_type == 1:
            if len(ack.ids) == 1 and not (self.dispatcher is not None and self.dispatcher.tracks_pending):
                self._ack_cumulative(consumer, ack.ids[0])
            return
        for message_id in ack.ids:
            self._ack_one(consumer, message_id)

    def _ack_one(self, consumer: Consumer, message_id: MessageId) -> None:
        topic = self.topic
        offset = topic.ledgers.offset(message_id.ledger, message_id.entry)
        if offset < 0 or offset >= topic.tail.end:
            return
        words = message_id.ack_set
        if words and topic.broker.options.batch_index_ack:
            left = open_mask(topic, offset, words, self.acks.part(offset))
            if not self.acks.contains(offset):  # else it was skipped, and only the consumer's hands are emptied
                left = self.acks.keep_part(offset, left)
                self.mark()
                if left:
                    self.new_parts[offset] = left
                else:
                    self.new_offsets.append(offset)
            if self.dispatcher is not None and left:
                self.dispatcher.settle_part(consumer, offset, left)
            elif self.dispatcher is not None:
                self.dispatcher.settle(consumer, offset)
            return
        if words and any(words):
            return
        self.ack_plain(consumer, message_id.ledger, message_id.entry)

    def _ack_cumulative(self, consumer: Consumer, message_id: MessageId) -> None:
        topic = self.topic
        offset = topic.ledgers.offset(message_id.ledger, message_id.entry)
        if offset < 0:
            # An id that no message has, such as one before a ledger's first: what lies before it is acknowledged.
            end = topic.tail.end
            before = topic.ledgers.offset_from(message_id.ledger, message_id.entry, end)
            if before < end:
                self.move_floor(before)
            return
        if offset >= topic.tail.end:
            return
        words = message_id.ack_set
        if words and any(words):
            self.move_floor(offset)
            if topic.broker.options.batch_index_ack:
                left = self.acks.keep_part(offset, open_mask(topic, offset, words, self.acks.part(offset)))
                if left:
                    self.new_parts[offset] = left
                else:
                    self.new_offsets.append(offset)
                self.mark()
            return
        self.move_floor(offset + 1)

    def move_floor(self, floor: int) -> bool:
        """Everything below ``floor`` is acknowledged now."""
        if not self.acks.raise_floor(floor):
            return False
        self.new_floor = self.acks.floor
        if self.dispatcher is not None:
            self.dispatcher.settle_below(self.acks.floor)
        self.mark()
        return True

    def lose(self, offset: int) -> None:
        """The entry cannot be read any more; acknowledge it so that nothing waits for it."""
        self.lost_count += 1
        if self.acks.add(offset):
            self.new_offsets.append(offset)
            self.mark()

    def mark(self) -> None:
        """The cursor has changed in this turn."""
        if not self.dirty:
            self.dirty = True
            self.topic.broker.dirty.append(self)

    # -- the log ---------------------------------------------------------------------------------------------------

    def write(self, records: list[Record]) -> None:
        """Add what has changed since the last call to the turn's commit."""
        self.dirty = False
        now = self.topic.broker.now_ms
        self.last_moved_ms = now
        if self.new_offsets:
            self.last_acked_ms = now
            self.acked_count += len(self.new_offsets)
        if self.durable and not self.deleted:
            stream, key = self.topic.stream, cursor_key(self.name)
            if self.whole:
                records.append(Put(stream, key, self.encode()))
            else:
                if self.new_floor >= 0:
                    records.append(Merge(stream, key, delta_floor(self.new_floor)))
                if self.new_offsets:
                    records.append(Merge(stream, key, delta_offsets(self.new_offsets)))
                if self.new_parts:
                    records.append(Merge(stream, key, delta_parts(self.new_parts)))
            self.whole = False
        self.new_offsets, self.new_parts, self.new_floor = [], {}, -1
        if self.topic.terminated:
            self.topic.broker.wake(self)

    def write_whole(self) -> None:
        """The next commit carries the whole cursor."""
        self.whole = True
        self.mark()

    def drop(self, records: list[Record]) -> None:
        """The subscription is deleted."""
        self.deleted = True
        if self.durable:
            records.append(Drop(self.topic.stream, cursor_key(self.name)))
            records.append(Drop(self.topic.stream, activity_key(self.name)))

    def encode(self) -> bytes:
        """The cursor as a state value: version, properties, acknowledged set."""
        properties = json.dumps(self.properties, separators=(",", ":")).encode() if self.properties else b""
        return CURSOR_HEAD.pack(CURSOR_VERSION, len(properties)) + properties + self.acks.encode()

    # -- moving the cursor -----------------------------------------------------------------------------------------

    def seek(self, offset: int, left: int) -> None:
        """Everything from ``offset`` on is unacknowledged again; ``left`` (or -1) is what is open of its batch."""
        acks = AckSet(offset)
        if left > 0:
            acks.parts[offset] = left
        self.acks = acks
        self.new_offsets, self.new_parts, self.new_floor = [], {}, -1
        if self.dispatcher is not None:
            self.dispatcher.reset()
        self.write_whole()

    def backlog(self) -> int:
        """Entries that are not acknowledged."""
        return max(self.topic.tail.end - self.acks.floor - self.acks.above, 0)
