"""The few bytes of Pulsar's protocol that a load needs, apart from the broker's own codec.

The load must not share code with what it measures: a mistake in a shared codec would cancel itself out. So this is a
second, smaller reading of the protocol: it builds the dozen commands a producer and a consumer send, cuts frames, and
reads any command into its fields. The hot directions (publish frames, receipts, deliveries, acknowledgements) do not
pass through here message by message; `bench.frames` builds them ahead and `bench.scan` reads them by the run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from google_crc32c import value as crc32c

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
SUCCESS = 13
ERROR = 14
CLOSE_PRODUCER = 15
CLOSE_CONSUMER = 16
PRODUCER_SUCCESS = 17
PING = 18
PONG = 19
PARTITIONED_METADATA = 21
PARTITIONED_METADATA_RESPONSE = 22
LOOKUP = 23
LOOKUP_RESPONSE = 24
GET_LAST_MESSAGE_ID = 29
GET_LAST_MESSAGE_ID_RESPONSE = 30
GET_TOPICS_OF_NAMESPACE = 32
GET_TOPICS_OF_NAMESPACE_RESPONSE = 33
WATCH_TOPIC_LIST = 64
WATCH_TOPIC_LIST_SUCCESS = 65
WATCH_TOPIC_UPDATE = 66

SUBSCRIPTION_TYPES = {"exclusive": 0, "shared": 1, "failover": 2, "key_shared": 3}
PROTOCOL_VERSION = 21
CHECKSUM_MAGIC = b"\x0e\x01"
FRAME_BYTES_MAX = 8 << 20

_U32 = struct.Struct(">I")
_HEADER = struct.Struct(">II")

Value = int | bytes
Fields = dict[int, list[Value]]


class BadFrameError(Exception):
    """The broker sent bytes that are no frame or no command."""


class Frame(NamedTuple):
    """Where one whole frame lies in a buffer; `command` to `payload` is the command, `payload` to `end` the payload."""

    kind: int
    start: int
    command: int
    payload: int
    end: int


def varint(number: int) -> bytes:
    """Encode an integer as protobuf does; negative numbers take the ten bytes of their 64-bit complement."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer that starts at `at` and the position after it."""
    number = shift = 0
    while shift < 70:
        if at >= len(data):
            raise BadFrameError("a varint runs past the end")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise BadFrameError("a varint is longer than ten bytes")


def field(number: int, value: int | str | bytes) -> bytes:
    """Encode one field: integers as varints, text and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def read_fields(data: bytes) -> Fields:
    """Read a protobuf message into its fields without knowing its type."""
    out: Fields = {}
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        value: Value
        match key & 7:
            case 0:
                value, at = read_varint(data, at)
            case 2:
                size, at = read_varint(data, at)
                value, at = data[at : at + size], at + size
            case 1:
                value, at = data[at : at + 8], at + 8
            case 5:
                value, at = data[at : at + 4], at + 4
            case other:
                raise BadFrameError(f"wire type {other} of field {key >> 3}")
        if at > len(data):
            raise BadFrameError(f"field {key >> 3} runs past the end")
        out.setdefault(key >> 3, []).append(value)
    return out


def integer(fields: Fields, number: int, default: int = 0) -> int:
    """Return a field that must be an integer, or `default` where it is absent."""
    values = fields.get(number)
    if not values:
        return default
    value = values[-1]
    if not isinstance(value, int):
        raise BadFrameError(f"field {number} is no integer")
    return value


def blob(fields: Fields, number: int) -> bytes:
    """Return a field that must be text or bytes, empty where it is absent."""
    values = fields.get(number)
    if not values:
        return b""
    value = values[-1]
    if not isinstance(value, bytes):
        raise BadFrameError(f"field {number} is no text")
    return value


def frame(command: bytes, payload: bytes = b"") -> bytes:
    """Put the two lengths before a command and its payload section."""
    return _HEADER.pack(4 + len(command) + len(payload), len(command)) + command + payload


def command(kind: int, *fields: bytes) -> bytes:
    """Return the frame of a command without payload; a command's number is also its field number."""
    return frame(base_command(kind, b"".join(fields)))


def base_command(kind: int, body: bytes) -> bytes:
    """Wrap the body of one command, without the lengths of the frame."""
    return field(1, kind) + field(kind, body)


def command_fields(kind: int, data: bytes) -> Fields:
    """Read a BaseCommand and return the fields of the command inside."""
    return read_fields(blob(read_fields(data), kind))


def cut(data: bytes, at: int = 0) -> Iterator[Frame]:
    """Yield every whole frame from `at` on; what is left after the last one belongs to the next read."""
    size = len(data)
    while size - at >= 8:
        total, length = _HEADER.unpack_from(data, at)
        if length + 4 > total or length < 2 or total > FRAME_BYTES_MAX:
            raise BadFrameError(f"a frame of {total} bytes with a command of {length}")
        if size - at < 4 + total:
            return
        yield Frame(data[at + 9], at, at + 8, at + 8 + length, at + 4 + total)
        at += 4 + total


def with_checksum(metadata: bytes, payload: bytes) -> bytes:
    """Return the payload section of a SEND: magic, CRC32C, length of the metadata, metadata, payload."""
    inner = _U32.pack(len(metadata)) + metadata + payload
    return CHECKSUM_MAGIC + _U32.pack(crc32c(inner)) + inner


def checksum_holds(section: bytes) -> bool | None:
    """Tell whether the checksum of a delivery's payload section is right; None where the broker took it off."""
    if section[:2] != CHECKSUM_MAGIC:
        return None
    holds: bool = _U32.unpack_from(section, 2)[0] == crc32c(section[6:])
    return holds
