"""A simulated client connection: it speaks frames, and writes into the book what they mean.

Requests are answered exactly once. What the peer says may lag: then it waits in ``outbox`` until it is delivered, and
is lost when the connection is. Answers and messages from the broker are looked at when they leave it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from magnetar.sim.book import Author, Delivery, Holder, Sent, Violation
from magnetar.sim.rules import DELIVERY_RULES, judge_receipt
from magnetar.wire.commands import decode_body, encode, pb
from magnetar.wire.entry import seal
from magnetar.wire.frames import next_frame, payload_frame
from magnetar.wire.hot import split
from magnetar.wire.replies import PONG_FRAME

if TYPE_CHECKING:
    from magnetar.sim.scenario import Place
    from magnetar.sim.world import World

__all__ = ["Peer"]

_FRAME_MAX = 1 << 24
_KINDS = ("Exclusive", "Shared", "Failover", "Key_Shared")
_MESSAGE, _RECEIPT, _SEND_ERROR, _PING = 9, 7, 8, 18
_CLOSE_PRODUCER, _CLOSE_CONSUMER, _ACTIVE, _END = 15, 16, 31, 27

Answer = Callable[[Any], None]


class Peer:
    """See the module's text."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.number = world.peer_count
        world.peer_count += 1
        self.session = world.core.connect(f"/sim:{self.number}")
        self.ids = 0
        self.requests: dict[int, Answer] = {}
        self.consumers: dict[int, Holder] = {}
        self.opening: dict[int, str] = {}
        """Consumer ids whose SUBSCRIBE is not answered, with the name of the subscription."""
        self.told_active: dict[int, bool] = {}
        self.producers: dict[int, Author] = {}
        self.producing: dict[str, int] = {}
        """Names of authors whose producer is open here or being opened, with its id."""
        self.ready: dict[int, bool] = {}
        self.outbox: deque[tuple[bytes, Callable[[], None] | None]] = deque()
        self.lagging = False
        self.ghost = False
        self.slow = False
        self.may_be_closed = False
        self.broken = False
        world.peers.append(self)
        world.say(self, encode(pb.CommandConnect(client_version="sim", protocol_version=21)))

    # -- out ---------------------------------------------------------------------------------------------------------

    def say(self, data: bytes, before: Callable[[], None] | None = None) -> None:
        """Send bytes, now or when they are delivered."""
        if self.ghost:
            return
        if self.lagging or self.outbox:
            self.outbox.append((data, before))
        else:
            self.world.say(self, data, before)

    def deliver(self, count: int) -> None:
        """Some of what is on its way arrives."""
        while count > 0 and self.outbox and self in self.world.peers:
            count -= 1
            data, before = self.outbox.popleft()
            self.world.say(self, data, before)

    def ask(self, message: Any, answer: Answer, before: Callable[[], None] | None = None) -> None:
        """Send a request whose answer goes to ``answer``."""
        self.ids += 1
        message.request_id = self.ids
        self.requests[self.ids] = answer
        self.say(encode(message), before)

    def lost(self) -> None:
        """The connection is gone, and with it all that lived on it."""
        for holder in list(self.consumers.values()):
            holder.sub.gone(holder)
        self.consumers.clear()

    # -- in ----------------------------------------------------------------------------------------------------------

    def heard(self, data: bytes) -> None:
        """Frames have left the broker for this peer."""
        at, end = 0, len(data)
        while at < end:
            start, stop, after = next_frame(data, at, end, _FRAME_MAX)
            if after < 0:
                raise Violation("frames", "the broker wrote half a frame")
            kind, body, body_end = split(data, start, stop)
            message: Any = decode_body(kind, data, body, body_end)
            at = after
            if kind == _MESSAGE:
                self._message(message, data[stop:after])
            elif kind == _RECEIPT:
                self._receipt(message)
            elif kind == _PING:
                self.say(PONG_FRAME)
            elif kind == _CLOSE_CONSUMER:
                holder = self.consumers.pop(message.consumer_id, None)
                if holder is not None:
                    holder.sub.gone(holder)
            elif kind == _CLOSE_PRODUCER:
                self._producer_closed(message.producer_id)
            elif kind == _ACTIVE:
                self._active(message.consumer_id, message.is_active)
            elif kind == _SEND_ERROR:
                # As the official clients do: connect anew, and send again whatever has no receipt.
                self.broken = True
                self.world.broken.append(self)
            elif kind != _END:
                self._answered(message)

    def _answered(self, message: Any) -> None:
        if not hasattr(message, "request_id"):
            return  # CONNECTED, PONG
        answer = self.requests.pop(message.request_id, None)
        if answer is not None:
            answer(message)
        elif not self.may_be_closed:
            raise Violation("answers", f"peer {self.number} got an answer that it never asked for: {message}")

    def _message(self, message: Any, entry: bytes) -> None:
        world = self.world
        holder = self.consumers.get(message.consumer_id)
        if holder is None:
            raise Violation(
                "deliveries", f"peer {self.number} got a message for consumer {message.consumer_id}, which it has not"
            )
        sub = holder.sub
        place = (message.message_id.ledgerId, message.message_id.entryId)
        core_topic = world.core.topics[sub.topic.name]
        offset = core_topic.ledgers.offset(*place)
        mask = -1
        for at, word in enumerate(message.ack_set):
            mask = (0 if mask < 0 else mask) | (word & ((1 << 64) - 1)) << 64 * at
        delivery = Delivery(holder, place, offset, world.by_entry.get(entry), mask, message.redelivery_count)
        policies = core_topic.policies
        limits = {
            "max_unacked_per_consumer": policies.max_unacked_per_consumer,
            "max_unacked_per_subscription": policies.max_unacked_per_subscription,
            "nack_order": world.options.key_shared_nack_order,
            "batch_max": world.scenario.batch_max,
        }
        if not sub.place.durable:
            sub.excused = max(sub.excused, core_topic.first_offset)
        if sub.turn != world.flushes:
            sub.turn = world.flushes
            sub.unacked_before = sum(one.unacked for one in sub.holders)
        for rule in DELIVERY_RULES[sub.place.kind]:
            rule(delivery, limits)
        holder.permits -= delivery.count
        holder.last = offset
        holder.said.pop(offset, None)
        sub.hold(holder, offset, delivery.count)
        world.deliveries += 1

    def _active(self, ident: int, active: bool) -> None:
        self.told_active[ident] = active
        holder = self.consumers.get(ident)
        if holder is not None:
            holder.active = active
            holder.last = -1
            if active:
                for other in holder.sub.holders:
                    if other is not holder and other.active:
                        # The notices of one change reach several connections; the earlier active one hears of it too.
                        other.active = False
                        other.last = -1

    # -- producers ---------------------------------------------------------------------------------------------------

    def open_producer(self, author: Author) -> None:
        """Open a producer under the author's name; when it is open, what was not answered is sent again."""
        self.ids += 1
        ident = self.ids
        self.producing[author.name] = ident

        def opened(message: Any) -> None:
            if isinstance(message, pb.CommandProducerSuccess):
                if self.producing.get(author.name) == ident:
                    self.producers[ident] = author
                    self._send(ident, list(author.unanswered))
            elif self.producing.get(author.name) == ident:
                del self.producing[author.name]

        topic = f"persistent://public/default/{author.topic}"
        self.ask(pb.CommandProducer(topic=topic, producer_id=ident, producer_name=author.name), opened)

    def publish(self, author: Author, fresh: list[Sent]) -> None:
        """Send new entries of an author whose producer is open here."""
        author.unanswered.extend(fresh)
        self._send(self.producing[author.name], fresh)

    def _send(self, ident: int, entries: list[Sent]) -> None:
        if entries:
            self.say(b"".join(_send_frame(ident, sent) for sent in entries))

    def close_producer(self, author: Author) -> None:
        ident = self.producing.pop(author.name)
        self.producers.pop(ident, None)
        self.ask(pb.CommandCloseProducer(producer_id=ident), _whatever)

    def _producer_closed(self, ident: int) -> None:
        author = self.producers.pop(ident, None)
        if author is not None:
            del self.producing[author.name]

    def _receipt(self, message: Any) -> None:
        author = self.producers.get(message.producer_id)
        if author is None or self.broken:
            return
        if not author.unanswered or author.unanswered[0].sequence != message.sequence_id:
            raise Violation("receipts", f"{author.name} got a receipt for {message.sequence_id} out of turn")
        sent = author.unanswered.popleft()
        place = (message.message_id.ledgerId, message.message_id.entryId)
        name = f"persistent://public/default/{author.topic}"
        core_topic = self.world.core.topics[name]
        topic = self.world.topic_of(core_topic.stream)
        offset = core_topic.ledgers.offset(*place) if place[0] < 1 << 63 else -1
        judge_receipt(topic, author, sent, place, offset, self.world.options.deduplication)

    # -- consumers ---------------------------------------------------------------------------------------------------

    def subscribe(self, place: Place, name: str, ranges: list[tuple[int, int]] | None, latest: bool) -> None:
        self.ids += 1
        ident = self.ids
        message = pb.CommandSubscribe(
            topic=f"persistent://public/default/{place.topic}",
            subscription=place.name,
            subType=_KINDS.index(place.kind),  # type: ignore[arg-type]
            consumer_id=ident,
            consumer_name=name,
            initialPosition=0 if latest else 1,  # type: ignore[arg-type]
            durable=place.durable,
        )
        if place.kind == "Key_Shared":
            message.keySharedMeta.keySharedMode = 1 if place.sticky else 0  # type: ignore[assignment]
            message.keySharedMeta.allowOutOfOrderDelivery = place.out_of_order
            for first, last in ranges or ():
                message.keySharedMeta.hashRanges.add(start=first, end=last)
        self.opening[ident] = place.name

        def answered(reply: Any) -> None:
            del self.opening[ident]
            if isinstance(reply, pb.CommandSuccess):
                sub = self.world.new_sub(place)
                holder = Holder(sub, self.number, ident, name)
                holder.active = self.told_active.get(ident, False)
                self.consumers[ident] = holder
                sub.holders.append(holder)

        self.ask(message, answered)

    def flow(self, holder: Holder, permits: int) -> None:
        def before() -> None:
            if not holder.closed:
                holder.permits += permits

        self.say(encode(pb.CommandFlow(consumer_id=holder.id, messagePermits=permits)), before)

    def ack(self, holder: Holder, offsets: list[int], receipt: bool) -> None:
        """Acknowledge whole entries."""
        message = pb.CommandAck(consumer_id=holder.id, ack_type=0)  # type: ignore[arg-type]
        for offset in offsets:
            self._name(message.message_id.add(), holder, offset)

        def before() -> None:
            if not holder.closed:
                for offset in offsets:
                    holder.sub.ack(offset)

        self._ack(message, holder, offsets, receipt, before)

    def ack_to(self, holder: Holder, last: int, receipt: bool) -> None:
        """Acknowledge everything up to ``last``."""
        message = pb.CommandAck(consumer_id=holder.id, ack_type=1)  # type: ignore[arg-type]
        self._name(message.message_id.add(), holder, last)
        sub = holder.sub

        def before() -> None:
            if not holder.closed:
                for offset in range(sub.start, last + 1):
                    sub.ack(offset)

        self._ack(message, holder, [last], receipt, before)

    def ack_part(self, holder: Holder, offset: int, mask: int) -> None:
        """Acknowledge those messages of a batch whose bits are not in the mask."""
        message = pb.CommandAck(consumer_id=holder.id, ack_type=0)  # type: ignore[arg-type]
        place = message.message_id.add()
        self._name(place, holder, offset)
        place.ack_set.append(mask)
        sub = holder.sub

        def before() -> None:
            if holder.closed or (mask and not self.world.options.batch_index_ack):
                return
            if offset in sub.acked:
                return
            left = sub.parts.get(offset, (1 << sub.topic.log[offset].count) - 1) & mask
            if left:
                sub.parts[offset] = left
                for other in sub.holders:
                    if offset in other.held:
                        sub.hold(other, offset, left.bit_count())
            else:
                sub.ack(offset)

        self.say(encode(message), before)

    def _ack(self, message: Any, holder: Holder, offsets: list[int], receipt: bool, before: Callable[[], None]) -> None:
        if not receipt:
            self.say(encode(message), before)
            return
        sub = holder.sub

        def durable(reply: Any) -> None:
            if reply.HasField("error") or not sub.place.durable or sub.moving:
                return
            unsure = [offset for offset in offsets if offset in sub.acked and offset not in sub.sure]
            early = [offset for offset in unsure if offset >= sub.floor_sure]
            if early:
                raise Violation("durable_first", f"acknowledgements of {early} have a receipt and are not durable")

        self.ask(message, durable, before)

    def give_back(self, holder: Holder, offsets: list[int] | None) -> None:
        """Ask for entries again, or for everything."""
        message = pb.CommandRedeliverUnacknowledgedMessages(consumer_id=holder.id)
        for offset in offsets or ():
            self._name(message.message_ids.add(), holder, offset)

        def before() -> None:
            if holder.closed:
                return
            if holder.sub.place.kind in ("Shared", "Key_Shared"):
                for offset in list(holder.held) if offsets is None else offsets:
                    holder.sub.give_back(holder, offset)
            else:
                holder.last = -1

        self.say(encode(message), before)

    def close_consumer(self, holder: Holder) -> None:
        holder.leaving = True

        def before() -> None:
            self.consumers.pop(holder.id, None)
            holder.sub.gone(holder)

        self.ask(pb.CommandCloseConsumer(consumer_id=holder.id), _whatever, before)

    def unsubscribe(self, holder: Holder) -> None:
        world, sub = self.world, holder.sub

        def answered(reply: Any) -> None:
            if isinstance(reply, pb.CommandSuccess):
                world.drop_sub(sub)

        def before() -> None:
            sub.leaving = True

        self.ask(pb.CommandUnsubscribe(consumer_id=holder.id), answered, before)

    def seek(self, holder: Holder, offset: int, published_ms: int) -> None:
        """Set the cursor to an entry, or to a time when ``offset`` is below zero."""
        sub = holder.sub
        message = pb.CommandSeek(consumer_id=holder.id)
        if offset >= 0:
            self._name(message.message_id, holder, offset)
        else:
            message.message_publish_time = published_ms

        def before() -> None:
            if not holder.closed and not sub.leaving:
                sub.moving = True

        def answered(reply: Any) -> None:
            if isinstance(reply, pb.CommandSuccess) and sub.place.durable and sub.moved:
                raise Violation("durable_first", f"the cursor of {sub.place.name} is set, and that is not durable")

        self.ask(message, answered, before)

    def _name(self, message: Any, holder: Holder, offset: int) -> None:
        """Write the id of an entry."""
        message.ledgerId, message.entryId = holder.sub.topic.ids[offset]


def _whatever(message: Any) -> None:
    """Any answer will do."""


def _send_frame(ident: int, sent: Sent) -> bytes:
    command = pb.CommandSend(producer_id=ident, sequence_id=sent.sequence, num_messages=sent.count)
    if sent.count > 1:
        command.highest_sequence_id = sent.sequence + sent.count - 1
    base = pb.BaseCommand(type=pb.BaseCommand.Type.SEND, send=command)
    return payload_frame(base.SerializeToString(), sent.entry)


def make_entry(sent: Sent) -> bytes:
    """The bytes of an entry, which no other entry has."""
    metadata = pb.MessageMetadata(
        producer_name=sent.author.name, sequence_id=sent.sequence, publish_time=sent.published_ms
    )
    metadata.partition_key = sent.key
    if sent.count > 1:
        metadata.num_messages_in_batch = sent.count
    return seal(metadata.SerializeToString(), b"%d" % sent.number)
