"""A small blocking client that speaks the Pulsar wire protocol by hand, for tests that must see or send single frames.

    with WireClient.open("pulsar://127.0.0.1:6650") as wire:
        wire.subscribe("persistent://public/default/t", "s", consumer_id=1)
        wire.flow(1, 10)
        delivery = wire.message()
        wire.ack(1, [delivery.id], request=True)

Frames that a call does not wait for are kept in the order of their arrival in `pending`, so that a test may ask for a
receipt first and for the message that came before it afterwards. A PING of the broker is answered on the fly.
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from urllib.parse import urlsplit

from tests.support.wirecodec import Command, Delivery, Fields, Frame, Id, SubType, Value, frame, payload

PROTOCOL_VERSION = 21
FRAME_BYTES_MAX = 64 * 1024 * 1024
WAIT_SECONDS = 10.0

# Where each reply carries the id of its request, and where a reply may carry an error code and its text.
_REQUEST_ID_FIELD = {
    Command.WATCH_TOPIC_LIST_SUCCESS: 1,
    Command.SUCCESS: 1,
    Command.ERROR: 1,
    Command.PRODUCER_SUCCESS: 1,
    Command.PARTITIONS_RESPONSE: 2,
    Command.LOOKUP_RESPONSE: 4,
    Command.CONSUMER_STATS_RESPONSE: 1,
    Command.GET_LAST_MESSAGE_ID_RESPONSE: 2,
    Command.GET_TOPICS_RESPONSE: 1,
    Command.ACK_RESPONSE: 6,
}
_ERROR_FIELDS = {
    Command.ERROR: (2, 3),
    Command.SEND_ERROR: (3, 4),
    Command.PARTITIONS_RESPONSE: (4, 5),
    Command.LOOKUP_RESPONSE: (6, 7),
    Command.CONSUMER_STATS_RESPONSE: (2, 3),
    Command.ACK_RESPONSE: (4, 5),
}


class WireError(Exception):
    """The broker answered a request with an error: `code` is the number of Pulsar's ServerError."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"server error {code}: {text}")
        self.code = code
        self.text = text


class ConnectionEndedError(Exception):
    """The broker closed the connection while the test waited for a frame."""


