"""One blocking connection to a broker, for all that happens before and after the measured part."""

from __future__ import annotations

import socket
import time

from bench import wire

RECEIVE_BYTES = 1 << 18


class BrokerError(Exception):
    """The broker refused, closed the connection, or did not answer in time."""


def split_address(address: str) -> tuple[str, int]:
    """Split ``host:port``; a leading ``pulsar://`` is allowed."""
    host, _, port = address.removeprefix("pulsar://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{address!r} is not HOST:PORT")
    return host, int(port)


def topic_name(topic: str) -> str:
    """Return the full name of a topic; brokers differ in whether they take a short one on the wire."""
    return topic if "://" in topic else f"persistent://public/default/{topic}"


class Session:
    """A connection that has said CONNECT and asks one thing at a time.

    >>> with Session("127.0.0.1:6650") as session:
    ...     session.subscribe("topic", "subscription", "shared", consumer_id=1)
    """

    def __init__(self, address: str, timeout_s: float = 10.0) -> None:
        self.timeout_s = timeout_s
        self.rest = b""
        self._request = 0
        self._looked_up: set[str] = set()
        try:
            self.sock = socket.create_connection(split_address(address), timeout=timeout_s)
        except OSError as error:
            raise BrokerError(f"cannot connect to {address}: {error}") from error
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = wire.field(1, "bench"), wire.field(4, wire.PROTOCOL_VERSION), wire.field(10, wire.field(5, 1))
        try:
            self.ask(wire.command(wire.CONNECT, *hello), wire.CONNECTED)
        except BrokerError:
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection; the broker closes what was open on it."""
        self.sock.close()

    def next_request(self) -> int:
        """Return a request id that this connection has not used."""
        self._request += 1
        return self._request

    def ask(self, request: bytes, answer: int) -> wire.Fields:
        """Send a frame and return the fields of the first answer of the given kind; a refusal is an error."""
        try:
            self.sock.sendall(request)
            return self._wait(answer)
        except TimeoutError as error:
            raise BrokerError(f"no answer in {self.timeout_s:g} s") from error
        except OSError as error:
            raise BrokerError(f"connection lost: {error}") from error

    def _wait(self, answer: int) -> wire.Fields:
        deadline = time.monotonic() + self.timeout_s
        while time.monotonic() < deadline:
            for found in wire.cut(self.rest):
                body = self.rest[found.command : found.payload]
                if found.kind == wire.PING:
                    self.sock.sendall(wire.command(wire.PONG))
                elif found.kind == answer:
                    self.rest = self.rest[found.end :]
                    return wire.command_fields(answer, body)
                elif found.kind == wire.ERROR:
                    raise BrokerError(describe_error(body))
            self.rest = self.rest[whole_bytes(self.rest) :]
            received = self.sock.recv(RECEIVE_BYTES)
            if not received:
                raise BrokerError("the broker closed the connection")
            self.rest += received
        raise BrokerError(f"no answer in {self.timeout_s:g} s")

    def lookup(self, topic: str) -> None:
        """Ask what every official client asks before it opens a topic: how many partitions, and where it is."""
        name = topic_name(topic)
        if name in self._looked_up:
            return
        request = wire.field(1, name) + wire.field(2, self.next_request())
        self.ask(wire.command(wire.PARTITIONED_METADATA, request), wire.PARTITIONED_METADATA_RESPONSE)
        request = wire.field(1, name) + wire.field(2, self.next_request()) + wire.field(3, 0)
        self.ask(wire.command(wire.LOOKUP, request), wire.LOOKUP_RESPONSE)
        self._looked_up.add(name)

    def open_producer(self, topic: str, producer_id: int, name: str) -> None:
        """Open a producer and wait until the broker has taken it."""
        self.lookup(topic)
        fields: tuple[str | int, ...] = (topic_name(topic), producer_id, self.next_request(), name)
        body = b"".join(wire.field(number, value) for number, value in enumerate(fields, 1))
        self.ask(wire.command(wire.PRODUCER, body), wire.PRODUCER_SUCCESS)

    def subscribe(self, topic: str, subscription: str, kind: str, consumer_id: int) -> None:
        """Open a consumer that starts with the oldest message, and wait until the broker has taken it."""
        self.lookup(topic)
        self.ask(subscribe_frame(topic, subscription, kind, consumer_id, self.next_request()), wire.SUCCESS)


def subscribe_frame(topic: str, subscription: str, kind: str, consumer_id: int, request_id: int) -> bytes:
    """Return the SUBSCRIBE of a durable subscription from the earliest message."""
    parts = [
        wire.field(1, topic_name(topic)),
        wire.field(2, subscription),
        wire.field(3, wire.SUBSCRIPTION_TYPES[kind]),
        wire.field(4, consumer_id),
        wire.field(5, request_id),
        wire.field(6, f"bench-{consumer_id}"),
        wire.field(13, 1),
    ]
    if kind == "key_shared":
        parts.append(wire.field(17, wire.field(1, 0)))
    return wire.command(wire.SUBSCRIBE, *parts)


def flow_frame(consumer_id: int, permits: int) -> bytes:
    """Return the FLOW that gives a consumer more permits."""
    return wire.command(wire.FLOW, wire.field(1, consumer_id), wire.field(2, permits))


def describe_error(body: bytes) -> str:
    """Say in words what an ERROR or SEND_ERROR carries."""
    kind = body[1]
    fields = wire.command_fields(kind, body)
    if kind == wire.SEND_ERROR:
        return f"send error {wire.integer(fields, 3)}: {wire.blob(fields, 4).decode(errors='replace')}"
    if kind == wire.ERROR:
        return f"error {wire.integer(fields, 2)}: {wire.blob(fields, 3).decode(errors='replace')}"
    return f"unexpected command {kind}"


def whole_bytes(data: bytes) -> int:
    """Return how many bytes at the start of `data` are whole frames."""
    end = 0
    for found in wire.cut(data):
        end = found.end
    return end
