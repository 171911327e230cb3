"""Where the entries of a segment are: for each stream, runs of consecutive offsets with a position and a length each.

A run costs eight bytes an entry. The index of the segment being written lives in memory; when a segment is sealed its
index goes into a sidecar file (``.idx``) and is read back on demand. A sidecar is only a cache of what a scan of its
segment finds, so one that is missing, damaged or of another segment is simply made anew.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from struct import Struct

from google_crc32c import value as crc32c

from magnetar.log.files.records import ENTRY_HEAD_BYTES

__all__ = ["Run", "SegmentIndex", "decode_index", "encode_index"]

MAGIC = b"MGNTRIDX"
VERSION = 1
_HEAD = Struct("<8sIQIII")
"""Magic, version, segment, generation, valid length of the segment, number of runs."""
_RUN = Struct("<QQI")
"""Stream, first offset, entries; then the positions, then the lengths, four bytes each."""
_CRC = Struct("<I")


class Run:
    """Entries ``first`` and on of one stream: ``positions[i]`` is where the record of ``first + i`` begins."""

    __slots__ = ("first", "lengths", "positions")

    def __init__(self, first: int, positions: array[int], lengths: array[int]) -> None:
        self.first = first
        self.positions = positions
        self.lengths = lengths

    @property
    def end(self) -> int:
        return self.first + len(self.positions)


class SegmentIndex:
    """The runs of one segment, by stream, in rising order of offsets."""

    __slots__ = ("streams",)

    def __init__(self) -> None:
        self.streams: dict[int, list[Run]] = {}

    def add(self, stream: int, offset: int, position: int, lengths: list[int]) -> None:
        """Entries from ``offset`` on, the first record at ``position``, the others right behind it.

        ``lengths[0]`` is not a length (see ``encode_records``); the entries' lengths follow it.
        """
        run = self._run(stream, offset)
        positions = run.positions
        if len(lengths) == 2:
            positions.append(position)
            run.lengths.append(lengths[1])
            return
        add = positions.append
        sizes = lengths[1:]
        for size in sizes:
            add(position)
            position += size + ENTRY_HEAD_BYTES
        run.lengths.extend(sizes)

    def add_one(self, stream: int, offset: int, position: int, length: int) -> None:
        """The same for a single entry, as recovery finds it."""
        run = self._run(stream, offset)
        run.positions.append(position)
        run.lengths.append(length)

    def _run(self, stream: int, offset: int) -> Run:
        runs = self.streams.get(stream)
        if runs is None:
            runs = self.streams[stream] = []
        elif runs[-1].end == offset:
            return runs[-1]
        run = Run(offset, array("I"), array("I"))
        runs.append(run)
        return run

    def find(self, stream: int, offset: int) -> tuple[Run, int] | None:
        """The run that holds ``offset`` and the place of the entry in it."""
        for run in self.streams.get(stream, ()):
            if run.first <= offset < run.end:
                return run, offset - run.first
        return None

    def runs(self) -> Iterator[tuple[int, Run]]:
        """Every run with its stream."""
        for stream, runs in self.streams.items():
            for run in runs:
                yield stream, run

    @property
    def size_bytes(self) -> int:
        """About how much memory it holds."""
        return sum(200 + 8 * len(run.positions) for _, run in self.runs())


def _packed(values: array[int]) -> bytes:
    assert values.itemsize == 4
    if sys.byteorder == "big":
        values = array("I", values)
        values.byteswap()
    return values.tobytes()


def _unpacked(data: bytes) -> array[int]:
    values = array("I")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def encode_index(index: SegmentIndex, segment: int, generation: int, valid: int) -> bytes:
    """The bytes of a sidecar."""
    runs = list(index.runs())
    parts = [_HEAD.pack(MAGIC, VERSION, segment, generation, valid, len(runs))]
    for stream, run in runs:
        parts.append(_RUN.pack(stream, run.first, len(run.positions)))
        parts.append(_packed(run.positions))
        parts.append(_packed(run.lengths))
    data = b"".join(parts)
    return data + _CRC.pack(crc32c(data))


def decode_index(data: bytes, segment: int, generation: int, valid: int) -> SegmentIndex | None:
    """The index in a sidecar, or ``None`` if it is damaged or belongs to another state of the segment."""
    if len(data) < _HEAD.size + 4 or _CRC.unpack_from(data, len(data) - 4)[0] != crc32c(data[:-4]):
        return None
    magic, version, number, found, length, count = _HEAD.unpack_from(data)
    if (magic, version, number, found, length) != (MAGIC, VERSION, segment, generation, valid):
        return None
    index = SegmentIndex()
    at = _HEAD.size
    for _ in range(count):
        stream, first, entries = _RUN.unpack_from(data, at)
        at += _RUN.size
        middle = at + 4 * entries
        stop = middle + 4 * entries
        run = Run(first, _unpacked(data[at:middle]), _unpacked(data[middle:stop]))
        index.streams.setdefault(stream, []).append(run)
        at = stop
    return index
