"""One connection as the core sees it: bytes in, frames out, and the producers and consumers that live on it.

``receive`` is the hot loop. It takes all the bytes that have arrived and handles every whole frame among them in one
pass: the SENDs of each producer become one batch for its topic (``sending.py``), plain acknowledgements go straight to
the subscription, everything else goes through the table of requests. What is to be written collects in ``out``, and the
shell writes it once at the end of the turn.

The first command must be CONNECT, and until it was answered nothing else is accepted. A frame that cannot be read
closes the connection with a reason, because after it nothing that follows can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from magnetar.core.entryinfo import CHUNK, COUNT, DELAYED
from magnetar.core.liveness import heard
from magnetar.core.options import FRAME_PADDING_BYTES
from magnetar.core.requests.notices import close_consumer, close_producer
from magnetar.core.retired import Retired
from magnetar.core.sendcheck import problem_with, refuse_send
from magnetar.core.sending import SendBatch, Sending
from magnetar.core.throttled import admitted
from magnetar.core.timers import Timer
from magnetar.errors import MagnetarError
from magnetar.wire.commands import NAMES, UNSOLICITED_REQUEST_ID, encode, pb
from magnetar.wire.delivery import peek_deliver_at
from magnetar.wire.errors import WireError
from magnetar.wire.frames import next_frame
from magnetar.wire.hot import decode_ack, decode_flow, decode_plain_ack, decode_redeliver, decode_send, split
from magnetar.wire.replies import PONG_FRAME, ack_response

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from magnetar.core.broker import Broker
    from magnetar.core.consumer import Consumer
    from magnetar.core.producer import Producer
    from magnetar.wire.hot import Ack

__all__ = ["Session"]


_CONNECT: Final = 2
_SEND: Final = 6
_ACK: Final = 10
_FLOW: Final = 11
_PING: Final = 18
_PONG: Final = 19
_REDELIVER: Final = 20
_NOT_ALLOWED = 22
_FLAG_CHUNK: Final = 1
_FRAME_COST: Final = 40


class Session:
    """See the module's text."""

    def __init__(self, broker: Broker, number: int, address: str) -> None:
        self.broker: Broker = broker
        self.number: int = number
        self.address: str = address
        self.out: list[bytes] = []
        self.out_bytes: int = 0
        self.out_limit: int = broker.options.max_session_out_bytes
        self.entry_limit: int = broker.options.max_message_bytes + FRAME_PADDING_BYTES
        """Frames and entries are never larger."""
        self.paused: bool = False
        self.metered, self.held_until_ms = False, 0
        self.writable: bool = True
        self.dirty, self.closed = False, False
        self.closing: str = ""
        self.connected: bool = False
        self.pending: int = 0
        """Publishes that are not answered yet."""
        self.unwritten: int = 0  # receipts of non-persistent publishes that are not written yet
        self.producers: dict[int, Producer] = {}
        self.waiting: dict[int, Producer] = {}
        """Producers that wait to become exclusive; a SEND from one is a mistake."""
        self.consumers: dict[int, Consumer] = {}
        self.opening: dict[int, int] = {}
        """Producer and consumer ids (negative for consumers) whose opening is under way, with the request's id."""
        self.retired: Retired = Retired()
        """Producer ids closed lately, whose late SENDs are dropped in silence."""
        self.client_version: str = ""
        self.protocol_version: int = 0
        self.partial_producers: bool = False
        self.entry_metadata: bool = False
        """Whether the peer gets broker entry metadata."""
        self.connected_ms: int = broker.now_ms
        self.seen_ms: int = broker.now_ms
        self.pinged_ms: int = 0
        self.unheard: bool = False
        """The shell does not read what the peer says: its silence means nothing."""
        self.probes: list[Callable[[bool], None]] = []
        self.probe_timer: Timer | None = None

    # -- out -------------------------------------------------------------------------------------------------------

    def push(self, frame: bytes) -> None:
        """Send a frame at the end of the turn."""
        if not self.closed:
            self.out.append(frame)
            self.wrote(len(frame))

    def wrote(self, size: int) -> None:
        """Something was appended to ``out``."""
        self.out_bytes += size + _FRAME_COST
        if self.out_bytes >= self.out_limit:
            self.writable = False
        if not self.dirty:
            self.dirty = True
            self.broker.unflushed.append(self)

    def take_out(self) -> list[bytes]:
        """What is to be written now; the shell calls this once a turn."""
        out = self.out
        self.out = []
        self.out_bytes = 0
        self.unwritten = 0
        self.dirty = False
        if not self.writable and not self.paused:
            self.resume()
        return out

    def full(self) -> bool:
        """Whether requests wait for room or for a rate: what ``receive`` has left is to be given to it again."""
        return self.out_bytes >= self.out_limit or self.held_until_ms > self.broker.now_ms

    def pause(self) -> None:
        """The peer reads too slowly: send nothing more to its consumers for now."""
        self.paused = True
        self.writable = False

    def resume(self) -> None:
        """There is room again."""
        self.paused = False
        self.writable = True
        for consumer in self.consumers.values():
            self.broker.wake(consumer.subscription)
        self.broker.topic_lists.resumed(self)

    def reply(self, message: Message) -> None:
        self.push(encode(message))

    def error(self, request_id: int, error: Exception) -> None:
        """Answer a request with what went wrong."""
        code = error.code if isinstance(error, MagnetarError) else 0
        self.reply(pb.CommandError(request_id=request_id, error=code, message=str(error)))  # type: ignore[arg-type]

    def success(self, request_id: int) -> None:
        self.reply(pb.CommandSuccess(request_id=request_id))

    def answer(self, request_id: int, error: Exception | None) -> None:
        """Answer a request when it is known how it ended."""
        self.success(request_id) if error is None else self.error(request_id, error)

    def close(self, reason: str) -> None:
        """Write what is out and hang up."""
        if not self.closing and not self.closed:
            self.closing = reason
            self.broker.closing.append(self)

    def refuse(self, error: Exception) -> None:
        """Hang up with a reason that the client can read."""
        if not self.closing:
            self.error(UNSOLICITED_REQUEST_ID, error)
            self.close(str(error))

    # -- in --------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> int:
        """Handle the whole frames in ``data``; how many bytes they were.

        When answers have filled ``out`` it stops before the next request; see ``full``.
        """
        self.seen_ms = self.broker.now_ms
        if self.probes:
            heard(self, True)
        try:
            return self._receive(admitted(self, data) if self.metered else data)
        except WireError as error:
            self.refuse(error)
            return len(data)

    def _receive(self, data: bytes) -> int:
        end = len(data)
        at = 0
        limit = self.entry_limit
        producer: Producer | None = None
        sending, batch = Sending(), SendBatch()
        try:
            while True:
                command, payload, after = next_frame(data, at, end, limit)
                if after < 0:
                    return at
                kind, start, stop = split(data, command, payload)
                if self.out_bytes >= self.out_limit and kind != _SEND:
                    return at
                at = after
                if kind == _SEND and self.connected:
                    ident, sequence, count, highest, flags = decode_send(data, start, stop)
                    if producer is None or producer.id != ident:
                        producer = self.producers.get(ident)
                        if producer is None:
                            self._unknown_producer(ident)
                            if self.closing:
                                return end
                            continue
                        batch = sending.batch(producer)
                    entry = data[payload:after]
                    deliver_at = peek_deliver_at(entry)
                    problem = problem_with(producer, entry, flags, deliver_at)
                    if problem:
                        sending.flush()
                        batch = sending.batch(producer)
                        refuse_send(producer, max(sequence, highest), problem)
                        continue
                    batch.entries.append(entry)
                    count = min(max(count, 1), COUNT)
                    if flags & _FLAG_CHUNK or deliver_at:
                        count |= (CHUNK if flags & _FLAG_CHUNK else 0) | (DELAYED if deliver_at else 0)
                    batch.counts.append(count)
                    batch.sequences.append(sequence)
                    batch.highest.append(highest)
                    batch.size_bytes += after - payload
                    continue
                if sending.open:
                    sending.flush()
                    producer = None
                self._command(kind, data, start, stop)
                if self.closing:
                    return end
        finally:
            sending.flush()

    def _command(self, kind: int, data: bytes, start: int, stop: int) -> None:
        """Anything but SEND."""
        if kind == _ACK and self.connected:
            ident, ledger, number = decode_plain_ack(data, start, stop)
            if ident >= 0:
                consumer = self.consumers.get(ident)
                if consumer is not None:
                    consumer.acked += 1
                    consumer.last_acked_ms = self.broker.now_ms
                    consumer.subscription.ack_plain(consumer, ledger, number)
                return
            self._ack(decode_ack(data, start, stop))
        elif kind == _FLOW and self.connected:
            ident, permits = decode_flow(data, start, stop)
            consumer = self.consumers.get(ident)
            if consumer is not None and permits > 0:
                now = self.broker.now_ms
                consumer.flowed(permits, now)
                consumer.subscription.last_flow_ms = now
                self.broker.wake(consumer.subscription)
        elif kind == _PING:
            self.push(PONG_FRAME)
        elif kind == _PONG:
            pass
        elif kind == _REDELIVER and self.connected:
            self._redeliver(data, start, stop)
        elif self.connected or kind == _CONNECT:
            self.broker.handle(self, kind, data, start, stop)
        else:
            raise WireError(f"the first command must be CONNECT, not {NAMES.get(kind, kind)}")

    def _unknown_producer(self, ident: int) -> None:
        """A SEND for an id that was closed a moment ago is late; for any other id it is a mistake."""
        if not self.retired.holds(ident, self.broker.now_ms) and ident not in self.opening:
            raise WireError(f"SEND for producer {ident}, which is not open on this connection")

    def _ack(self, ack: Ack) -> None:
        consumer = self.consumers.get(ack.consumer_id)
        if consumer is None:
            if ack.request_id >= 0:
                self.push(ack_response(ack.consumer_id, ack.request_id, 13, "this consumer is not open here"))
            return
        if ack.has_txn:
            self.push(ack_response(ack.consumer_id, max(ack.request_id, 0), _NOT_ALLOWED, "no transactions here"))
            return
        consumer.acked += len(ack.ids)
        consumer.last_acked_ms = self.broker.now_ms
        consumer.subscription.ack(consumer, ack)
        if ack.request_id >= 0:
            ident, request = ack.consumer_id, ack.request_id

            def answer(error: Exception | None) -> None:
                code, text = (-1, "") if error is None else (2, str(error))
                self.push(ack_response(ident, request, code, text))

            self.broker.commit.after.append(answer)

    def _redeliver(self, data: bytes, start: int, stop: int) -> None:
        request = decode_redeliver(data, start, stop)
        consumer = self.consumers.get(request.consumer_id)
        dispatcher = consumer.subscription.dispatcher if consumer is not None else None
        if consumer is None or dispatcher is None:
            return
        sub = consumer.subscription
        if not request.ids:
            if request.epoch >= 0 and not dispatcher.tracks_pending:
                consumer.epoch = request.epoch
            dispatcher.redeliver_all(consumer)
            return
        ledgers = sub.topic.ledgers
        offsets = [ledgers.offset(message_id.ledger, message_id.entry) for message_id in request.ids]
        end = sub.topic.tail.end
        known = [offset for offset in offsets if 0 <= offset < end]
        dispatcher.redeliver(consumer, known)
        sub.redelivered_count += len(known)

    # -- the end -------------------------------------------------------------------------------------------------------

    def ended(self) -> None:
        """The connection is gone: everything on it leaves."""
        self.closed, self.writable = True, False
        self.out = []
        for consumer in list(self.consumers.values()):
            consumer.subscription.leave(consumer)
        self.consumers.clear()
        self.broker.topic_lists.ended(self)
        self.opening.clear()
        for producer in list(self.waiting.values()) + list(self.producers.values()):
            self.broker.close_producer(producer)
        heard(self, False)

    def retire(self, producer_id: int) -> None:
        """SENDs for this producer may be on their way still."""
        self.retired.add(producer_id, self.broker.now_ms, self.broker.options.keep_alive_ms)

    def drop_producer(self, producer: Producer) -> None:
        """The broker closes a producer; the client will come back by itself."""
        self.push(close_producer(producer.id))
        self.broker.close_producer(producer)

    def drop_consumer(self, consumer: Consumer) -> None:
        """The broker closes a consumer; the client will come back by itself."""
        if self.consumers.get(consumer.id) is consumer:
            del self.consumers[consumer.id]
            self.push(close_consumer(consumer.id))
        consumer.subscription.leave(consumer)
