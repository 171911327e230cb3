"""What consumers say about messages they hold, decoded by hand: ACK and REDELIVER_UNACKNOWLEDGED_MESSAGES.

Nearly every ACK names one whole entry and nothing else. ``decode_plain_ack`` reads just that, in one pass and without
making an object; it answers "not plain" to whatever it does not know byte by byte, and ``decode_ack`` reads the rest.
The rules of decoding are those of ``hot`` and ``varint``.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.errors import WireError
from magnetar.wire.varint import check_bounds, int32, read_varint, rest_of_varint, skip_field

__all__ = [
    "ACK_CUMULATIVE",
    "ACK_INDIVIDUAL",
    "Ack",
    "MessageId",
    "Redeliver",
    "decode_ack",
    "decode_plain_ack",
    "decode_redeliver",
]

ACK_INDIVIDUAL: Final = 0
ACK_CUMULATIVE: Final = 1
_VALIDATION_ERROR_MAX: Final = 4
_NO_BATCH_INDEX: Final = b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
"""The field batch_index with the value -1, as some clients spell it out."""


class MessageId:
    """The id of a message as it came. An absent field is -1, ``batch_size`` 0, ``ack_set`` None.

    ``ledger`` and ``entry`` are unsigned 64-bit, so "earliest" is 2**64-1 here. ``ack_set`` holds 64-bit words, also
    unsigned; a set bit means "still unacknowledged".
    """

    __slots__ = ("ack_set", "batch_index", "batch_size", "entry", "has_first_chunk", "ledger", "partition")

    def __init__(self, ledger: int, entry: int) -> None:
        self.ledger: int = ledger
        self.entry: int = entry
        self.partition: int = -1
        self.batch_index: int = -1
        self.ack_set: list[int] | None = None
        self.batch_size: int = 0
        self.has_first_chunk: bool = False


class Ack:
    """An ACK command. ``request_id`` and ``validation_error`` are -1 when absent."""

    __slots__ = ("ack_type", "consumer_id", "has_txn", "ids", "request_id", "validation_error")

    def __init__(self, consumer_id: int, ack_type: int, ids: list[MessageId]) -> None:
        self.consumer_id: int = consumer_id
        self.ack_type: int = ack_type
        self.ids: list[MessageId] = ids
        self.request_id: int = -1
        self.has_txn: bool = False
        self.validation_error: int = -1


class Redeliver:
    """A REDELIVER_UNACKNOWLEDGED_MESSAGES command: no ids means "everything", ``epoch`` is -1 when absent."""

    __slots__ = ("consumer_id", "epoch", "ids")

    def __init__(self, consumer_id: int, ids: list[MessageId], epoch: int) -> None:
        self.consumer_id: int = consumer_id
        self.ids: list[MessageId] = ids
        self.epoch: int = epoch


def decode_plain_ack(buf: bytes, start: int, end: int) -> tuple[int, int, int]:
    """Read the most common ACK, one whole entry and nothing more: consumer id, ledger, entry.

    The consumer id is -1 when the command is not of that kind, or not written in the usual order, or malformed;
    ``decode_ack`` is then to be asked.
    """
    if start < 0 or end > len(buf):
        return -1, 0, 0
    try:
        if buf[start] != 0x08:
            return -1, 0, 0
        consumer_id = buf[start + 1]
        i = start + 2
        if consumer_id >= 128:
            consumer_id, i = rest_of_varint(buf, i, consumer_id)
        # A length of two bytes cannot pass for one here: the few fields read below never make up 128 bytes.
        if buf[i] != 0x10 or buf[i + 1] != 0 or buf[i + 2] != 0x1A or i + 4 + buf[i + 3] != end or buf[i + 4] != 0x08:
            return -1, 0, 0
        ledger = buf[i + 5]
        i += 6
        if ledger >= 128:
            ledger, i = rest_of_varint(buf, i, ledger)
        if buf[i] != 0x10:
            return -1, 0, 0
        entry = buf[i + 1]
        i += 2
        if entry >= 128:
            entry, i = rest_of_varint(buf, i, entry)
        if i != end:
            if buf[i] == 0x18:
                partition = buf[i + 1]
                i += 2
                if partition >= 128:
                    _, i = rest_of_varint(buf, i, partition)
            if i != end and buf[i:end] != _NO_BATCH_INDEX:
                return -1, 0, 0
    except (IndexError, WireError):
        return -1, 0, 0
    return consumer_id, ledger, entry


def decode_ack(buf: bytes, start: int, end: int) -> Ack:
    """Read an ACK with all that a broker looks at; the client's free properties are stepped over."""
    check_bounds(buf, start, end)
    ack = Ack(-1, -1, [])
    i = start
    while i < end:
        tag = buf[i]
        if tag == 0x1A:
            length, i = read_varint(buf, i + 1, end)
            if length > end - i:
                raise WireError("ACK is cut off")
            ack.ids.append(_message_id(buf, i, i + length))
            i += length
        elif tag & 0x87 == 0 and tag:
            n, i = read_varint(buf, i + 1, end)
            if tag == 0x08:
                ack.consumer_id = n
            elif tag == 0x10:
                # Protobuf sets an enum value aside that it does not know, as if the field were not there.
                if n <= ACK_CUMULATIVE:
                    ack.ack_type = n
            elif tag == 0x20:
                if n <= _VALIDATION_ERROR_MAX:
                    ack.validation_error = n
            elif tag == 0x30 or tag == 0x38:
                ack.has_txn = True
            elif tag == 0x40:
                ack.request_id = n
        else:
            i = skip_field(buf, i, end)
    if ack.consumer_id < 0 or ack.ack_type < 0:
        raise WireError("ACK lacks consumer_id or a known ack_type")
    return ack


