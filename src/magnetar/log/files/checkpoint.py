"""Checkpoint files: where every stream's entries are and what its state was, so that recovery need not read it all.

``checkpoint-<number>.ckpt`` is written under another name, synced, renamed and its directory synced. Two are kept:
should the newest not be readable, the one before it still is, and no segment that it needs is dropped or rewritten
before it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from struct import error as struct_error
from typing import Final

from google_crc32c import value as crc32c

from magnetar.log.files.errors import FormatUnknown
from magnetar.log.files.streams import Extent, StreamTable

__all__ = [
    "Checkpoint",
    "checkpoint_name",
    "decode_checkpoint",
    "encode_checkpoint",
    "encode_streams",
    "parse_checkpoint_name",
    "start_of_checkpoint",
]

MAGIC: Final = b"MGNTRCKP"
VERSION: Final = 1
_HEAD: Final = Struct("<8sIQQQIII")
"""Magic, version, number, replay start, next stream, number of segments, of streams, of state values."""
_SEGMENT: Final = Struct("<QII")
"""Segment, generation, valid length."""
_STREAM: Final = Struct("<QQQI")
"""Stream, first offset, end, number of extents."""
_EXTENT: Final = Struct("<QQIQ")
"""Segment, first offset, entries, bytes of all entries."""
_STATE: Final = Struct("<QHI")
"""Stream, key length, value length; key and value follow."""
_CRC: Final = Struct("<I")
_NAME = re.compile(r"^checkpoint-(\d{20})\.ckpt$")


@dataclass(slots=True)
class Checkpoint:
    """What a checkpoint file says."""

    number: int
    start: int
    """The first segment to replay."""
    next_stream: int
    streams: StreamTable = field(default_factory=StreamTable)
    state: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    """Number, generation and valid length of the segments before ``start`` that hold entries."""


def checkpoint_name(number: int) -> str:
    """The file name of a checkpoint."""
    return f"checkpoint-{number:020d}.ckpt"


def parse_checkpoint_name(name: str) -> int | None:
    """The number, if ``name`` is that of a checkpoint."""
    match = _NAME.match(name)
    return None if match is None else int(match[1])


def encode_streams(table: StreamTable, start: int) -> tuple[int, list[bytes]]:
    """The streams' part: how many, and their bytes. Extents in segment ``start`` and later come back by replay."""
    parts: list[bytes] = []
    for number, stream in table.streams.items():
        extents = [extent for extent in stream.extents if extent.segment < start]
        parts.append(_STREAM.pack(number, stream.first, stream.end, len(extents)))
        parts.extend(_EXTENT.pack(e.segment, e.first, e.count, e.size) for e in extents)
    return len(table.streams), parts


def encode_checkpoint(
    number: int,
    start: int,
    next_stream: int,
    segments: list[tuple[int, int, int]],
    streams: tuple[int, list[bytes]],
    state: Iterable[tuple[int, bytes, bytes]],
) -> bytes:
    """The bytes of a checkpoint file; ``streams`` comes from ``encode_streams``."""
    values: list[bytes] = []
    count = 0
    for stream, key, value in state:
        values.append(_STATE.pack(stream, len(key), len(value)))
        values.append(key)
        values.append(value)
        count += 1
    head = _HEAD.pack(MAGIC, VERSION, number, start, next_stream, len(segments), streams[0], count)
    data = b"".join([head, *(_SEGMENT.pack(*segment) for segment in segments), *streams[1], *values])
    return data + _CRC.pack(crc32c(data))


def decode_checkpoint(data: bytes, path: str) -> Checkpoint | None:
    """What ``data`` says, or ``None`` if it is damaged; a later format raises ``FormatUnknown``."""
    if len(data) < _HEAD.size + 4 or _CRC.unpack_from(data, len(data) - 4)[0] != crc32c(data[:-4]):
        return None
    magic, version, number, start, next_stream, segments, streams, values = _HEAD.unpack_from(data)
    if magic != MAGIC:
        return None
    if version != VERSION:
        raise FormatUnknown(f"{path} has format version {version}, this Magnetar knows {VERSION}: use a later release")
    found = Checkpoint(number, start, next_stream)
    try:
        at = _HEAD.size
        for _ in range(segments):
            found.segments.append(_SEGMENT.unpack_from(data, at))
            at += _SEGMENT.size
        at = _read_streams(found, data, at, streams)
        for _ in range(values):
            stream, key_size, value_size = _STATE.unpack_from(data, at)
            at += _STATE.size
            found.state.append((stream, data[at : at + key_size], data[at + key_size : at + key_size + value_size]))
            at += key_size + value_size
    except struct_error:
        return None
    return found


def start_of_checkpoint(data: bytes) -> int:
    """The replay start alone, from the first bytes of a checkpoint file; 0 if they are too few."""
    return int(_HEAD.unpack_from(data)[3]) if len(data) >= _HEAD.size else 0


def _read_streams(found: Checkpoint, data: bytes, at: int, count: int) -> int:
    for _ in range(count):
        number, first, end, extents = _STREAM.unpack_from(data, at)
        at += _STREAM.size
        stream = found.streams.make(number)
        for _ in range(extents):
            segment, start, entries, size = _EXTENT.unpack_from(data, at)
            at += _EXTENT.size
            found.streams.extend(number, Extent(segment, start, entries, size))
        stream.first = first
        stream.end = max(stream.end, end)
        found.streams.trim(number, first)
    return at
