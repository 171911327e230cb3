"""Records: how entries and state look in a segment, and the hot path that encodes them.

Every record is ``u32 crc32c | u32 length | u8 kind | body``, little-endian; ``length`` counts kind and body, and the
checksum covers all after itself. A commit is one COMMIT record, which says how many bytes and records follow it, and
then those records. One entry is one record, so that a flipped bit costs that entry and nothing else.

The COMMIT record also says up to where its file was known to be durable when it was written (``synced``). This is
what lets recovery tell two kinds of damage apart. Bytes below the highest ``synced`` of a file were once synced: if a
record there is broken, the disk has rotted, and only that record is lost. Bytes above it may have reached the disk in
any order or not at all: the first commit there that is not whole ends the log.

This module is typed so that mypyc can compile it; it must also run as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from google_crc32c import extend
from google_crc32c import value as crc32c

from magnetar.ports.log import Append, Drop, DropStream, Merge, Put, Record, Trim

__all__ = [
    "COMMIT",
    "COMMIT_BYTES",
    "DROP",
    "DROP_STREAM",
    "ENTRY",
    "ENTRY_HEAD_BYTES",
    "MERGE",
    "PUT",
    "RECORD_HEAD",
    "RECORD_HEAD_BYTES",
    "TRIM",
    "Entries",
    "decode_body",
    "decode_commit",
    "decode_entry",
    "decode_state",
    "encode_append",
    "encode_commit",
    "encode_records",
]

ENTRY: Final = 1
PUT: Final = 2
MERGE: Final = 3
DROP: Final = 4
TRIM: Final = 5
DROP_STREAM: Final = 6
COMMIT: Final = 7

RECORD_HEAD: Final = Struct("<IIB")
RECORD_HEAD_BYTES: Final = 9
ENTRY_HEAD_BYTES: Final = 25
COMMIT_BYTES: Final = 21

_CRC: Final = Struct("<I").pack
_ENTRY: Final = Struct("<IBQQ").pack
_COMMIT: Final = Struct("<IBIII").pack
_KEYED: Final = Struct("<IBQH").pack
_NUMBERED: Final = Struct("<IBQQ").pack
_BARE: Final = Struct("<IBQ").pack
_HEAD: Final = RECORD_HEAD.unpack_from
_U32X3: Final = Struct("<III").unpack_from
_U64: Final = Struct("<Q").unpack_from
_U64X2: Final = Struct("<QQ").unpack_from
_U64_U16: Final = Struct("<QH").unpack_from


class Entries:
    """Entries of one stream that lie one behind the other in a segment, the record of the first at ``position``.

    ``lengths`` has one number too many in front: that is the form in which ``encode_records`` makes them.
    """

    __slots__ = ("lengths", "offset", "position", "stream")

    def __init__(self, stream: int, offset: int, position: int, lengths: list[int]) -> None:
        self.stream = stream
        self.offset = offset
        self.position = position
        self.lengths = lengths


def encode_append(out: list[bytes], lengths: list[int], stream: int, offset: int, entries: list[bytes]) -> int:
    """Append the records of ``entries`` to ``out`` and their lengths to ``lengths``; how many bytes that is.

    The bytes of an entry are put into ``out`` as they are, never copied.
    """
    add = out.append
    measure = lengths.append
    total = 0
    for entry in entries:
        size = len(entry)
        head = _ENTRY(size + 17, ENTRY, stream, offset)
        add(_CRC(extend(crc32c(head), entry)))
        add(head)
        add(entry)
        measure(size)
        total += size
        offset += 1
    return total + ENTRY_HEAD_BYTES * len(entries)


def _encode_other(record: Record) -> bytes:
    if isinstance(record, Put):
        body = _KEYED(11 + len(record.key) + len(record.value), PUT, record.stream, len(record.key))
        body += record.key + record.value
    elif isinstance(record, Merge):
        body = _KEYED(11 + len(record.key) + len(record.delta), MERGE, record.stream, len(record.key))
        body += record.key + record.delta
    elif isinstance(record, Drop):
        body = _KEYED(11 + len(record.key), DROP, record.stream, len(record.key)) + record.key
    elif isinstance(record, Trim):
        body = _NUMBERED(17, TRIM, record.stream, record.offset)
    else:
        body = _BARE(9, DROP_STREAM, record.stream)
    return _CRC(crc32c(body)) + body


def encode_records(out: list[bytes], records: Sequence[Record]) -> tuple[int, int, list[list[int]]]:
    """Encode a commit's records: bytes, number of records, and for each ``Append`` its place and entry lengths.

    The list of an ``Append`` is the position of its first record from the start of the commit's body, then the length
    of each entry: all that the index needs once it is known where in which file the commit went.
    """
    total = 0
    count = 0
    appends: list[list[int]] = []
    for record in records:
        if isinstance(record, Append):
            lengths = [total]
            total += encode_append(out, lengths, record.stream, record.offset, record.entries)
            count += len(record.entries)
            appends.append(lengths)
        else:
            data = _encode_other(record)
            out.append(data)
            total += len(data)
            count += 1
    return total, count, appends


def encode_commit(size: int, count: int, synced: int) -> bytes:
    """The record before a commit of ``count`` records and ``size`` bytes; see the module's text for ``synced``."""
    body = _COMMIT(13, COMMIT, size, count, synced)
    return _CRC(crc32c(body)) + body


