"""The commands that travel once per message, decoded by hand: SEND, ACK, FLOW, REDELIVER, and the envelope of all.

Every command is a BaseCommand: a type number, and one sub-message whose field number is that type. ``split`` finds the
sub-message without parsing it, the ``decode_`` functions read it, and the encoders of ``replies`` (also reachable from
here) write the answers. Commands that are not here go through ``commands`` and protobuf.

All of it is plain functions on ``bytes`` with a start and an end, written so that mypyc compiles it well: loops over
indexes, ints, no closures. ``varint`` explains how bounds are kept. Fields follow protobuf's rules: any order, the last
of a repeated scalar wins, unknown fields are stepped over, a known number in a foreign form counts as unknown, and
repeated ints are accepted packed and unpacked. A missing required field is a WireError, as is anything malformed.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.errors import WireError
from magnetar.wire.replies import (
    PING_FRAME,
    PONG_FRAME,
    MessageHeads,
    ack_response,
    message_head,
    send_error,
    send_receipt,
)
from magnetar.wire.varint import check_bounds, int32, read_varint, rest_of_varint, skip_field, write_varint

__all__ = [
    "ACK_CUMULATIVE",
    "ACK_INDIVIDUAL",
    "PING_FRAME",
    "PONG_FRAME",
    "SEND_CHUNK",
    "SEND_HAS_ID",
    "SEND_HAS_TXN",
    "SEND_MARKER",
    "Ack",
    "MessageHeads",
    "MessageId",
    "Redeliver",
    "WireError",
    "ack_response",
    "decode_ack",
    "decode_flow",
    "decode_plain_ack",
    "decode_redeliver",
    "decode_send",
    "message_head",
    "read_varint",
    "send_error",
    "send_receipt",
    "split",
    "write_varint",
]

SEND_CHUNK: Final = 1
SEND_MARKER: Final = 2
SEND_HAS_TXN: Final = 4
SEND_HAS_ID: Final = 8

ACK_INDIVIDUAL: Final = 0
ACK_CUMULATIVE: Final = 1

_TYPE_MAX: Final = (1 << 29) - 1


class MessageId:
    """The id of a message as it came: -1, 0 or None stand where a field is absent (see the names in ``__init__``).

    ``ledger`` and ``entry`` are unsigned 64-bit, so "earliest" is 2**64-1 here. ``ack_set`` holds 64-bit words, also
    unsigned; a set bit means "still unacknowledged".
    """

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

    def __init__(self, consumer_id: int, ack_type: int, ids: list[MessageId]) -> None:
        self.consumer_id: int = consumer_id
        self.ack_type: int = ack_type
        self.ids: list[MessageId] = ids
        self.request_id: int = -1
        self.has_txn: bool = False
        self.validation_error: int = -1


class Redeliver:
    """A REDELIVER_UNACKNOWLEDGED_MESSAGES command: no ids means "everything", ``epoch`` is -1 when absent."""

    def __init__(self, consumer_id: int, ids: list[MessageId], epoch: int) -> None:
        self.consumer_id: int = consumer_id
        self.ids: list[MessageId] = ids
        self.epoch: int = epoch


def split(buf: bytes, start: int, end: int) -> tuple[int, int, int]:
    """Find the sub-message of the BaseCommand in ``buf[start:end]``: its type, where it starts and where it ends.

    A command that comes without its sub-message has an empty one: ``(type, end, end)``.
    """
    check_bounds(buf, start, end)
    # Nearly every writer puts the type first and the sub-message right behind it, up to the end.
    if end - start > 4 and buf[start] == 8:
        kind = buf[start + 1]
        i = start + 2
        if kind < 16:
            found = buf[i] == (kind << 3 | 2)
            i += 1
        else:
            found = kind < 128 and buf[i] == (kind << 3 & 0x7F | 0x82) and buf[i + 1] == kind >> 4
            i += 2
        if found and kind and i < end:
            length = buf[i]
            i += 1
            if length < 128:
                if i + length == end:
                    return kind, i, end
            elif i < end and buf[i] < 128 and i + 1 + (length & 0x7F | buf[i] << 7) == end:
                return kind, i + 1, end
    return _split_any(buf, start, end)


def _split_any(buf: bytes, start: int, end: int) -> tuple[int, int, int]:
    kind = 0
    i = start
    while i < end:
        if buf[i] == 8:
            kind, i = read_varint(buf, i + 1, end)
        else:
            i = skip_field(buf, i, end)
    if kind < 1 or kind > _TYPE_MAX:
        raise WireError("a command without a usable type")
    wanted = kind << 3 | 2
    body_start = end
    body_end = end
    found = 0
    i = start
    while i < end:
        tag, after = read_varint(buf, i, end)
        if tag == wanted:
            length, body_start = read_varint(buf, after, end)
            body_end = i = body_start + length
            found += 1
        else:
            i = skip_field(buf, i, end)
    if i != end:
        raise WireError("a command is cut off")
    # Protobuf would merge two halves of one sub-message. Nobody writes that, and as bounds it cannot be said.
    if found > 1:
        raise WireError("a command with two bodies")
    return kind, body_start, body_end


def decode_send(buf: bytes, start: int, end: int) -> tuple[int, int, int, int, int]:
    """Read a SEND: producer id, sequence id, number of messages, highest sequence id (0: absent), ``SEND_`` flags."""
    check_bounds(buf, start, end)
    producer_id = -1
    sequence_id = -1
    num_messages = 1
    highest = 0
    flags = 0
    i = start
    try:
        while i < end:
            tag = buf[i]
            if tag & 0x87 != 0 or tag == 0:
                if tag == 0x4A:
                    flags |= SEND_HAS_ID
                i = skip_field(buf, i, end)
                continue
            n = buf[i + 1]
            i += 2
            if n >= 128:
                n, i = rest_of_varint(buf, i, n)
            if tag == 0x08:
                producer_id = n
            elif tag == 0x10:
                sequence_id = n
            elif tag == 0x18:
                num_messages = int32(n)
            elif tag == 0x30:
                highest = n
            elif tag == 0x20 or tag == 0x28:
                flags |= SEND_HAS_TXN
            elif tag == 0x38:
                flags = flags | SEND_CHUNK if n else flags & ~SEND_CHUNK
            elif tag == 0x40:
                flags = flags | SEND_MARKER if n else flags & ~SEND_MARKER
    except IndexError:
        raise WireError("SEND is cut off") from None
    if i != end:
        raise WireError("SEND is cut off")
    if producer_id < 0 or sequence_id < 0:
        raise WireError("SEND lacks producer_id or sequence_id")
    return producer_id, sequence_id, num_messages, highest, flags


def decode_flow(buf: bytes, start: int, end: int) -> tuple[int, int]:
    """Read a FLOW: consumer id and permits."""
    check_bounds(buf, start, end)
    consumer_id = -1
    permits = -1
    i = start
    try:
        while i < end:
            tag = buf[i]
            if tag != 0x08 and tag != 0x10:
                i = skip_field(buf, i, end)
                continue
            n = buf[i + 1]
            i += 2
            if n >= 128:
                n, i = rest_of_varint(buf, i, n)
            if tag == 0x08:
                consumer_id = n
            else:
                permits = n & 0xFFFFFFFF
    except IndexError:
        raise WireError("FLOW is cut off") from None
    if i != end:
        raise WireError("FLOW is cut off")
    if consumer_id < 0 or permits < 0:
        raise WireError("FLOW lacks consumer_id or messagePermits")
    return consumer_id, permits


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
        if buf[i] != 0x10 or buf[i + 1] != 0 or buf[i + 2] != 0x1A or buf[i + 4] != 0x08:
            return -1, 0, 0
        length = buf[i + 3]
        if length >= 128 or i + 4 + length != end:
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
            if i != end and (i + 11 != end or buf[i:end] != b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"):
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
                if n <= 4:
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
