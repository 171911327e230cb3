"""Publish frames built before the clock starts.

Every frame of one connection has the same length: sequence ids start at 2**21 so that their varint always takes four
bytes, keys have a fixed width, and the time of publishing is one for all. Equal lengths let the sender hand whole
windows to the socket as one slice, and let the reader of receipts and deliveries work by columns (see `bench.scan`).
The last eight bytes of every message are its index in the whole load, so a consumer can prove what it received.
"""

from __future__ import annotations

import struct
import time
from array import array
from dataclasses import dataclass

from google_crc32c import value as crc32c

from bench import wire

FIRST_SEQUENCE = 1 << 21
MESSAGES_MAX = (1 << 28) - (1 << 21)
PRODUCERS_MAX = 127
INDEX_BYTES = 8

_PREFIX = struct.Struct(">II")
_CHECKED = struct.Struct(">2sII")


@dataclass(frozen=True, slots=True)
class Load:
    """What one connection publishes: `messages` in entries of `batch`, spread over `producers`, from `first` on.

    The first `hold` messages have a key each that no other message has.
    """

    messages: int
    first: int = 0
    size: int = 100
    batch: int = 1
    producers: int = 1
    keys: int = 0
    name: str = "bench-0000"
    hold: int = 0

    def __post_init__(self) -> None:
        """Refuse what the fixed widths cannot hold."""
        if not 0 < self.messages <= MESSAGES_MAX or self.messages % self.batch:
            raise ValueError(f"{self.messages} messages are no whole number of batches of {self.batch}")
        if not 1 <= self.producers <= PRODUCERS_MAX:
            raise ValueError(f"between 1 and {PRODUCERS_MAX} producers a connection, not {self.producers}")
        if self.size < INDEX_BYTES:
            raise ValueError(f"a message needs {INDEX_BYTES} bytes for its index")

    @property
    def entries(self) -> int:
        """Return the number of SEND frames."""
        return self.messages // self.batch


@dataclass(frozen=True, slots=True)
class Prepared:
    """All frames of one connection, `stride` bytes each, and the receipts they must be answered with."""

    data: memoryview
    stride: int
    receipts: bytes


def prepare(load: Load) -> Prepared:
    """Build every SEND frame of a load."""
    producers = [bytes((number,)) for number in range(1, load.producers + 1)]
    tail_of_send = wire.field(3, load.batch) if load.batch > 1 else b""
    body_bytes = 2 + 5 + len(tail_of_send)
    head_of_send = wire.field(1, wire.SEND) + b"\x32" + bytes((body_bytes,)) + b"\x08"
    head = wire.field(1, load.name) + b"\x10"
    after = wire.field(3, int(time.time() * 1000))
    after_batch = wire.field(11, load.batch) if load.batch > 1 else b""
    key_bytes = 0 if not load.keys else len(wire.field(6, key_of(0)))
    metadata_bytes = len(head) + 4 + len(after) + key_bytes + len(after_batch)
    body = _Body(load)
    payload_bytes = body.size
    command_bytes = len(head_of_send) + 1 + 1 + 4 + len(tail_of_send)
    section_bytes = 10 + metadata_bytes + payload_bytes
    prefix = _PREFIX.pack(4 + command_bytes + section_bytes, command_bytes) + head_of_send
    out: list[bytes] = []
    receipts = bytearray()
    metadata_size = struct.pack(">I", metadata_bytes)
    for entry in range(load.entries):
        sequence = wire.varint(FIRST_SEQUENCE + entry)
        producer = producers[entry % load.producers]
        index = load.first + entry * load.batch
        key = wire.field(6, key_of(key_number(index, load.keys, load.hold))) if load.keys else b""
        inner = b"".join((head, sequence, after, key, after_batch, body.at(index)))
        checked = _CHECKED.pack(wire.CHECKSUM_MAGIC, crc32c(metadata_size + inner), metadata_bytes)
        out += (prefix, producer, b"\x10", sequence, tail_of_send, checked, inner)
        receipts += producer + sequence
    data = b"".join(out)
    stride = len(prefix) + 6 + len(tail_of_send) + 10 + metadata_bytes + payload_bytes
    assert len(data) == stride * load.entries
    return Prepared(memoryview(data), stride, bytes(receipts))


def key_number(index: int, keys: int, hold: int = 0) -> int:
    """Return which key the message with this index has."""
    return index if index < hold else hold + index % keys


def key_of(number: int) -> str:
    """Return a key of fixed width."""
    return f"key-{number:06d}"


class _Body:
    """The payload of an entry: one message, or a batch whose indexes are filled in by columns."""

    def __init__(self, load: Load) -> None:
        self._batch = load.batch
        filler = (b"0123456789abcdef" * (load.size // 16 + 1))[: load.size - INDEX_BYTES]
        if load.batch == 1:
            self._filler = filler
            self.size = load.size
            return
        single = wire.field(3, load.size)
        one = struct.pack(">I", len(single)) + single + filler + bytes(INDEX_BYTES)
        self._one_bytes = len(one)
        self._template = bytearray(one * load.batch)
        self.size = len(self._template)

    def at(self, index: int) -> bytes:
        if self._batch == 1:
            return self._filler + index.to_bytes(INDEX_BYTES, "big")
        indexes = array("Q", range(index, index + self._batch))
        indexes.byteswap()
        packed = indexes.tobytes()
        first = self._one_bytes - INDEX_BYTES
        for column in range(INDEX_BYTES):
            self._template[first + column :: self._one_bytes] = packed[column::INDEX_BYTES]
        return bytes(self._template)