def decode_commit(record: bytes) -> tuple[int, int, int]:
    """``size, count, synced`` of a COMMIT record."""
    size, count, synced = _U32X3(record, RECORD_HEAD_BYTES)
    return size, count, synced


def decode_entry(position: int, record: bytes) -> Entries:
    """An ENTRY record by itself."""
    stream, offset = _U64X2(record, RECORD_HEAD_BYTES)
    return Entries(stream, offset, position, [0, len(record) - ENTRY_HEAD_BYTES])


def decode_body(body: bytes, base: int, count: int) -> list[Entries | tuple[int, bytes]] | None:
    """The ``count`` records of a commit whose body begins at ``base``; ``None`` if anything about it is not sound."""
    found: list[Entries | tuple[int, bytes]] = []
    run: Entries | None = None
    next_offset = -1
    at = 0
    end = len(body)
    while at < end:
        if at + RECORD_HEAD_BYTES > end:
            return None
        crc, length, kind = _HEAD(body, at)
        stop = at + 8 + length
        if length < 1 or stop > end or crc32c(body[at + 4 : stop]) != crc:
            return None
        count -= 1
        if kind == ENTRY and length >= 17:
            stream, offset = _U64X2(body, at + RECORD_HEAD_BYTES)
            if run is not None and offset == next_offset and stream == run.stream:
                run.lengths.append(length - 17)
            else:
                run = Entries(stream, offset, base + at, [0, length - 17])
                found.append(run)
            next_offset = offset + 1
        else:
            run = None
            found.append((base + at, body[at:stop]))
        at = stop
    return found if count == 0 else None


def decode_state(record: bytes) -> Record:
    """A sound record that is neither ENTRY nor COMMIT; ``ValueError`` if it makes no sense."""
    kind = record[8]
    size = len(record)
    if kind == TRIM and size == 25:
        stream, offset = _U64X2(record, 9)
        return Trim(stream, offset)
    if kind == DROP_STREAM and size == 17:
        (stream,) = _U64(record, 9)
        return DropStream(stream)
    if kind in (PUT, MERGE, DROP) and size >= 19:
        stream, key_size = _U64_U16(record, 9)
        stop = 19 + key_size
        if stop <= size:
            key = record[19:stop]
            if kind == PUT:
                return Put(stream, key, record[stop:])
            if kind == MERGE:
                return Merge(stream, key, record[stop:])
            return Drop(stream, key)
    raise ValueError(f"a record of kind {kind} and {size} bytes is not known")
