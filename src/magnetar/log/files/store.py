"""``FileLog``: the log port over segment files.

Who owns what: the loop's thread owns the streams, the indexes in memory and the table of segments, and changes them
only in ``poll``, when it learns what the other threads have done. The writer owns the open segment, the reader its
files and the cached indexes. Between them go messages: into their queues, and back through one inbox that ``poll``
empties. So there is no lock, and an entry can be read from the moment its ``Committed`` has been polled.

                submit -> encode -> [writer: write, fdatasync] -> inbox -> poll: index, extents -> Committed
                  read -> plan   -> [reader: pread, check]     -> inbox -> poll                 -> ReadDone
     finish_checkpoint -> encode -> [worker: file, rename]     -> inbox -> poll: drop the oldest, reclaim segments
"""

from __future__ import annotations

import copy
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from magnetar.log.files.disk import Disk, OsDisk
from magnetar.log.files.errors import DirectoryInUse, failure
from magnetar.log.files.index import SegmentIndex
from magnetar.log.files.janitor import Checkpointed, Compacted, Janitor, JanitorEvent, Noted
from magnetar.log.files.reader import Piece, Plan, Reader
from magnetar.log.files.records import COMMIT_BYTES, encode_records
from magnetar.log.files.recovery import Found, Recovery, Segment
from magnetar.log.files.segment import HEADER_BYTES
from magnetar.log.files.streams import Stream, StreamTable
from magnetar.log.files.writer import Commit, GroupFailed, Rolled, RollFailed, Sealed, Writer, WriterEvent, Written
from magnetar.log.rules import check_commit
from magnetar.ports.log import (
    Append,
    Committed,
    DropStream,
    Event,
    Failed,
    LogStats,
    ReadDone,
    Record,
    Recovered,
    Trim,
)

__all__ = ["FileLog"]

_log = logging.getLogger(__name__)
_COMMIT_BYTES_MAX = 1 << 30
LOCK_NAME = "LOCK"


def _nobody() -> None:
    """Nobody is woken before ``start``."""


@dataclass(slots=True)
class _Parts:
    """The threads of a log that has been recovered."""

    writer: Writer
    reader: Reader
    janitor: Janitor


