"""Compaction: a sealed segment of which less than half is needed is written anew with only the entries that are.

The new file is the next *generation* of the same segment under a name of its own. It is written as ``.tmp`` and synced,
then its sidecar is put in place, then it is renamed and the directory synced; only after that is the old generation
removed. After a crash the highest generation that has its final name counts, and that one is always whole.

State records are not copied: a segment is only rewritten when both checkpoints that are kept begin after it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from google_crc32c import value as crc32c

from magnetar.log.files.disk import Disk
from magnetar.log.files.index import SegmentIndex
from magnetar.log.files.records import COMMIT_BYTES, ENTRY_HEAD_BYTES, RECORD_HEAD, encode_commit
from magnetar.log.files.segment import (
    HEADER_BYTES,
    LENGTH_UNKNOWN,
    Header,
    decode_header,
    encode_header,
    pread_all,
    segment_name,
    write_all,
)
from magnetar.log.files.sidecar import entry_place, load_index, write_index

__all__ = ["CompactionJob", "StoppedError", "compact", "copy_segment"]

_COMMIT_BYTES = 1 << 20


class StoppedError(Exception):
    """The log is being closed; the rewriting can wait for the next start."""


@dataclass(slots=True)
class CompactionJob:
    """Which segment, and which entries of it are needed: stream, first offset, end."""

    number: int
    generation: int
    valid: int
    live: list[tuple[int, int, int]]


class _Pace:
    """Waits so that no more than so many bytes a second are written."""

    def __init__(self, bytes_per_second: int, stopping: threading.Event, clock: Callable[[], float]) -> None:
        self._rate = bytes_per_second
        self._stopping = stopping
        self._clock = clock
        self._due = clock()

    def spend(self, size: int) -> None:
        if self._rate:
            self._due += size / self._rate
            self._stopping.wait(max(0.0, self._due - self._clock()))
        if self._stopping.is_set():
            raise StoppedError


def compact(
    disk: Disk, directory: str, job: CompactionJob, bytes_per_second: int, stopping: threading.Event
) -> tuple[int, int]:
    """Write the next generation of a segment; its valid length and how many damaged entries were left behind."""
    old = os.path.join(directory, segment_name(job.number, job.generation))
    new = os.path.join(directory, segment_name(job.number, job.generation + 1))
    source = disk.open(old)
    try:
        fd = disk.create(new + ".tmp")
        try:
            pace = _Pace(bytes_per_second, stopping, time.monotonic)
            copied = _Copy(disk, source, fd, pace)
            places = _places(load_index(disk, directory, job.number, job.generation, job.valid), job.live)
            header = _next_header(disk, source, job.number, job.generation, old)
            copied.run(encode_header(header), places)
            disk.fsync(fd)
        finally:
            disk.close(fd)
        write_index(disk, directory, job.number, job.generation + 1, copied.position, copied.index)
        disk.rename(new + ".tmp", new)
        disk.fsync_directory(directory)
    except BaseException:
        with contextlib.suppress(OSError):
            disk.unlink(new + ".tmp")
        raise
    finally:
        disk.close(source)
    return copied.position, copied.damaged


def copy_segment(disk: Disk, directory: str, number: int, generation: int, valid: int) -> None:
    """Make the next generation of a segment a copy of its first ``valid`` bytes, header apart."""
    old = os.path.join(directory, segment_name(number, generation))
    new = os.path.join(directory, segment_name(number, generation + 1))
    source = disk.open(old)
    try:
        fd = disk.create(new + ".tmp")
        try:
            header = encode_header(_next_header(disk, source, number, generation, old))
            write_all(disk, fd, [header], len(header))
            for position in range(HEADER_BYTES, valid, _COMMIT_BYTES):
                data = pread_all(disk, source, min(_COMMIT_BYTES, valid - position), position)
                write_all(disk, fd, [data], len(data))
            disk.fsync(fd)
        finally:
            disk.close(fd)
        disk.rename(new + ".tmp", new)
        disk.fsync_directory(directory)
    except OSError:
        with contextlib.suppress(OSError):
            disk.unlink(new + ".tmp")
        raise
    finally:
        disk.close(source)


def _next_header(disk: Disk, source: int, number: int, generation: int, path: str) -> Header:
    """The header of the old generation but for the generation: the chain of segments must stay whole."""
    header = decode_header(disk.pread(source, HEADER_BYTES, 0), path)
    previous, valid = (header.previous, header.previous_valid) if header else (number - 1, LENGTH_UNKNOWN)
    return Header(number, generation + 1, previous, valid)


def _places(index: SegmentIndex, live: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Position, length, stream and offset of every needed entry, in the order of the file."""
    places: list[tuple[int, int, int, int]] = []
    for stream, first, end in live:
        for run in index.streams.get(stream, ()):
            for offset in range(max(first, run.first), min(end, run.end)):
                at = offset - run.first
                places.append((run.positions[at], run.lengths[at], stream, offset))
    places.sort()
    return places


class _Copy:
    """The copying itself, commit by commit."""

    def __init__(self, disk: Disk, source: int, target: int, pace: _Pace) -> None:
        self._disk = disk
        self._source = source
        self._target = target
        self._pace = pace
        self.position = HEADER_BYTES
        self.index = SegmentIndex()
        self.damaged = 0

    def run(self, header: bytes, places: list[tuple[int, int, int, int]]) -> None:
        """Write the header and all records."""
        write_all(self._disk, self._target, [header], len(header))
        records: list[bytes] = []
        size = 0
        for position, length, stream, offset in places:
            record = pread_all(self._disk, self._source, ENTRY_HEAD_BYTES + length, position)
            if not _sound(record, length, stream, offset):
                self.damaged += 1
                continue
            at = self.position + COMMIT_BYTES + size
            self.index.add_one(stream, offset, at, length)
            records.append(record)
            size += len(record)
            if size >= _COMMIT_BYTES:
                self._flush(records, size)
                records, size = [], 0
        if records:
            self._flush(records, size)

    def _flush(self, records: list[bytes], size: int) -> None:
        self._pace.spend(size)
        chunks = [encode_commit(size, len(records), self.position), *records]
        write_all(self._disk, self._target, chunks, size + COMMIT_BYTES)
        self.position += size + COMMIT_BYTES


def _sound(record: bytes, length: int, stream: int, offset: int) -> bool:
    if len(record) != ENTRY_HEAD_BYTES + length:
        return False
    crc, size, _ = RECORD_HEAD.unpack_from(record)
    return size == length + 17 and crc == crc32c(record[4:]) and entry_place(record) == (stream, offset)
