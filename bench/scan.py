"""Read receipts and deliveries by the run instead of one by one.

A broker under load answers with long runs of frames that differ only in a few bytes: the sequence id, the message id.
Where that is so, a strided slice (`data[start::stride]`) picks one byte of every frame of the run at the speed of C.
So for the frame at hand its layout is checked byte by byte; then `run_length` counts how many frames after it agree in
every byte that is not allowed to differ; then each byte that is wanted is copied, as a column, for the whole run at
once. What does not fit the layout goes through the slow reader and ends in the same place. Nothing is assumed that is
not checked: both lengths, the type, every tag and the length of every nested message are among the bytes compared.

What was read goes onto a tape (five bytes a frame: the id of the producer or consumer, and four bytes that name the
message). The tape is judged after the clock has stopped, so that proving costs nothing while it runs.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable

from bench import wire

RUN_FRAMES_MAX = 1024
TAPE_BYTES = 5

_U32 = struct.Struct(">I")
_RECEIPT_HEAD = b"\x08\x07\x3a"
_RECEIPT_EQUAL = (*range(13), 14)
_MESSAGE_HEAD = b"\x08\x09\x4a"
_MESSAGE_EQUAL = (*range(13), 14, 15)

Other = Callable[[int, bytes], None]


def run_length(data: bytes, start: int, stride: int, equal: tuple[int, ...]) -> int:
    """Return how many frames of `stride` bytes from `start` on agree with the first in every offset of `equal`."""
    count = min((len(data) - start) // stride, RUN_FRAMES_MAX)
    for offset in equal:
        if count <= 1:
            break
        first = start + offset
        column = data[first : first + (count - 1) * stride + 1 : stride]
        count -= len(column.lstrip(column[:1]))
    return count


class Receipts:
    """Takes the bytes a producer's connection receives and keeps a tape of the receipts in them."""

    def __init__(self, other: Other, rest: bytes = b"") -> None:
        self.tape = bytearray()
        self.count = 0
        self._other = other
        self._rest = rest

    def feed(self, received: bytes) -> int:
        """Take what the socket gave; return the number of receipts that were whole."""
        data = self._rest + received if self._rest else received
        before = self.count
        at = 0
        while (end := frame_end(data, at)) is not None:
            at = self._run(data, at, end) if _receipt_fits(data, at) else self._one(data, at, end)
        self._rest = data[at:]
        return self.count - before

    def _run(self, data: bytes, at: int, end: int) -> int:
        stride = end - at
        count = run_length(data, at, stride, _RECEIPT_EQUAL)
        block = bytearray(TAPE_BYTES * count)
        stop = at + count * stride
        for column, offset in enumerate((13, 15, 16, 17, 18)):
            block[column::TAPE_BYTES] = data[at + offset : stop : stride]
        self.tape += block
        self.count += count
        return stop

    def _one(self, data: bytes, at: int, end: int) -> int:
        kind = data[at + 9]
        command = data[at + 8 : at + 8 + _U32.unpack_from(data, at + 4)[0]]
        if kind == wire.SEND_RECEIPT:
            fields = wire.command_fields(kind, command)
            producer, sequence = wire.integer(fields, 1), wire.varint(wire.integer(fields, 2))
            self.tape += bytes((producer & 0xFF,)) + sequence[:4].ljust(4, b"\0")
            self.count += 1
        else:
            self._other(kind, command)
        return end


def _receipt_fits(data: bytes, at: int) -> bool:
    return (
        data[at + 8 : at + 11] == _RECEIPT_HEAD
        and len(data) >= at + 19
        and data[at + 11] < 0x80
        and data[at + 12] == 0x08
        and data[at + 13] < 0x80
        and data[at + 14] == 0x10
        and data[at + 15] & data[at + 16] & data[at + 17] >= 0x80 > data[at + 18]
    )