class WireClient:
    """One connection to a broker; a method that asks something waits for the answer, an error becomes a WireError."""

    def __init__(self, host: str, port: int, wait_seconds: float = WAIT_SECONDS) -> None:
        self.socket = socket.create_connection((host, port), wait_seconds)
        self.wait_seconds = wait_seconds
        self.pending: deque[Frame] = deque()
        self._buffer = bytearray()
        self._request_ids = itertools.count(1)
        self._looked_up: set[str] = set()

    @classmethod
    def open(cls, service_url: str, wait_seconds: float = WAIT_SECONDS) -> WireClient:
        """Connect and shake hands."""
        address = urlsplit(service_url)
        client = cls(address.hostname or "127.0.0.1", address.port or 6650, wait_seconds)
        try:
            client.connect()
        except BaseException:
            client.close()
            raise
        return client

    def __enter__(self) -> WireClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection without a word."""
        self.socket.close()

    # Frames

    def send_bytes(self, data: bytes) -> None:
        """Send anything."""
        self.socket.sendall(data)

    def send_command(self, command: int, fields: Mapping[int, Value], tail: bytes = b"") -> None:
        """Send one frame."""
        self.send_bytes(frame(command, fields, tail))

    def read_frame(self, seconds: float | None = None) -> Frame:
        """Read the next frame off the socket; TimeoutError when none comes, ConnectionEndedError at the end."""
        deadline = time.monotonic() + (self.wait_seconds if seconds is None else seconds)
        while True:
            received = self._cut_frame()
            if received is not None:
                return received
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("no frame came in time")
            self.socket.settimeout(left)
            try:
                chunk = self.socket.recv(1 << 16)
            except ConnectionError as error:
                raise ConnectionEndedError(str(error)) from error
            if not chunk:
                raise ConnectionEndedError("the broker closed the connection")
            self._buffer += chunk

    def _cut_frame(self) -> Frame | None:
        if len(self._buffer) < 4:
            return None
        (total,) = struct.unpack_from(">I", self._buffer)
        if total > FRAME_BYTES_MAX:
            raise ValueError(f"the broker announces a frame of {total} bytes")
        if len(self._buffer) < 4 + total:
            return None
        data = bytes(self._buffer[4 : 4 + total])
        del self._buffer[: 4 + total]
        (size,) = struct.unpack_from(">I", data)
        envelope = Fields(data[4 : 4 + size])
        command = Command(envelope.num(1))
        if command is Command.PING:
            self.send_command(Command.PONG, {})
            return self._cut_frame()
        return Frame(command, envelope.sub(command), data[4 + size :])

    def wait_for(self, wanted: Callable[[Frame], bool], seconds: float | None = None) -> Frame:
        """Wait for the first frame that is wanted, among those kept and those to come; the others are kept."""
        for kept in self.pending:
            if wanted(kept):
                self.pending.remove(kept)
                return kept
        deadline = time.monotonic() + (self.wait_seconds if seconds is None else seconds)
        while True:
            received = self.read_frame(max(0.0, deadline - time.monotonic()))
            if wanted(received):
                return received
            self.pending.append(received)

    def expect(self, *commands: Command, seconds: float | None = None) -> Frame:
        """Wait for a frame of one of these commands."""
        return self.wait_for(lambda received: received.command in commands, seconds)

    def request(self, command: int, fields: Mapping[int, Value], request_id_field: int = 2) -> Frame:
        """Send a request under a fresh id and wait for the reply that names it."""
        request_id = next(self._request_ids)
        self.send_command(command, {**fields, request_id_field: request_id})
        return self.reply(request_id)

    def reply(self, request_id: int, seconds: float | None = None) -> Frame:
        """Wait for the reply to a request."""

        def wanted(received: Frame) -> bool:
            number = _REQUEST_ID_FIELD.get(received.command)
            return number is not None and received.fields.num(number) == request_id

        received = self.wait_for(wanted, seconds)
        raise_error(received)
        return received

    def is_closed_by_peer(self, seconds: float | None = None) -> bool:
        """Read until the broker closes the connection (True) or nothing more comes in time (False)."""
        deadline = time.monotonic() + (self.wait_seconds if seconds is None else seconds)
        try:
            while True:
                self.pending.append(self.read_frame(max(0.0, deadline - time.monotonic())))
        except ConnectionEndedError:
            return True
        except TimeoutError:
            return False

    # Session and lookup

    def connect(self, protocol_version: int = PROTOCOL_VERSION) -> Frame:
        """Shake hands."""
        self.send_command(Command.CONNECT, {1: "wireclient", 4: protocol_version, 5: "none"})
        received = self.expect(Command.CONNECTED, Command.ERROR)
        raise_error(received)
        return received

    def ping(self) -> None:
        """Send PING and wait for PONG."""
        self.send_command(Command.PING, {})
        self.expect(Command.PONG)

    def lookup(self, topic: str) -> Fields:
        """Ask who serves a topic."""
        return self.request(Command.LOOKUP, {1: topic}).fields

    def _prepare(self, topic: str) -> None:
        """Look a topic up before its first use, as every client does; some brokers insist on it."""
        if topic not in self._looked_up:
            self.lookup(topic)
            self._looked_up.add(topic)

    def partitions(self, topic: str, *, create: bool = True) -> int:
        """Ask for the number of partitions, 0 for a topic without."""
        return self.request(Command.PARTITIONS, {1: topic, 6: int(create)}).fields.num(1)

    def topics(self, namespace: str, mode: int = 0) -> list[str]:
        """List the topics of a namespace."""
        return self.request(Command.GET_TOPICS, {2: namespace, 3: mode}, 1).fields.texts(2)

    # Producer

    def start_producer(
        self,
        topic: str,
        producer_id: int = 1,
        name: str | None = None,
        *,
        access_mode: int = 0,
        epoch: int = 0,
        topic_epoch: int | None = None,
        initial_subscription: str | None = None,
    ) -> int:
        """Ask for a producer without waiting; gives the request id."""
        self._prepare(topic)
        request_id = next(self._request_ids)
        self.send_command(
            Command.PRODUCER,
            {
                1: topic,
                2: producer_id,
                3: request_id,
                4: name,
                8: epoch,
                9: int(name is not None),
                10: access_mode,
                11: topic_epoch,
                13: initial_subscription,
            },
        )
        return request_id

    def producer(
        self,
        topic: str,
        producer_id: int = 1,
        name: str | None = None,
        *,
        access_mode: int = 0,
        epoch: int = 0,
        topic_epoch: int | None = None,
        initial_subscription: str | None = None,
    ) -> Fields:
        """Open a producer and give the fields of PRODUCER_SUCCESS."""
        request_id = self.start_producer(
            topic,
            producer_id,
            name,
            access_mode=access_mode,
            epoch=epoch,
            topic_epoch=topic_epoch,
            initial_subscription=initial_subscription,
        )
        return self.reply(request_id).fields

    def send(
        self,
        body: bytes,
        sequence_id: int = 0,
        producer_id: int = 1,
        *,
        key: str | None = None,
        batch: int | None = None,
        metadata: Mapping[int, Value] | None = None,
        checksum: int | None = None,
    ) -> None:
        """Publish one entry without waiting; `batch` is the number of messages in a body built by `batch_body`."""
        described: dict[int, Value] = {
            1: "wire",
            2: sequence_id,
            3: int(time.time() * 1000),
            6: key,
            11: batch,
            **(metadata or {}),
        }
        fields: dict[int, Value] = {1: producer_id, 2: sequence_id, 3: batch or 1}
        if batch:
            fields[6] = described[24] = sequence_id + batch - 1
        self.send_command(Command.SEND, fields, payload(described, body, checksum))

    def receipt(self, seconds: float | None = None) -> tuple[int, Id]:
        """Wait for the next receipt: the sequence id and the message id."""
        received = self.expect(Command.SEND_RECEIPT, Command.SEND_ERROR, seconds=seconds)
        raise_error(received)
        return received.fields.num(2), Id.read(received.fields.sub(3))

    def publish(
        self,
        body: bytes,
        sequence_id: int = 0,
        producer_id: int = 1,
        *,
        key: str | None = None,
        batch: int | None = None,
        metadata: Mapping[int, Value] | None = None,
    ) -> Id:
        """Publish one entry and wait for its receipt."""
        self.send(body, sequence_id, producer_id, key=key, batch=batch, metadata=metadata)
        return self.receipt()[1]

    def close_producer(self, producer_id: int = 1) -> None:
        """Close a producer."""
        self.request(Command.CLOSE_PRODUCER, {1: producer_id})

    # Consumer

    def subscribe(
        self,
        topic: str,
        subscription: str,
        consumer_id: int = 1,
        sub_type: int = SubType.EXCLUSIVE,
        *,
        name: str | None = None,
        priority: int | None = None,
        durable: bool = True,
        start: Id | None = None,
        earliest: bool = True,
        epoch: int | None = None,
        key_shared: Mapping[int, Value] | None = None,
        create_topic: bool = True,
    ) -> Fields:
        """Subscribe; a new subscription begins at the earliest message unless told otherwise."""
        self._prepare(topic)
        described: dict[int, Value] = {
            1: topic,
            2: subscription,
            3: sub_type,
            4: consumer_id,
            6: name,
            7: priority,
            8: int(durable),
            9: start.fields() if start else None,
            13: int(earliest),
            15: int(create_topic),
            17: key_shared,
            19: epoch,
        }
        return self.request(Command.SUBSCRIBE, described, 5).fields

    def flow(self, consumer_id: int, permits: int) -> None:
        """Give permits."""
        self.send_command(Command.FLOW, {1: consumer_id, 2: permits})

    def message(self, consumer_id: int | None = None, seconds: float | None = None) -> Delivery:
        """Wait for the next message, of one consumer or of any."""

        def wanted(received: Frame) -> bool:
            return received.command is Command.MESSAGE and consumer_id in (None, received.fields.num(1))

        return Delivery.read(self.wait_for(wanted, seconds))

    def messages(self, count: int, consumer_id: int | None = None) -> list[Delivery]:
        """Wait for this many messages."""
        return [self.message(consumer_id) for _ in range(count)]

    def delivered(self) -> Iterator[Delivery]:
        """Give what has been delivered by now: the answer to a PING stands behind everything sent before it."""
        self.ping()
        arrived = [kept for kept in self.pending if kept.command is Command.MESSAGE]
        for kept in arrived:
            self.pending.remove(kept)
            yield Delivery.read(kept)

    def ack(self, consumer_id: int, ids: Sequence[Id], *, cumulative: bool = False, request: bool = False) -> None:
        """Acknowledge; with `request` wait until the broker says that the acknowledgement is kept."""
        fields: dict[int, Value] = {1: consumer_id, 2: int(cumulative), 3: [each.fields() for each in ids]}
        if request:
            self.request(Command.ACK, fields, 8)
        else:
            self.send_command(Command.ACK, fields)

    def redeliver(self, consumer_id: int, ids: Sequence[Id] = (), *, epoch: int | None = None) -> None:
        """Ask for these messages again, or for all that are not acknowledged when none is named."""
        self.send_command(Command.REDELIVER, {1: consumer_id, 2: [each.fields() for each in ids], 3: epoch})

    def seek(self, consumer_id: int, to: Id | None = None, *, publish_time_ms: int | None = None) -> None:
        """Move the subscription; the broker closes its consumers."""
        self.request(Command.SEEK, {1: consumer_id, 3: to.fields() if to else None, 4: publish_time_ms})

    def unsubscribe(self, consumer_id: int, *, force: bool = False) -> None:
        """Delete the subscription."""
        self.request(Command.UNSUBSCRIBE, {1: consumer_id, 3: int(force)})

    def close_consumer(self, consumer_id: int) -> None:
        """Close a consumer."""
        self.request(Command.CLOSE_CONSUMER, {1: consumer_id})

    def last_message_id(self, consumer_id: int) -> Fields:
        """Ask for the last message id: field 1 holds it, field 3 the mark-delete position."""
        return self.request(Command.GET_LAST_MESSAGE_ID, {1: consumer_id}).fields

    def consumer_stats(self, consumer_id: int) -> Fields:
        """Ask for the broker's figures of a consumer."""
        return self.request(Command.CONSUMER_STATS, {4: consumer_id}, 1).fields


def raise_error(received: Frame) -> None:
    """Raise WireError if the frame carries an error code."""
    place = _ERROR_FIELDS.get(received.command)
    if place is not None and place[0] in received.fields:
        raise WireError(received.fields.num(place[0]), received.fields.text(place[1]))