class FileLog:
    """The log in ``directory``; see ``magnetar.ports.log`` for how it is driven and the module's text for its inside.

        log = FileLog("data/log")
        recovered = log.recover()
        log.start(wake)

    ``segment_bytes``: when a new segment is begun. ``checkpoint_bytes``: after how many bytes a checkpoint is due.
    ``index_cache_bytes``: how much memory the indexes of sealed segments may take. ``compact_bytes_per_second``: how
    fast half-dead segments are rewritten (0: without limit).
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        segment_bytes: int = 64 << 20,
        checkpoint_bytes: int | None = None,
        index_cache_bytes: int = 16 << 20,
        compact_bytes_per_second: int = 32 << 20,
        disk: Disk | None = None,
    ) -> None:
        self._directory = os.fspath(directory)
        self._segment_bytes = segment_bytes
        self._checkpoint_bytes = segment_bytes if checkpoint_bytes is None else checkpoint_bytes
        self._index_cache_bytes = index_cache_bytes
        self._compact_bytes_per_second = compact_bytes_per_second
        self._disk: Disk = OsDisk() if disk is None else disk
        self._lock: int | None = None
        self._inbox: deque[WriterEvent | JanitorEvent | ReadDone] = deque()
        self._leftover: list[Event] = []
        self._wake: Callable[[], None] = _nobody
        self._table = StreamTable()
        self._segments: dict[int, Segment] = {}
        self._ends: dict[int, int] = {}
        self._next_stream = 1
        self._number = 0
        self._epoch = 0
        self._stats = LogStats()
        self._since_checkpoint = 0
        self._parts: _Parts | None = None
        self._closed = False

    # Opening and closing.

    def recover(self) -> Recovered:
        assert self._parts is None, "recover is called once"
        try:
            self._disk.make_directory(self._directory)
            self._lock = self._disk.lock(os.path.join(self._directory, LOCK_NAME))
        except OSError as error:
            raise failure(error, self._directory, "opening the log") from error
        if self._lock is None:
            raise DirectoryInUse(
                f"{self._directory} is in use by another process: stop that one first, or choose another directory"
            )
        try:
            found = Recovery(self._disk, self._directory).run()
        except OSError as error:
            self._release()
            raise failure(error, self._directory, "recovering the log") from error
        except BaseException:
            self._release()
            raise
        self._take(found)
        return found.recovered

    def _take(self, found: Found) -> None:
        self._table = found.table
        self._segments = found.segments
        self._next_stream = found.recovered.next_stream
        self._ends = {number: stream.end for number, stream in self._table.streams.items()}
        self._since_checkpoint = found.replayed_bytes
        writer = Writer(self._disk, self._directory, self._segment_bytes, self._report, found.last)
        reader = Reader(self._disk, self._directory, self._index_cache_bytes, self._report)
        janitor = Janitor(
            self._disk,
            self._directory,
            self._report,
            reader.remove,
            (self._table, self._segments),
            (found.checkpoints, found.next_checkpoint),
            self._compact_bytes_per_second,
        )
        self._parts = _Parts(writer, reader, janitor)

    def start(self, wake: Callable[[], None]) -> None:
        parts = self._parts
        assert parts is not None, "recover first"
        self._wake = wake
        parts.writer.start()
        parts.reader.start()
        parts.janitor.start()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._parts is not None:
            for part in (self._parts.writer, self._parts.janitor, self._parts.reader):
                part.close()
                self._leftover.extend(self._drain())
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._disk.close(self._lock)
            self._lock = None

    def _open_parts(self) -> _Parts:
        assert self._parts is not None, "recover comes first"
        assert not self._closed, "the log is closed"
        return self._parts

    def _report(self, event: WriterEvent | JanitorEvent | ReadDone) -> None:
        self._inbox.append(event)
        self._wake()

    # Commits.

    def submit(self, records: Sequence[Record]) -> int:
        writer = self._open_parts().writer
        check_commit(records, self._ends)
        chunks: list[bytes] = []
        size, count, appends = encode_records(chunks, records)
        if size > _COMMIT_BYTES_MAX:
            raise ValueError(f"a commit of {size} bytes is too large; at most {_COMMIT_BYTES_MAX} are possible")
        self._number += 1
        commit = Commit(self._number, self._epoch, list(records), chunks, (size, count))
        commit.appends = appends
        writer.put(commit)
        return self._number

    def poll(self) -> list[Event]:
        if self._leftover:
            events, self._leftover = self._leftover, []
            return events + self._drain()
        return self._drain()

    def _drain(self) -> list[Event]:
        events: list[Event] = []
        inbox = self._inbox
        while inbox:
            event = inbox.popleft()
            if isinstance(event, Written):
                for commit in event.commits:
                    self._apply(commit)
                events.append(Committed(event.commits[-1].number))
            elif isinstance(event, ReadDone):
                events.append(event)
            elif isinstance(event, GroupFailed):
                self._epoch += 1
                self._ends = {number: stream.end for number, stream in self._table.streams.items()}
                self._stats.failures += 1
                events.append(Failed(event.number, event.error))
            else:
                self._housekeeping(event)
        return events

    def _housekeeping(self, event: Sealed | Rolled | RollFailed | JanitorEvent) -> None:
        assert self._parts is not None
        janitor = self._parts.janitor
        if isinstance(event, Sealed):
            segment = self._segment(event.number)
            segment.sealed = True
            segment.valid = event.valid
            janitor.sealed(segment)
        elif isinstance(event, Rolled):
            janitor.rolled(event.token, event.start, self._next_stream)
        elif isinstance(event, RollFailed):
            janitor.roll_failed(event.token)
            self._since_checkpoint = self._checkpoint_bytes // 2
        elif isinstance(event, Checkpointed):
            if not janitor.checkpointed(event):
                self._since_checkpoint = self._checkpoint_bytes // 2
        elif isinstance(event, Compacted):
            janitor.compacted(event)
        elif isinstance(event, Noted):
            janitor.noted(event)

    def _segment(self, number: int) -> Segment:
        segment = self._segments.get(number)
        if segment is None:
            segment = self._segments[number] = Segment(number, index=SegmentIndex())
        return segment

    def _apply(self, commit: Commit) -> None:
        """A commit is durable: its entries can be found from now on."""
        number = commit.segment
        segment = self._segment(number)
        index = segment.index
        assert index is not None, "the index of the segment being written is in memory"
        table = self._table
        appends = iter(commit.appends)
        for record in commit.records:
            stream = record.stream
            if stream >= self._next_stream:
                self._next_stream = stream + 1
            if isinstance(record, Append):
                lengths = next(appends)
                if len(lengths) > 1:
                    index.add(stream, record.offset, commit.base + lengths[0], lengths)
                    table.append(stream, number, record.offset, len(lengths) - 1, sum(lengths) - lengths[0])
            elif isinstance(record, Trim):
                table.trim(stream, record.offset)
            elif isinstance(record, DropStream):
                table.drop(stream)
                if not self._ends.get(stream, 1):
                    del self._ends[stream]
        size = COMMIT_BYTES + commit.size
        segment.valid = commit.base + commit.size
        self._since_checkpoint += size
        self._stats.commits += 1
        self._stats.synced_bytes += size

    # Reads.

    def read(self, ticket: int, stream: int, offset: int, max_entries: int, max_bytes: int) -> None:
        reader = self._open_parts().reader
        found = self._table.streams.get(stream)
        start = offset if found is None else max(offset, found.first)
        if found is None or start >= found.end or max_entries <= 0:
            self._report(ReadDone(ticket, start, []))
            return
        reader.put(Plan(ticket, start, max_bytes, self._pieces(stream, found, start, max_entries)))

    def _pieces(self, number: int, stream: Stream, offset: int, entries: int) -> list[Piece]:
        pieces: list[Piece] = []
        stop = min(stream.end, offset + entries)
        at = stream.locate(offset)
        while offset < stop:
            extent = stream.extents[at] if at < len(stream.extents) else None
            if extent is None or offset < extent.first:
                until = stop if extent is None else min(stop, extent.first)
                pieces.append(Piece(0, 0, 0, number, offset, until - offset))
                offset = until
                continue
            until = min(stop, extent.end)
            segment = self._segments.get(extent.segment)
            if segment is None:
                pieces.append(Piece(0, 0, 0, number, offset, until - offset))
            else:
                pieces.append(self._piece(segment, number, offset, until - offset))
            offset = until
            at += 1
        return pieces

    def _piece(self, segment: Segment, stream: int, offset: int, count: int) -> Piece:
        piece = Piece(segment.number, segment.generation, segment.valid, stream, offset, count)
        if segment.index is not None:
            hit = segment.index.find(stream, offset)
            assert hit is not None, "an extent has no run in its segment's index"
            run, at = hit
            piece.positions = run.positions[at : at + count]
            piece.lengths = run.lengths[at : at + count]
        return piece

    # Checkpoints and figures.

    def checkpoint_due(self) -> bool:
        if self._since_checkpoint < self._checkpoint_bytes:
            return False
        return not self._open_parts().janitor.checkpoint_pending

    def begin_checkpoint(self) -> int:
        parts = self._open_parts()
        token = parts.janitor.begin()
        self._since_checkpoint = 0
        parts.writer.roll(token)
        return token

    def finish_checkpoint(self, token: int, state: Iterable[tuple[int, bytes, bytes]]) -> None:
        self._open_parts().janitor.finish(token, state, self._next_stream)

    def stream_bytes(self, stream: int) -> int:
        found = self._table.streams.get(stream)
        return 0 if found is None else found.size_bytes

    def stats(self) -> LogStats:
        stats = copy.copy(self._stats)
        stats.segments = len(self._segments)
        stats.disk_bytes = sum(max(segment.valid, HEADER_BYTES) for segment in self._segments.values())
        stats.live_bytes = sum(share.live_bytes for share in self._table.shares.values())
        return stats
