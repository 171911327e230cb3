"""The writer: one thread that makes commits durable, and the only one that knows the file they go to.

It takes all commits that wait, writes as many of them as fit into the segment with one call, syncs once, and says so.
All encoding is done before, by the thread that submits, so that this one holds the interpreter's lock only for moments.

When a write or a sync fails, the segment is abandoned: it is never written or synced again, because after a failed sync
the kernel may have dropped the pages and would call the next sync a success. What is known to be durable in it, its
*valid length*, goes into the header of the next segment, which is opened at once: only with that header on disk is it
certain that nothing of the failed commits is ever seen again. If even that cannot be written (the disk is full), the
next commit tries again. Commits that were submitted before the driver saw the failure carry its epoch and are dropped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from magnetar.errors import LogFailed
from magnetar.log.files.disk import Disk
from magnetar.log.files.errors import failure
from magnetar.log.files.records import COMMIT_BYTES, encode_commit
from magnetar.log.files.segment import HEADER_BYTES, Header, encode_header, segment_name, write_all
from magnetar.ports.log import Record

__all__ = ["Commit", "GroupFailed", "RollFailed", "Rolled", "Sealed", "Writer", "WriterEvent", "Written"]

_log = logging.getLogger(__name__)
_GROUP_BYTES_MAX: Final = 16 << 20
_EMPTY_SEGMENT: Final = HEADER_BYTES
_POSITION_MAX: Final = 0xFFFF_FFFF


class Commit:
    """One submitted commit, encoded, on its way to the disk and back."""

    __slots__ = ("appends", "base", "chunks", "count", "epoch", "number", "records", "segment", "size")

    def __init__(
        self, number: int, epoch: int, records: list[Record], chunks: list[bytes], measures: tuple[int, int]
    ) -> None:
        self.number = number
        self.epoch = epoch
        self.records = records
        self.chunks = chunks
        self.size, self.count = measures
        self.appends: list[list[int]] = []
        self.segment = 0
        self.base = 0


@dataclass(slots=True)
class Written:
    """These commits are durable; each knows its segment and where its body begins."""

    commits: list[Commit]


@dataclass(slots=True)
class Sealed:
    """Segment ``number`` gets no more commits; its first ``valid`` bytes count."""

    number: int
    valid: int


@dataclass(slots=True)
class Rolled:
    """Everything submitted after the call that gave ``token`` is in segment ``start`` or later."""

    token: int
    start: int


@dataclass(slots=True)
class RollFailed:
    """No segment could be begun for the checkpoint ``token``."""

    token: int


@dataclass(slots=True)
class GroupFailed:
    """Commit ``number`` and all after it of the same epoch are void."""

    number: int
    error: LogFailed


WriterEvent = Written | Sealed | Rolled | RollFailed | GroupFailed


@dataclass(slots=True)
class _Roll:
    token: int


class _Stop:
    """The last thing in the queue."""


class Writer:
    """See the module's text. ``put``, ``roll`` and ``close`` are for the loop's thread."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segment_bytes: int,
        report: Callable[[WriterEvent], None],
        last: tuple[int, int, int],
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._segment_bytes = min(segment_bytes, _POSITION_MAX)
        self._report = report
        self._queue: SimpleQueue[Commit | _Roll | _Stop] = SimpleQueue()
        self._pending: deque[Commit | _Roll | _Stop] = deque()
        self._fd = -1
        self._number, self._valid, self._next = last
        """The newest segment, how much of it is durable, and the next number to use."""
        self._durable = (self._number, self._valid)
        """The same of the newest segment that holds a commit: what the next header names."""
        self._useless: list[int] = []
        """Abandoned segments without a commit. Each voids what failed before it and stays until the next one does."""
        self._failed_epoch = -1
        self._thread = threading.Thread(target=self._run, name="magnetar-log-writer", daemon=True)

    def start(self) -> None:
        """Begin to take commits."""
        self._thread.start()

    def put(self, commit: Commit) -> None:
        """Hand over a commit."""
        self._queue.put(commit)

    def roll(self, token: int) -> None:
        """Begin a new segment after all that was put so far."""
        self._queue.put(_Roll(token))

    def close(self) -> None:
        """Finish what was put and end the thread."""
        self._queue.put(_Stop())
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            if not self._pending:
                self._pending.append(self._queue.get())
            with contextlib.suppress(Empty):
                while True:
                    self._pending.append(self._queue.get_nowait())
            first = self._pending[0]
            if isinstance(first, _Stop):
                self._finish()
                return
            if isinstance(first, _Roll):
                self._pending.popleft()
                self._begin_checkpoint(first)
            else:
                self._write_group()

    def _write_group(self) -> None:
        """Write and sync as many waiting commits as fit, and report them."""
        pending = self._pending
        first = pending[0]
        assert isinstance(first, Commit)
        if first.epoch <= self._failed_epoch:
            pending.popleft()
            return
        group: list[Commit] = []
        try:
            if self._fd < 0 or (
                self._valid > _EMPTY_SEGMENT and self._valid + COMMIT_BYTES + first.size > self._segment_bytes
            ):
                self._open_next()
            size = self._write(group)
            self._disk.fdatasync(self._fd)
        except Exception as error:  # noqa: BLE001 - a thread of the log must not die
            _log.exception("the log in %s could not make commit %d durable", self._directory, first.number)
            self._abandon(first, error)
            return
        self._valid += size
        self._durable = (self._number, self._valid)
        self._report(Written(group))

    def _write(self, group: list[Commit]) -> int:
        pending = self._pending
        synced = position = self._valid
        room = min(self._segment_bytes - position, _GROUP_BYTES_MAX)
        chunks: list[bytes] = []
        while pending:
            commit = pending[0]
            if not isinstance(commit, Commit):
                break
            size = COMMIT_BYTES + commit.size
            if group and position - synced + size > room:
                break
            pending.popleft()
            group.append(commit)
            chunks.append(encode_commit(commit.size, commit.count, synced))
            chunks.extend(commit.chunks)
            commit.chunks = []
            commit.segment = self._number
            commit.base = position + COMMIT_BYTES
            position += size
        write_all(self._disk, self._fd, chunks, position - synced)
        return position - synced

    def _open_next(self) -> None:
        """Begin a segment whose header, and whose name in the directory, are on disk before anything follows."""
        number = self._next
        self._next += 1
        path = os.path.join(self._directory, segment_name(number))
        header = encode_header(Header(number, 0, *self._durable))
        fd = self._disk.create(path)
        try:
            write_all(self._disk, fd, [header], len(header))
            self._disk.fsync(fd)
            self._disk.fsync_directory(self._directory)
        except OSError:
            self._disk.close(fd)
            with contextlib.suppress(OSError):
                self._disk.unlink(path)
            raise
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._report(Sealed(self._number, self._valid))
        self._fd = fd
        self._number = number
        self._valid = HEADER_BYTES
        for useless in self._useless:
            with contextlib.suppress(OSError):
                self._disk.unlink(os.path.join(self._directory, segment_name(useless)))
        self._useless.clear()

    def _abandon(self, first: Commit, error: Exception) -> None:
        self._failed_epoch = first.epoch
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._disk.close(fd)
            path = os.path.join(self._directory, segment_name(self._number))
            with contextlib.suppress(OSError):
                self._disk.truncate(path, self._valid, sync=False)
            if self._valid > _EMPTY_SEGMENT:
                self._report(Sealed(self._number, self._valid))
            else:
                self._useless.append(self._number)
        try:
            self._open_next()
        except OSError as again:
            _log.error("no new segment could be begun in %s: %s", self._directory, again)
        self._report(GroupFailed(first.number, failure(error, self._directory, "writing the log")))

    def _begin_checkpoint(self, roll: _Roll) -> None:
        fresh = self._fd < 0 and self._failed_epoch < 0
        try:
            # After a failure there must be a segment whose header voids what failed, or a replay that starts before
            # this checkpoint would find it. A log that has not been written to yet needs no file.
            if not fresh and (self._fd < 0 or self._valid > _EMPTY_SEGMENT):
                self._open_next()
        except OSError as error:
            _log.warning("no segment could be begun for a checkpoint in %s: %s", self._directory, error)
            self._report(RollFailed(roll.token))
            return
        self._report(Rolled(roll.token, self._next if fresh else self._number))

    def _finish(self) -> None:
        """An empty commit proves that all before it is durable, so that rot is not taken for a tear later."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            if self._valid > _EMPTY_SEGMENT:
                write_all(self._disk, self._fd, [encode_commit(0, 0, self._valid)], COMMIT_BYTES)
                self._disk.fdatasync(self._fd)
                self._valid += COMMIT_BYTES
        self._disk.close(self._fd)
        self._fd = -1
