"""The bare wire format for tests, written and read by hand.

It shares no code with the broker on purpose: a mistake in the broker's codec must not be hidden by the same mistake
here. So protobuf has its bare form: a message to send is a dictionary from field number to value, a message received is
a `Fields`, which hands out the values of a number as whole number, text or nested message. Nothing is checked on the
way out, which is what tests with wrong frames need.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import google_crc32c

Value: TypeAlias = "int | str | bytes | Mapping[int, Value] | Sequence[Value] | None"


class Command(IntEnum):
    """The commands this client sends or understands; the number is also the field of the command in its envelope."""

    CONNECT = 2
    CONNECTED = 3
    SUBSCRIBE = 4
    PRODUCER = 5
    SEND = 6
    SEND_RECEIPT = 7
    SEND_ERROR = 8
    MESSAGE = 9
    ACK = 10
    FLOW = 11
    UNSUBSCRIBE = 12
    SUCCESS = 13
    ERROR = 14
    CLOSE_PRODUCER = 15
    CLOSE_CONSUMER = 16
    PRODUCER_SUCCESS = 17
    PING = 18
    PONG = 19
    REDELIVER = 20
    PARTITIONS = 21
    PARTITIONS_RESPONSE = 22
    LOOKUP = 23
    LOOKUP_RESPONSE = 24
    CONSUMER_STATS = 25
    CONSUMER_STATS_RESPONSE = 26
    REACHED_END_OF_TOPIC = 27
    SEEK = 28
    GET_LAST_MESSAGE_ID = 29
    GET_LAST_MESSAGE_ID_RESPONSE = 30
    ACTIVE_CONSUMER_CHANGE = 31
    GET_TOPICS = 32
    GET_TOPICS_RESPONSE = 33
    ACK_RESPONSE = 38
    WATCH_TOPIC_LIST = 64
    WATCH_TOPIC_LIST_SUCCESS = 65
    WATCH_TOPIC_UPDATE = 66
    WATCH_TOPIC_LIST_CLOSE = 67


class SubType(IntEnum):
    """The four ways to share a subscription."""

    EXCLUSIVE = 0
    SHARED = 1
    FAILOVER = 2
    KEY_SHARED = 3


def varint(value: int) -> bytes:
    """Encode a whole number; a negative one becomes its 64-bit two's complement, as protobuf wants it."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(fields: Mapping[int, Value]) -> bytes:
    """Encode a message given as field number to value; None leaves a field out, a sequence repeats it."""
    return b"".join(_encode_field(number, value) for number, value in fields.items())


