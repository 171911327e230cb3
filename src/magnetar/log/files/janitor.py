"""The janitor: checkpoints, sidecars, and giving back the space of segments nobody needs.

Its methods are called in the loop's thread; the work on files is done by two workers (one for checkpoints and
sidecars, one for rewriting, which takes long) and comes back as events. What may be dropped is bounded by the
*horizon*: the start of the older of the two checkpoints kept. No segment at or after it is dropped or rewritten, so
recovery could begin from either of them.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from magnetar.log.files.checkpoint import checkpoint_name, encode_checkpoint, encode_streams
from magnetar.log.files.compaction import CompactionJob, StoppedError, compact
from magnetar.log.files.disk import Disk
from magnetar.log.files.index import SegmentIndex
from magnetar.log.files.recovery import Segment
from magnetar.log.files.sidecar import replace_file, write_index
from magnetar.log.files.streams import StreamTable
from magnetar.log.files.worker import Worker

__all__ = ["Checkpointed", "Compacted", "Janitor", "JanitorEvent", "Noted"]

_log = logging.getLogger(__name__)
_CHECKPOINTS_KEPT: Final = 2


@dataclass(slots=True)
class Checkpointed:
    """A checkpoint file was written (or, with ``error``, could not be)."""

    number: int
    start: int
    error: Exception | None = None


@dataclass(slots=True)
class Compacted:
    """The next generation of a segment is in place (or, with ``valid`` 0, is not)."""

    number: int
    generation: int
    valid: int


@dataclass(slots=True)
class Noted:
    """The sidecar of this generation of a segment is in place."""

    number: int
    generation: int


JanitorEvent = Checkpointed | Compacted | Noted


@dataclass(slots=True)
class _Pending:
    token: int
    start: int | None = None
    state: list[tuple[int, bytes, bytes]] | None = None


class Janitor:
    """See the module's text."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        report: Callable[[JanitorEvent], None],
        remove: Callable[[int, int], None],
        held: tuple[StreamTable, dict[int, Segment]],
        checkpoints: tuple[list[tuple[int, int]], int],
        compact_bytes_per_second: int,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._report = report
        self._remove = remove
        self._table, self._segments = held
        self._checkpoints, self._next_checkpoint = checkpoints
        self._rate = compact_bytes_per_second
        self._files = Worker("magnetar-log-files")
        self._compactor = Worker("magnetar-log-compact")
        self._pending: _Pending | None = None
        self._writing = False
        self._compacting = False
        self._token = 0
        self._table.lighter = self._consider

    def start(self) -> None:
        """Begin, with a look at what recovery left."""
        self._files.start()
        self._compactor.start()
        self._consider_all()

    def close(self) -> None:
        """Finish checkpoints and sidecars; give up rewriting."""
        self._compactor.close()
        self._files.close()

    # Checkpoints.

    @property
    def checkpoint_pending(self) -> bool:
        """Whether one has been begun and is not yet on disk."""
        return self._pending is not None or self._writing

    def begin(self) -> int:
        """A new token; a checkpoint begun before and not finished is forgotten."""
        self._token += 1
        self._pending = _Pending(self._token)
        return self._token

    def rolled(self, token: int, start: int, next_stream: int) -> None:
        """The segment where replay will begin is known."""
        if self._pending is not None and self._pending.token == token:
            self._pending.start = start
            self._write_checkpoint(next_stream)

    def roll_failed(self, token: int) -> None:
        """There is no place for replay to begin: no checkpoint this time."""
        if self._pending is not None and self._pending.token == token:
            self._pending = None

    def finish(self, token: int, state: Iterable[tuple[int, bytes, bytes]], next_stream: int) -> None:
        """The state has been collected."""
        if self._pending is not None and self._pending.token == token:
            self._pending.state = list(state)
            self._write_checkpoint(next_stream)

    def _write_checkpoint(self, next_stream: int) -> None:
        """Once start and state are both there, note where the entries are and let a worker write it all."""
        pending = self._pending
        if pending is None or pending.start is None or pending.state is None:
            return
        self._pending = None
        self._writing = True
        number, start, state = self._next_checkpoint, pending.start, pending.state
        self._next_checkpoint += 1
        segments = [
            (segment.number, segment.generation, segment.valid)
            for segment in self._segments.values()
            if segment.number < start and segment.number in self._table.shares
        ]
        streams = encode_streams(self._table, start)

        def job() -> None:
            try:
                data = encode_checkpoint(number, start, next_stream, segments, streams, state)
                replace_file(self._disk, self._directory, checkpoint_name(number), data)
            except Exception as error:  # noqa: BLE001 - a thread of the log must not die
                _log.exception("checkpoint %d could not be written in %s", number, self._directory)
                self._report(Checkpointed(number, start, error))
            else:
                self._report(Checkpointed(number, start))

        self._files.put(job)

    def checkpointed(self, event: Checkpointed) -> bool:
        """Drop the oldest checkpoint and look for segments that can go; false if the checkpoint failed."""
        self._writing = False
        if event.error is not None:
            return False
        self._checkpoints.append((event.number, event.start))
        while len(self._checkpoints) > _CHECKPOINTS_KEPT:
            self._unlink(self._checkpoints.pop(0)[0])
        self._consider_all()
        return True

    def _unlink(self, number: int) -> None:
        def job() -> None:
            with contextlib.suppress(OSError):
                self._disk.unlink(os.path.join(self._directory, checkpoint_name(number)))

        self._files.put(job)

    # Sidecars.

    def sealed(self, segment: Segment) -> None:
        """A segment gets no more commits: its index may leave memory once it is on disk."""
        index = segment.index
        if index is None or not index.streams:
            segment.index = None
            self._consider(segment.number)
            return
        number, generation, valid = segment.number, segment.generation, segment.valid
        self._files.put(lambda: self._write_index(number, generation, valid, index))

    def _write_index(self, number: int, generation: int, valid: int, index: SegmentIndex) -> None:
        try:
            write_index(self._disk, self._directory, number, generation, valid, index)
        except Exception:  # noqa: BLE001 - a thread of the log must not die
            _log.exception("the index of segment %d stays in memory, it could not be written", number)
        else:
            self._report(Noted(number, generation))

    def noted(self, event: Noted) -> None:
        """The index is on disk."""
        segment = self._segments.get(event.number)
        if segment is not None and segment.generation == event.generation:
            segment.index = None
            self._consider(event.number)

    # Space.

    @property
    def _horizon(self) -> int:
        return self._checkpoints[0][1] if len(self._checkpoints) >= _CHECKPOINTS_KEPT else 0

    def _consider_all(self) -> None:
        for number in sorted(self._segments):
            self._consider(number)

    def _consider(self, number: int) -> None:
        """Drop the segment if nothing in it is needed; rewrite it if less than half is."""
        segment = self._segments.get(number)
        if segment is None or number >= self._horizon or not segment.sealed or segment.busy:
            return
        share = self._table.shares.get(number)
        if share is None:
            del self._segments[number]
            self._remove(number, segment.generation)
        elif (
            share.live_bytes * 2 < (segment.weight or segment.valid) and segment.index is None and not self._compacting
        ):
            self._compact(segment)

    def _compact(self, segment: Segment) -> None:
        segment.busy = self._compacting = True
        live = [
            (stream, extent.first, extent.end)
            for stream, held in self._table.streams.items()
            for extent in held.extents
            if extent.segment == segment.number
        ]
        job = CompactionJob(segment.number, segment.generation, segment.valid, live)
        self._compactor.put(lambda: self._run_compaction(job))

    def _run_compaction(self, job: CompactionJob) -> None:
        valid = 0
        try:
            valid, damaged = compact(self._disk, self._directory, job, self._rate, self._compactor.stopping)
            if damaged:
                _log.error("%d damaged entries of segment %d were left behind", damaged, job.number)
        except StoppedError:
            pass
        except Exception:  # noqa: BLE001 - a thread of the log must not die
            _log.exception("segment %d in %s could not be rewritten", job.number, self._directory)
        self._report(Compacted(job.number, job.generation + 1, valid))

    def compacted(self, event: Compacted) -> None:
        """Use the new generation from now on; the old one goes after the reads that still want it."""
        self._compacting = False
        segment = self._segments[event.number]
        segment.busy = False
        if event.valid:
            old, segment.generation, segment.valid = segment.generation, event.generation, event.valid
            share = self._table.shares.get(event.number)
            segment.weight = share.live_bytes if share is not None else 0
            self._remove(event.number, old)
            self._consider_all()
