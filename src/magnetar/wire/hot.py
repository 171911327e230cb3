"""The commands that travel once per message, decoded by hand: SEND and FLOW here, and the envelope of all commands.

Every command is a BaseCommand: a type number, and one sub-message whose field number is that type. ``split`` finds the
sub-message without parsing it, the ``decode_`` functions read it. Acknowledgements are in ``acks``, what is written
back in ``replies``; both are reachable from here. Commands that are none of these go through ``commands``.

All of it is plain functions on ``bytes`` with a start and an end, written so that mypyc compiles it well: loops over
indexes, ints, no closures. ``varint`` explains how bounds are kept. Fields follow protobuf's rules: any order, the last
of a repeated scalar wins, unknown fields are stepped over, a known number in a foreign form counts as unknown, and
repeated ints are accepted packed and unpacked. A missing required field is a WireError, as is anything malformed.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.acks import (
    ACK_CUMULATIVE,
    ACK_INDIVIDUAL,
    Ack,
    MessageId,
    Redeliver,
    decode_ack,
    decode_plain_ack,
    decode_redeliver,
)
from magnetar.wire.errors import WireError
from magnetar.wire.replies import (
    PING_FRAME,
    PONG_FRAME,
    MessageHeads,
    ack_response,
    message_head,
    send_error,
    send_receipt,
    send_receipts,
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
    "send_receipts",
    "split",
    "write_varint",
]

SEND_CHUNK: Final = 1
SEND_MARKER: Final = 2
SEND_HAS_TXN: Final = 4
SEND_HAS_ID: Final = 8

_TYPE_MAX: Final = (1 << 29) - 1


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
