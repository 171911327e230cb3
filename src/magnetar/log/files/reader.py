"""The reader: one thread that answers reads from the segment files.

The loop's thread knows in which segments the wanted entries are, and hands over a *plan* of pieces; for a segment
whose index is still in memory the piece brings the positions along. For a sealed one the reader loads the sidecar, of
which it keeps the most recently used within ``index_cache_bytes``. Neighbouring records are fetched with one ``pread``.

Files that are not needed any more are also unlinked here: plans made before are then surely answered.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from struct import Struct
from typing import Final

from google_crc32c import extend
from google_crc32c import value as crc32c

from magnetar.log.files.disk import Disk
from magnetar.log.files.errors import failure
from magnetar.log.files.index import SegmentIndex
from magnetar.log.files.records import ENTRY, ENTRY_HEAD_BYTES
from magnetar.log.files.segment import pread_all, segment_name, sidecar_name
from magnetar.log.files.sidecar import load_index
from magnetar.ports.log import ReadDone

__all__ = ["Piece", "Plan", "Reader"]

_log = logging.getLogger(__name__)
_GAP_BYTES_MAX: Final = 4096
_SPAN_BYTES_MAX: Final = 4 << 20
_FILES_MAX: Final = 64
_HEAD: Final = Struct("<IIBQQ").unpack_from


@dataclass(slots=True)
class Piece:
    """``count`` entries of a stream from offset ``first`` on that lie in one segment (0: in none, they are damaged)."""

    segment: int
    generation: int
    valid: int
    stream: int
    first: int
    count: int
    positions: Sequence[int] | None = None
    lengths: Sequence[int] | None = None


@dataclass(slots=True)
class Plan:
    """One read."""

    ticket: int
    offset: int
    max_bytes: int
    pieces: list[Piece]


@dataclass(slots=True)
class _Remove:
    segment: int
    generation: int


class Reader:
    """See the module's text."""

    def __init__(self, disk: Disk, directory: str, index_cache_bytes: int, report: Callable[[ReadDone], None]) -> None:
        self._disk = disk
        self._directory = directory
        self._cache_bytes_max = index_cache_bytes
        self._report = report
        self._queue: SimpleQueue[Plan | _Remove | None] = SimpleQueue()
        self._files: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._indexes: OrderedDict[tuple[int, int], SegmentIndex] = OrderedDict()
        self._index_bytes = 0
        self._thread = threading.Thread(target=self._run, name="magnetar-log-reader", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def put(self, plan: Plan) -> None:
        """Ask for a read."""
        self._queue.put(plan)

    def remove(self, segment: int, generation: int) -> None:
        """Unlink a segment and its sidecar after the reads asked for so far."""
        self._queue.put(_Remove(segment, generation))

    def close(self) -> None:
        """Answer what was asked and end the thread."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()
        for fd in self._files.values():
            self._disk.close(fd)
        self._files.clear()
        self._indexes.clear()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            if isinstance(job, _Remove):
                self._forget(job)
                continue
            try:
                answer = ReadDone(job.ticket, job.offset, self._entries(job))
            except Exception as error:  # noqa: BLE001 - a thread of the log must not die
                _log.exception("a read of the log in %s failed", self._directory)
                answer = ReadDone(job.ticket, job.offset, [], failure(error, self._directory, "reading the log"))
            self._report(answer)

    def _entries(self, plan: Plan) -> list[bytes | None]:
        found: list[bytes | None] = []
        left = plan.max_bytes
        for piece in plan.pieces:
            if not piece.segment:
                found.extend([None] * piece.count)
                continue
            places = self._places(piece)
            taken = 0
            for _, length in places:
                left -= length
                if left < 0 and (found or taken):
                    break
                taken += 1
            self._fetch(piece, places[:taken], found)
            if taken < len(places):
                break
        return found

    def _places(self, piece: Piece) -> list[tuple[int, int]]:
        """Position and length of each entry of the piece; position 0 where the index knows none."""
        if piece.positions is not None and piece.lengths is not None:
            return list(zip(piece.positions, piece.lengths, strict=True))
        index = self._index(piece)
        places: list[tuple[int, int]] = []
        while len(places) < piece.count:
            hit = index.find(piece.stream, piece.first + len(places))
            if hit is None:
                places.append((0, 0))
                continue
            run, at = hit
            stop = at + piece.count - len(places)
            places.extend(zip(run.positions[at:stop], run.lengths[at:stop], strict=True))
        return places

    def _index(self, piece: Piece) -> SegmentIndex:
        key = (piece.segment, piece.generation)
        index = self._indexes.get(key)
        if index is None:
            index = load_index(self._disk, self._directory, piece.segment, piece.generation, piece.valid)
            self._indexes[key] = index
            self._index_bytes += index.size_bytes
            while self._index_bytes > self._cache_bytes_max and len(self._indexes) > 1:
                self._index_bytes -= self._indexes.popitem(last=False)[1].size_bytes
        else:
            self._indexes.move_to_end(key)
        return index

    def _file(self, piece: Piece) -> int:
        key = (piece.segment, piece.generation)
        fd = self._files.get(key)
        if fd is None:
            fd = self._files[key] = self._disk.open(
                os.path.join(self._directory, segment_name(piece.segment, piece.generation))
            )
            if len(self._files) > _FILES_MAX:
                self._disk.close(self._files.popitem(last=False)[1])
        else:
            self._files.move_to_end(key)
        return fd

    def _fetch(self, piece: Piece, places: list[tuple[int, int]], found: list[bytes | None]) -> None:
        """Read the records at ``places``, as many with one call as lie close together."""
        at = 0
        offset = piece.first
        while at < len(places):
            start, length = places[at]
            if not start:
                found.append(None)
                at += 1
                offset += 1
                continue
            end = start + ENTRY_HEAD_BYTES + length
            stop = at + 1
            while stop < len(places):
                position, length = places[stop]
                after = position + ENTRY_HEAD_BYTES + length
                if not 0 <= position - end <= _GAP_BYTES_MAX or after - start > _SPAN_BYTES_MAX:
                    break
                end = after
                stop += 1
            data = pread_all(self._disk, self._file(piece), end - start, start)
            for position, length in places[at:stop]:
                entry = _checked(data, position - start, length, piece.stream, offset)
                if entry is None:
                    name = segment_name(piece.segment, piece.generation)
                    _log.error(
                        "entry %d of stream %d is damaged: %s, byte %d, in %s",
                        offset, piece.stream, name, position, self._directory,
                    )  # fmt: skip
                found.append(entry)
                offset += 1
            at = stop

    def _forget(self, job: _Remove) -> None:
        key = (job.segment, job.generation)
        fd = self._files.pop(key, None)
        if fd is not None:
            self._disk.close(fd)
        index = self._indexes.pop(key, None)
        if index is not None:
            self._index_bytes -= index.size_bytes
        for name in (segment_name(*key), sidecar_name(*key)):
            with contextlib.suppress(OSError):
                self._disk.unlink(os.path.join(self._directory, name))


def _checked(data: bytes, at: int, length: int, stream: int, offset: int) -> bytes | None:
    """The entry whose record is at ``at`` of ``data``, if the record is sound and is the one that was asked for."""
    start = at + ENTRY_HEAD_BYTES
    entry = data[start : start + length]
    if start > len(data) or len(entry) != length:
        return None
    crc, size, kind, of_stream, of_offset = _HEAD(data, at)
    if (size, kind, of_stream, of_offset) != (length + 17, ENTRY, stream, offset):
        return None
    return entry if extend(crc32c(data[at + 4 : start]), entry) == crc else None
