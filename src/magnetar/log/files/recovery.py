"""Recovery: from the files of a directory to what the log holds.

The newest checkpoint that can be read says where all entries before its start are and what the state was; the segments
from its start on are replayed over it. Without any checkpoint everything is replayed. The headers are followed from the
newest segment back, because each one says how much of the segment before it counts.

Only the newest segment can have a torn tail, and only it can hold commits of which nobody knows whether they were
synced. They may even be there because a sync failed: then they are in the kernel's memory and nowhere else, and a sync
of this file would be one that is never to be repeated. So if there are such commits, the segment is copied to its next
generation up to the end of the last whole one, and the copy is synced. New commits always go to a new segment.
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass, field

from magnetar.log.files.checkpoint import (
    Checkpoint,
    checkpoint_name,
    decode_checkpoint,
    parse_checkpoint_name,
    start_of_checkpoint,
)
from magnetar.log.files.compaction import copy_segment
from magnetar.log.files.disk import Disk
from magnetar.log.files.index import SegmentIndex
from magnetar.log.files.records import COMMIT, ENTRY, ENTRY_HEAD_BYTES, Entries, decode_entry, decode_state
from magnetar.log.files.segment import (
    HEADER_BYTES,
    Damage,
    Scan,
    decode_header,
    parse_name,
    segment_name,
    sidecar_name,
)
from magnetar.log.files.sidecar import entry_place, read_file, write_index
from magnetar.log.files.streams import StreamTable
from magnetar.ports.log import Append, Drop, DropStream, Merge, Put, Recovered, RecoveredState, RecoveredStream, Trim

__all__ = ["Found", "Recovery", "Segment"]


@dataclass(slots=True)
class Segment:
    """What is known of one segment. ``index`` is there as long as no sidecar holds it."""

    number: int
    generation: int = 0
    valid: int = HEADER_BYTES
    sealed: bool = False
    index: SegmentIndex | None = None
    busy: bool = False
    """It is being rewritten."""
    weight: int = 0
    """Once rewritten: its live bytes then. They are estimates, so it must lose half of them before it is done again."""


@dataclass(slots=True)
class Found:
    """What ``Recovery.run`` gives to the store."""

    recovered: Recovered
    table: StreamTable
    segments: dict[int, Segment]
    last: tuple[int, int, int]
    """For the writer: the newest segment, its valid length, the next number."""
    checkpoints: list[tuple[int, int]]
    """Number and start of the checkpoints kept, oldest first."""
    next_checkpoint: int = 1
    replayed_bytes: int = 0
    """They count for when the next checkpoint is due, or a broker that crashes often would never write one."""


@dataclass(slots=True)
class _Link:
    """One segment file on the way back along the headers; ``limit`` is what its successor says is valid of it."""

    number: int
    generation: int
    limit: int | None = field(default=None)


class Recovery:
    """One recovery of one directory; ``run`` once."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._notes: list[str] = []
        self._state: dict[int, dict[bytes, RecoveredState]] = {}
        self._generations: dict[int, int] = {}
        self._highest = 0
        self._table = StreamTable()
        self._next_stream = 1

    def run(self) -> Found:
        """Read everything, repair what a crash left, and say what is there."""
        names = self._tidy(self._disk.listdir(self._directory))
        checkpoint, kept, next_checkpoint = self._checkpoint(names)
        self._table = checkpoint.streams
        self._next_stream = checkpoint.next_stream
        for stream, key, value in checkpoint.state:
            self._state.setdefault(stream, {})[key] = RecoveredState(value)
        segments = self._before(checkpoint)
        last = self._last_before(segments)
        links = self._chain(checkpoint.start)
        for link in links:
            segment = self._replay(link, link is links[-1])
            segments[segment.number] = segment
            last = (segment.number, segment.valid)
        replayed = sum(segments[link.number].valid for link in links)
        number = max(self._highest + 1, checkpoint.start, 1)
        return Found(self._result(), self._table, segments, (*last, number), kept, next_checkpoint, replayed)

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def _unlink(self, name: str) -> None:
        with contextlib.suppress(OSError):
            self._disk.unlink(self._path(name))

    def _tidy(self, names: list[str]) -> list[str]:
        """Remove what an interrupted writer left; note which generation of each segment counts."""
        for name in names:
            parsed = parse_name(name)
            if parsed is not None:
                number, generation = parsed
                self._generations[number] = max(generation, self._generations.get(number, 0))
                self._highest = max(self._highest, number)
        wanted = set()
        for number, generation in self._generations.items():
            wanted |= {segment_name(number, generation), sidecar_name(number, generation)}
        for name in names:
            if name.endswith(".tmp") or (name.endswith((".seg", ".idx")) and name not in wanted):
                self._unlink(name)
        return names

    def _checkpoint(self, names: list[str]) -> tuple[Checkpoint, list[tuple[int, int]], int]:
        """The newest readable checkpoint, what checkpoints to keep, and the next number."""
        numbers = sorted(n for n in map(parse_checkpoint_name, names) if n is not None)
        next_number = numbers[-1] + 1 if numbers else 1
        while numbers:
            number = numbers.pop()
            name = checkpoint_name(number)
            checkpoint = decode_checkpoint(read_file(self._disk, self._path(name)), self._path(name))
            if checkpoint is None:
                self._notes.append(f"{name} is damaged and was passed over; the one before it was used instead")
                self._unlink(name)
                continue
            kept = [(number, checkpoint.start)]
            for older in reversed(numbers):
                data = read_file(self._disk, self._path(checkpoint_name(older)))
                if len(kept) == 1 and decode_checkpoint(data, checkpoint_name(older)) is not None:
                    kept.insert(0, (older, start_of_checkpoint(data)))
                else:
                    self._unlink(checkpoint_name(older))
            return checkpoint, kept, next_number
        if next_number > 1:
            self._notes.append("no checkpoint can be read: all segments were read; state older than they are is lost")
        return Checkpoint(0, 0, 1), [], next_number

    def _before(self, checkpoint: Checkpoint) -> dict[int, Segment]:
        """The segments the checkpoint vouches for."""
        segments: dict[int, Segment] = {}
        for number, generation, valid in checkpoint.segments:
            found = self._generations.get(number)
            if found is None:
                continue  # Dead by now: what trimmed its entries is about to be replayed.
            if found != generation:
                valid = self._disk.size(self._path(segment_name(number, found)))
            segments[number] = Segment(number, found, valid, sealed=True)
        for number, generation in self._generations.items():
            if number < checkpoint.start and number not in segments:
                size = self._disk.size(self._path(segment_name(number, generation)))
                segments[number] = Segment(number, generation, size, sealed=True)
        return segments

    def _last_before(self, segments: dict[int, Segment]) -> tuple[int, int]:
        newest = max(segments, default=0)
        return (newest, segments[newest].valid) if newest else (0, 0)

    def _chain(self, start: int) -> list[_Link]:
        """The segments to replay, oldest first, without those that a later header declares void."""
        links: list[_Link] = []
        previous = self._highest
        limit: int | None = None
        for number in sorted((n for n in self._generations if n >= start), reverse=True):
            name = segment_name(number, self._generations[number])
            if number > previous:
                self._unlink(name)
                continue
            scan = Scan(self._disk, self._path(name))
            try:
                header = decode_header(scan.header(), self._path(name))
                if header is None:
                    if not links and not any(True for _ in scan):
                        self._notes.append(f"{name} had not been begun when the broker stopped and was removed")
                        self._unlink(name)
                        previous = number - 1
                        continue
                    self._notes.append(f"the header of {name} is damaged (byte 0); its records were read all the same")
            finally:
                scan.close()
            whole = self._generations[number] > 0 or number != previous
            links.append(_Link(number, self._generations[number], None if whole else limit))
            previous, limit = (header.previous, header.previous_valid) if header else (number - 1, None)
        links.reverse()
        return links

    def _replay(self, link: _Link, newest: bool) -> Segment:
        name = segment_name(link.number, link.generation)
        path = self._path(name)
        unsure = newest and not link.generation
        scan = Scan(self._disk, path, link.limit, 0 if unsure else self._disk.size(path))
        proven = scan.find_proven() if unsure else scan.size
        segment = Segment(link.number, link.generation, HEADER_BYTES, sealed=True, index=SegmentIndex())
        doubtful = False
        try:
            for found in scan:
                position = found[0] if isinstance(found, tuple) else found.position
                doubtful = doubtful or position >= proven
                if isinstance(found, Entries):
                    self._entries(segment, found)
                elif isinstance(found, Damage):
                    self._damaged(segment, name, found)
                else:
                    self._apply(segment, *found)
            segment.valid = scan.valid
            torn = scan.torn
        finally:
            scan.close()
        if newest and torn is not None and segment.valid < scan.size:
            self._notes.append(
                f"{name} ends in a commit that was not finished: cut at byte {segment.valid}, "
                f"{scan.size - segment.valid} bytes dropped"
            )
        if doubtful:
            self._renew(segment)
        elif segment.valid < scan.size and newest:
            self._disk.truncate(path, segment.valid, sync=False)
        self._store_index(segment)
        return segment

    def _renew(self, segment: Segment) -> None:
        """Copy the segment to a file whose sync can be trusted; on a full disk that of the old one must do."""
        old = self._path(segment_name(segment.number, segment.generation))
        try:
            copy_segment(self._disk, self._directory, segment.number, segment.generation, segment.valid)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self._notes.append(f"{old} could not be copied, the disk is full; it was synced where it is")
            self._disk.truncate(old, segment.valid, sync=True)
        else:
            self._unlink(segment_name(segment.number, segment.generation))
            self._unlink(sidecar_name(segment.number, segment.generation))
            segment.generation += 1

    def _store_index(self, segment: Segment) -> None:
        """Put the index beside its segment, so that it need not stay in memory; on a full disk it stays."""
        index = segment.index
        assert index is not None
        if index.streams:
            try:
                write_index(self._disk, self._directory, segment.number, segment.generation, segment.valid, index)
            except OSError as error:
                self._notes.append(f"the index of segment {segment.number} could not be written and is kept: {error}")
                return
        segment.index = None

    def _apply(self, segment: Segment, position: int, record: bytes) -> None:
        if record[8] == COMMIT:
            return
        try:
            found = decode_state(record)
        except ValueError as error:
            self._notes.append(f"segment {segment.number}, byte {position}: {error}; passed over")
            return
        number = found.stream
        self._next_stream = max(self._next_stream, number + 1)
        if isinstance(found, DropStream):
            self._table.drop(number)
            self._state.pop(number, None)
        elif isinstance(found, Trim):
            self._table.trim(number, found.offset)
        elif isinstance(found, Drop):
            self._state.get(number, {}).pop(found.key, None)
        elif isinstance(found, Put):
            self._state.setdefault(number, {})[found.key] = RecoveredState(found.value)
        elif isinstance(found, Merge):
            self._state.setdefault(number, {}).setdefault(found.key, RecoveredState()).merges.append(found.delta)
        else:
            assert not isinstance(found, Append)

    def _entries(self, segment: Segment, found: Entries) -> None:
        """Add entries. The checkpoint may know better already: that they were trimmed, and how far the stream goes."""
        number, offset, lengths = found.stream, found.offset, found.lengths
        self._next_stream = max(self._next_stream, number + 1)
        assert segment.index is not None
        segment.index.add(number, offset, found.position, lengths)
        stream = self._table.make(number)
        known_end = stream.end
        end = offset + len(lengths) - 1
        start = max(offset, stream.first, stream.extents[-1].end if stream.extents else 0)
        if start < end:
            self._table.append(number, segment.number, start, end - start, sum(lengths[1 + start - offset :]))
        stream.end = max(known_end, end)

    def _damaged(self, segment: Segment, name: str, found: Damage) -> None:
        """Note it. If the record still says that it is the next entry of its stream, its place is kept."""
        note = f"{name}, byte {found.position}: expected {found.expected}; {found.size} bytes were passed over"
        if len(found.record) >= ENTRY_HEAD_BYTES and found.record[8] == ENTRY:
            number, offset = entry_place(found.record)
            stream = self._table.streams.get(number)
            if stream is not None and stream.extents and stream.extents[-1].end == offset:
                self._entries(segment, decode_entry(found.position, found.record))
                note += f"; entry {offset} of stream {number} is damaged"
        self._notes.append(note)

    def _result(self) -> Recovered:
        streams: dict[int, RecoveredStream] = {}
        for number, stream in self._table.streams.items():
            self._next_stream = max(self._next_stream, number + 1)
            streams[number] = RecoveredStream(stream.first, stream.end, stream.size_bytes, self._state.pop(number, {}))
        for number, state in self._state.items():
            self._next_stream = max(self._next_stream, number + 1)
            if state:
                streams[number] = RecoveredStream(state=state)
        self._state = {}
        return Recovered(streams, self._next_stream, self._notes)