class Deliveries:
    """Takes the bytes a consumer's connection receives; keeps a tape and the acknowledgements to send.

    `batch` is the number of messages in each entry. What follows the message id in a command (say, the redelivery
    count) has to be the same throughout a run. The checksum of every batch is proved, and of unbatched messages
    that of the first frame of each run, whose index on the tape proves the rest.
    """

    def __init__(self, other: Other, batch: int = 1, rest: bytes = b"") -> None:
        self.tape = bytearray()
        self.acks = bytearray()
        self.entries = 0
        self.wrong_checksums = 0
        self.absent_checksums = 0
        self.per_consumer: Counter[int] = Counter()
        self._other = other
        self._batch = batch
        self._rest = rest

    def feed(self, received: bytes) -> int:
        """Take what the socket gave; return the number of entries that were whole."""
        data = self._rest + received if self._rest else received
        before = self.entries
        at = 0
        while (end := frame_end(data, at)) is not None:
            at = self._run(data, at, end) if _message_fits(data, at) else self._one(data, at, end)
        self._rest = data[at:]
        return self.entries - before

    def _run(self, data: bytes, at: int, end: int) -> int:
        stride = end - at
        id_bytes = data[at + 15]
        section = 8 + _U32.unpack_from(data, at + 4)[0]
        count = run_length(data, at, stride, (*_MESSAGE_EQUAL, *range(16 + id_bytes, section)))
        stop = at + count * stride
        consumers = data[at + 13 : stop : stride]
        block = bytearray(TAPE_BYTES * count)
        block[0::TAPE_BYTES] = consumers
        for column in range(4):
            block[1 + column :: TAPE_BYTES] = data[at + stride - 4 + column : stop : stride]
        self.tape += block
        template = ack_frame(0, bytes(id_bytes))
        width = len(template)
        acks = bytearray(template * count)
        acks[13::width] = consumers
        for column in range(id_bytes):
            acks[18 + column :: width] = data[at + 16 + column : stop : stride]
        self.acks += acks
        self.entries += count
        self.per_consumer.update(consumers)
        for each in range(at, stop if self._batch > 1 else end, stride):
            self._prove(data[each + section : each + stride])
        return stop

    def _prove(self, section: bytes) -> None:
        holds = wire.checksum_holds(section)
        self.absent_checksums += holds is None
        self.wrong_checksums += holds is False

    def _one(self, data: bytes, at: int, end: int) -> int:
        kind = data[at + 9]
        section = at + 8 + _U32.unpack_from(data, at + 4)[0]
        command = data[at + 8 : section]
        if kind == wire.MESSAGE:
            fields = wire.command_fields(kind, command)
            consumer = wire.integer(fields, 1)
            self.tape += bytes((consumer & 0xFF,)) + data[end - 4 : end]
            self.acks += ack_frame(consumer, wire.blob(fields, 2))
            self.entries += 1
            self.per_consumer[consumer] += 1
            self._prove(data[section:end])
        else:
            self._other(kind, command)
        return end


def _message_fits(data: bytes, at: int) -> bool:
    if data[at + 8 : at + 11] != _MESSAGE_HEAD:
        return False
    command_bytes = _U32.unpack_from(data, at + 4)[0]
    body_bytes, id_bytes = data[at + 11], data[at + 15]
    return (
        id_bytes < 0x70
        and 4 + id_bytes <= body_bytes < 0x80
        and command_bytes == 4 + body_bytes
        and data[at + 12] == 0x08
        and data[at + 13] < 0x80
        and data[at + 14] == 0x12
    )


def ack_frame(consumer: int, message_id: bytes) -> bytes:
    """Return the ACK of one entry, with the message id as the broker wrote it."""
    body = wire.field(1, consumer) + wire.field(2, 0) + wire.field(3, message_id)
    return wire.command(wire.ACK, body)


def frame_end(data: bytes, at: int) -> int | None:
    """Return where the frame at `at` ends, or None where it is not whole yet."""
    if len(data) - at < 8:
        return None
    total = _U32.unpack_from(data, at)[0]
    length = _U32.unpack_from(data, at + 4)[0]
    if length + 4 > total or length < 2 or total > wire.FRAME_BYTES_MAX:
        raise wire.BadFrameError(f"a frame of {total} bytes with a command of {length}")
    end: int = at + 4 + total
    return end if len(data) >= end else None