def _encode_field(number: int, value: Value) -> bytes:
    if value is None:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    elif isinstance(value, Mapping):
        value = encode(value)
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return b"".join(_encode_field(number, item) for item in value)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value: int) -> int:
    """Read an unsigned 64-bit number as the signed one it stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value


class Fields:
    """A received message: the values of every field number in the order of their arrival."""

    def __init__(self, data: bytes) -> None:
        self.values: dict[int, list[int | bytes]] = {}
        at = 0
        while at < len(data):
            tag, at = _read_varint(data, at)
            value: int | bytes
            match tag & 7:
                case 0:
                    value, at = _read_varint(data, at)
                case 1:
                    value, at = data[at : at + 8], at + 8
                case 2:
                    size, at = _read_varint(data, at)
                    value, at = data[at : at + size], at + size
                case 5:
                    value, at = data[at : at + 4], at + 4
                case other:
                    raise ValueError(f"wire type {other} does not occur in the protocol")
            self.values.setdefault(tag >> 3, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self.values

    def __repr__(self) -> str:
        return f"Fields({self.values!r})"

    def num(self, number: int, default: int = 0) -> int:
        """The last whole number of this field, signed, or the default when the field is absent."""
        value = self.values.get(number, [default])[-1]
        if not isinstance(value, int):
            raise TypeError(f"field {number} is not a number")
        return signed(value)

    def raw(self, number: int) -> bytes:
        """The last bytes of this field, empty when it is absent."""
        value = self.values.get(number, [b""])[-1]
        if not isinstance(value, bytes):
            raise TypeError(f"field {number} is not bytes")
        return value

    def text(self, number: int) -> str:
        """The last text of this field, empty when it is absent."""
        return self.raw(number).decode()

    def sub(self, number: int) -> Fields:
        """The nested message of this field; one without fields when it is absent."""
        return Fields(self.raw(number))

    def nums(self, number: int) -> list[int]:
        """Every whole number of a repeated field, signed."""
        return [signed(value) for value in self.values.get(number, []) if isinstance(value, int)]

    def texts(self, number: int) -> list[str]:
        """Every text of a repeated field."""
        return [value.decode() for value in self.values.get(number, []) if isinstance(value, bytes)]


@dataclass(frozen=True, order=True)
class Id:
    """A message id as the wire has it; a set bit in `ack_set` is a message of a batch that is not acknowledged."""

    ledger: int
    entry: int
    batch_index: int = -1
    partition: int = -1
    ack_set: tuple[int, ...] = ()
    batch_size: int = 0

    @classmethod
    def read(cls, fields: Fields) -> Id:
        """Take an id out of a received message."""
        return cls(
            fields.num(1), fields.num(2), fields.num(4, -1), fields.num(3, -1), tuple(fields.nums(5)), fields.num(6)
        )

    def fields(self) -> dict[int, Value]:
        """Give the id as a message to send."""
        batched = self.batch_index >= 0
        return {
            1: self.ledger,
            2: self.entry,
            4: self.batch_index if batched else None,
            5: list(self.ack_set),
            6: self.batch_size or None,
        }


EARLIEST = Id(-1, -1)
LATEST = Id((1 << 63) - 1, (1 << 63) - 1)


@dataclass(frozen=True)
class Frame:
    """One received frame: its command, the fields of that command, and what stood behind it."""

    command: Command
    fields: Fields
    tail: bytes = b""


@dataclass(frozen=True)
class Delivery:
    """A MESSAGE frame taken apart as far as most tests need it."""

    consumer_id: int
    id: Id
    redelivery_count: int
    ack_set: tuple[int, ...]
    epoch: int | None
    metadata: Fields
    body: bytes

    @property
    def key(self) -> str:
        """The partition key as text."""
        return self.metadata.text(6)

    @property
    def batch_size(self) -> int:
        """How many messages the entry holds; 1 for an entry that is no batch."""
        return self.metadata.num(11, 1)

    @classmethod
    def read(cls, frame: Frame) -> Delivery:
        """Take a MESSAGE frame apart, checksum verified where there is one."""
        metadata, body = split_payload(frame.tail)
        fields = frame.fields
        epoch = fields.num(5) if 5 in fields else None
        return cls(
            fields.num(1), Id.read(fields.sub(2)), fields.num(3), tuple(fields.nums(4)), epoch, Fields(metadata), body
        )


def frame(command: int, fields: Mapping[int, Value], tail: bytes = b"") -> bytes:
    """Build a frame as it goes over the wire."""
    envelope = encode({1: command, command: fields})
    return struct.pack(">II", 4 + len(envelope) + len(tail), len(envelope)) + envelope + tail


def payload(metadata: Mapping[int, Value], body: bytes, checksum: int | None = None) -> bytes:
    """Build the section behind a SEND; a checksum other than the right one may be given."""
    encoded = encode(metadata)
    covered = struct.pack(">I", len(encoded)) + encoded + body
    value = google_crc32c.value(covered) if checksum is None else checksum
    return b"\x0e\x01" + struct.pack(">I", value) + covered


def split_payload(tail: bytes) -> tuple[bytes, bytes]:
    """Split the section behind a MESSAGE into its metadata and its body, and check the checksum."""
    if tail[:2] == b"\x0e\x01":
        (expected,) = struct.unpack_from(">I", tail, 2)
        tail = tail[6:]
        if google_crc32c.value(tail) != expected:
            raise ValueError("the checksum of a delivered message is wrong")
    (size,) = struct.unpack_from(">I", tail)
    return tail[4 : 4 + size], tail[4 + size :]


def batch_body(messages: Sequence[bytes], keys: Sequence[str] | None = None) -> bytes:
    """Build the body of a batch out of single messages, each with a key if keys are given."""
    parts = []
    for index, message in enumerate(messages):
        single = encode({2: keys[index] if keys else None, 3: len(message), 8: index})
        parts.append(struct.pack(">I", len(single)) + single + message)
    return b"".join(parts)


def unbatch(delivery: Delivery) -> list[bytes]:
    """Take the single messages out of a delivered batch."""
    at, out = 0, []
    for _ in range(delivery.batch_size):
        (size,) = struct.unpack_from(">I", delivery.body, at)
        single = Fields(delivery.body[at + 4 : at + 4 + size])
        at += 4 + size
        out.append(delivery.body[at : at + single.num(3)])
        at += single.num(3)
    return out
