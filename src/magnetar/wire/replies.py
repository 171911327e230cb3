"""The frames that go out once per message, written by hand: receipts, acknowledgement answers, heads of MESSAGE.

A frame is two sizes and a command: ``[total size][command size][command]``; MESSAGE goes on with the stored entry,
which the caller appends, so that an entry is never copied to be framed.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.errors import WireError
from magnetar.wire.varint import write_varint

__all__ = [
    "PING_FRAME",
    "PONG_FRAME",
    "MessageHeads",
    "ack_response",
    "message_head",
    "send_error",
    "send_receipt",
    "send_receipts",
]

PING_FRAME: Final = b"\x00\x00\x00\x09\x00\x00\x00\x05\x08\x12\x92\x01\x00"
PONG_FRAME: Final = b"\x00\x00\x00\x09\x00\x00\x00\x05\x08\x13\x9a\x01\x00"

_SIZE_MAX: Final = 0xFFFFFFFF
_NEVER: Final = -(1 << 40)
_MORE: Final[list[bytes]] = [bytes((n | 128,)) for n in range(128)]


# A receipt, and a MESSAGE without an ack_set, is always shorter than 128 bytes, so that each size in it is one byte and
# what stands before the first id can be prepared for every size that occurs.
_SMALL: Final = 100


def _receipt_front(size: int) -> bytes:
    return bytes((0, 0, 0, size + 8, 0, 0, 0, size + 4, 0x08, 0x07, 0x3A, size, 0x08))


def _message_front(size: int) -> bytes:
    lead = b"\x08\x09\x4a" + write_varint(size)
    return (len(lead) + size).to_bytes(4, "big") + lead + b"\x08"


_RECEIPT_FRONTS: Final[list[bytes]] = [_receipt_front(size) for size in range(_SMALL)]
_MESSAGE_FRONTS: Final[list[bytes]] = [_message_front(size) for size in range(_SMALL)]
_RECEIPT_PLACES: Final[list[bytes]] = [bytes((0x1A, size, 0x08)) for size in range(_SMALL)]
_MESSAGE_PLACES: Final[list[bytes]] = [bytes((0x12, size, 0x08)) for size in range(_SMALL)]


def _frame(lead: bytes, body: bytes) -> bytes:
    """Frame a command from its type-and-tag bytes and the body of its sub-message."""
    size = write_varint(len(body))
    command_size = len(lead) + len(size) + len(body)
    return b"".join([(command_size + 4).to_bytes(4, "big"), command_size.to_bytes(4, "big"), lead, size, body])


def send_receipt(producer_id: int, sequence_id: int, highest_sequence_id: int, ledger: int, entry: int) -> bytes:
    """Frame a SEND_RECEIPT; ledger and entry -1 say that the message was a duplicate and has no position."""
    producer = write_varint(producer_id)
    sequence = write_varint(sequence_id)
    in_ledger = write_varint(ledger)
    number = write_varint(entry)
    highest = b"\x20" + write_varint(highest_sequence_id) if highest_sequence_id else b""
    place_size = 2 + len(in_ledger) + len(number)
    front = _RECEIPT_FRONTS[4 + len(producer) + len(sequence) + place_size + len(highest)]
    place = _RECEIPT_PLACES[place_size]
    return b"".join([front, producer, b"\x10", sequence, place, in_ledger, b"\x10", number, highest])


def send_receipts(
    producer_id: int, sequence_ids: list[int], highest_sequence_ids: list[int], ledger: int, entry: int
) -> bytes:
    """Frame the receipts of one producer for entries that follow each other, the first of which is ``entry``."""
    producer, in_ledger = write_varint(producer_id), write_varint(ledger)
    parts: list[bytes] = []
    lead = middle = b""
    sizes = last_sizes = 0
    for k in range(len(sequence_ids)):
        sequence, number = write_varint(sequence_ids[k]), write_varint(entry + k)
        highest = highest_sequence_ids[k]
        if highest:
            parts.append(send_receipt(producer_id, sequence_ids[k], highest, ledger, entry + k))
            continue
        sizes = len(sequence) << 8 | len(number)
        if sizes != last_sizes:
            last_sizes = sizes
            place_size = 2 + len(in_ledger) + len(number)
            front = _RECEIPT_FRONTS[4 + len(producer) + len(sequence) + place_size]
            lead = b"".join([front, producer, b"\x10"])
            middle = b"".join([_RECEIPT_PLACES[place_size], in_ledger, b"\x10"])
        parts.append(lead)
        parts.append(sequence)
        parts.append(middle)
        parts.append(number)
    return b"".join(parts)


def send_error(producer_id: int, sequence_id: int, code: int, message: str) -> bytes:
    """Frame a SEND_ERROR with a ServerError number and a sentence."""
    text = message.encode("utf-8", "replace")
    parts = [b"\x08", write_varint(producer_id), b"\x10", write_varint(sequence_id), b"\x18", write_varint(code)]
    parts.extend([b"\x22", write_varint(len(text)), text])
    return _frame(b"\x08\x08\x42", b"".join(parts))


def ack_response(consumer_id: int, request_id: int, code: int = -1, message: str = "") -> bytes:
    """Frame an ACK_RESPONSE; a code below zero means success."""
    parts = [b"\x08", write_varint(consumer_id)]
    if code >= 0:
        parts.extend([b"\x20", write_varint(code)])
    if message:
        text = message.encode("utf-8", "replace")
        parts.extend([b"\x2a", write_varint(len(text)), text])
    if request_id >= 0:
        parts.extend([b"\x30", write_varint(request_id)])
    return _frame(b"\x08\x26\xb2\x02", b"".join(parts))


def message_head(
    consumer_id: int,
    ledger: int,
    entry: int,
    partition: int,
    redelivery_count: int,
    ack_set: list[int] | None,
    epoch: int,
    entry_size: int,
) -> bytes:
    """Write all of a MESSAGE frame that comes before the entry, whose size is ``entry_size``.

    The partition is written when it is not negative, the redelivery count when it is above zero, the epoch when it is
    not negative. Words of ``ack_set`` may be given signed or unsigned.
    """
    consumer = write_varint(consumer_id)
    in_ledger = write_varint(ledger)
    number = write_varint(entry)
    index = b"\x18" + write_varint(partition) if partition >= 0 else b""
    place_size = 2 + len(in_ledger) + len(number) + len(index)
    rest = b"\x18" + write_varint(redelivery_count) if redelivery_count > 0 else b""
    if ack_set is not None:
        rest += b"".join([b"\x20" + write_varint(word) for word in ack_set])
    if epoch >= 0:
        rest += b"\x28" + write_varint(epoch)
    size = 3 + len(consumer) + place_size + len(rest)
    front = _MESSAGE_FRONTS[size] if size < _SMALL else _message_front(size)
    command_size = len(front) - 5 + size
    total = command_size + 4 + entry_size
    if entry_size < 0 or total > _SIZE_MAX:
        raise WireError(f"an entry of {entry_size} bytes does not fit into a frame")
    place = _MESSAGE_PLACES[place_size]
    return b"".join([total.to_bytes(4, "big"), front, consumer, place, in_ledger, b"\x10", number, index, rest])


class MessageHeads:
    """Heads of MESSAGE for one consumer, from bytes that were prepared once.

    >>> heads = MessageHeads(7, -1, -1)
    >>> heads.head(1, 2, 100) == message_head(7, 1, 2, -1, 0, None, -1, 100)
    True

    A first delivery needs nothing but the position and the size of the entry. Entries come in ascending order, so of
    the entry id only the lowest seven bits, which a varint has in front, differ from one head to the next.
    """

    __slots__ = ("_back", "_consumer_id", "_front", "_high", "_lead", "_ledger", "_partition", "_size", "epoch")

    def __init__(self, consumer_id: int, partition: int, epoch: int) -> None:
        self._consumer_id: int = consumer_id
        self._partition: int = partition
        self.epoch: int = epoch
        self._ledger: int = -1
        self._high: int = _NEVER
        self._size: int = -1
        self._lead: bytes = b""
        self._front: bytes = b""
        self._back: bytes = b""

    def head(self, ledger: int, entry: int, entry_size: int) -> bytes:
        """Write the head for a first delivery of a whole entry."""
        high = entry >> 7
        if high != self._high or ledger != self._ledger:
            if high <= 0:
                return message_head(self._consumer_id, ledger, entry, self._partition, 0, None, self.epoch, entry_size)
            self._prepare(ledger, entry)
        if entry_size != self._size:
            total = len(self._front) + 1 + len(self._back) + entry_size
            if entry_size < 0 or total > _SIZE_MAX:
                raise WireError(f"an entry of {entry_size} bytes does not fit into a frame")
            self._size = entry_size
            self._lead = total.to_bytes(4, "big") + self._front
        return self._lead + _MORE[entry & 0x7F] + self._back

    def _prepare(self, ledger: int, entry: int) -> None:
        back = write_varint(entry >> 7)
        if self._partition >= 0:
            back += b"\x18" + write_varint(self._partition)
        if self.epoch >= 0:
            back += b"\x28" + write_varint(self.epoch)
        if ledger != self._ledger or len(back) != len(self._back):
            whole = message_head(self._consumer_id, ledger, entry, self._partition, 0, None, self.epoch, 0)
            self._ledger = ledger
            self._front = whole[4 : len(whole) - len(back) - 1]
            self._size = -1
        self._high = entry >> 7
        self._back = back