def decode_redeliver(buf: bytes, start: int, end: int) -> Redeliver:
    """Read a REDELIVER_UNACKNOWLEDGED_MESSAGES."""
    check_bounds(buf, start, end)
    consumer_id = -1
    epoch = -1
    ids: list[MessageId] = []
    i = start
    while i < end:
        tag = buf[i]
        if tag == 0x12:
            length, i = read_varint(buf, i + 1, end)
            if length > end - i:
                raise WireError("REDELIVER is cut off")
            ids.append(_message_id(buf, i, i + length))
            i += length
        elif tag == 0x08:
            consumer_id, i = read_varint(buf, i + 1, end)
        elif tag == 0x18:
            epoch, i = read_varint(buf, i + 1, end)
        else:
            i = skip_field(buf, i, end)
    if consumer_id < 0:
        raise WireError("REDELIVER lacks consumer_id")
    return Redeliver(consumer_id, ids, epoch)


def _message_id(buf: bytes, start: int, end: int) -> MessageId:
    mid = MessageId(-1, -1)
    i = start
    try:
        while i < end:
            tag = buf[i]
            if tag & 0x87 == 0 and tag:
                n = buf[i + 1]
                i += 2
                if n >= 128:
                    n, i = rest_of_varint(buf, i, n)
                if tag == 0x08:
                    mid.ledger = n
                elif tag == 0x10:
                    mid.entry = n
                elif tag == 0x18:
                    mid.partition = int32(n)
                elif tag == 0x20:
                    mid.batch_index = int32(n)
                elif tag == 0x28:
                    if mid.ack_set is None:
                        mid.ack_set = [n]
                    else:
                        mid.ack_set.append(n)
                elif tag == 0x30:
                    mid.batch_size = int32(n)
            elif tag == 0x2A:
                i = _packed_words(buf, i + 1, end, mid)
            else:
                if tag == 0x3A:
                    mid.has_first_chunk = True
                i = skip_field(buf, i, end)
    except IndexError:
        raise WireError("a message id is cut off") from None
    if i != end:
        raise WireError("a message id is cut off")
    if mid.ledger < 0 or mid.entry < 0:
        raise WireError("a message id lacks ledgerId or entryId")
    return mid


def _packed_words(buf: bytes, i: int, end: int, mid: MessageId) -> int:
    length, i = read_varint(buf, i, end)
    if length > end - i:
        raise WireError("an ack_set is cut off")
    stop = i + length
    words: list[int] = mid.ack_set or []
    while i < stop:
        n, i = read_varint(buf, i, stop)
        words.append(n)
    if words:
        mid.ack_set = words
    return i
