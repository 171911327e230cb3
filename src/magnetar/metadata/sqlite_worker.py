"""The thread that owns the SQLite connection; see ``sqlite`` for how it is used.

A job goes through three hands: the loop makes it and puts it on the queue, this thread runs it, and the loop gives its
answer to whoever waits. Only one of them has it at any time, so nothing in it needs a lock.
"""

from __future__ import annotations

import logging
import os
import queue
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from magnetar.errors import MetadataFailed
from magnetar.metadata.sqlite_format import Tables
from magnetar.ports.metadata import Change

__all__ = ["Job", "Options", "Worker", "check_durability", "failure"]

_BATCH_JOBS_MAX = 1000
_SYNCHRONOUS_FULL = 2
_RETRY_SECONDS = 0.02

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk, or the limit of this file, is full: free space, then try again",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: stop the broker and restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database or its beginning is damaged: restore it from a backup",
    sqlite3.SQLITE_BUSY: "another process keeps it locked: stop that process, then try again",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked: stop that process, then try again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and may be written to",
    sqlite3.SQLITE_READONLY: "it may not be written to: check the permissions of the file and of its folder",
    sqlite3.SQLITE_PERM: "it may not be written to: check the permissions of the file and of its folder",
    sqlite3.SQLITE_IOERR: "the disk failed: look at the system's log, repair the disk, then restart the broker",
}
_UNKNOWN = "this is not expected: check the disk, then report it with this message"

_log = logging.getLogger(__name__)


class Job(Protocol):
    """Something to be done with the tables; the answer is handed to its owner by the loop."""

    writes: bool

    def attempt(self, tables: Tables) -> None:
        """Do it and keep the answer. ``sqlite3.Error`` passes through, for then the whole transaction is void."""

    def fail(self, error: MetadataFailed) -> None:
        """Forget the answer: this error takes its place."""

    def answer(self) -> None:
        """Hand the answer over. For the loop's thread only."""


@dataclass(slots=True, frozen=True)
class Options:
    """The store's settings, as its constructor documents them."""

    path: Path
    busy_timeout_ms: int
    poll_ms: int
    changes_kept: int
    bytes_max: int | None


class Worker:
    """Takes jobs until it is given None. ``post`` is called from this thread with finished jobs and heard changes."""

    def __init__(
        self,
        options: Options,
        jobs: queue.SimpleQueue[Job | None],
        post: Callable[[list[Job], list[Change]], None],
        watched: Callable[[], bool],
    ) -> None:
        self._options = options
        self._jobs = jobs
        self._post = post
        self._watched = watched
        self._broken = False
        self._listening = False
        self._last_change = 0
        self._data_version = 0

    def main(self, opened: Callable[[MetadataFailed | None], None], closed: Callable[[], None]) -> None:
        """The life of the thread: open, report, work, close, report."""
        try:
            db = _connect(self._options)
        except (sqlite3.Error, OSError) as error:
            opened(failure(self._options.path, error))
            return
        except MetadataFailed as error:
            opened(error)
            return
        opened(None)
        try:
            self._work(db, Tables(db, self._options.changes_kept))
        finally:
            db.close()
            closed()

    def _work(self, db: sqlite3.Connection, tables: Tables) -> None:
        last = False
        while not last:
            batch, last = self._take()
            self._listen(tables)
            if batch:
                self._run(db, tables, batch)
            wrote = any(job.writes for job in batch)
            changes = self._hear(db, tables, wrote) if self._listening else []
            if batch or changes:
                self._post(batch, changes)

    def _take(self) -> tuple[list[Job], bool]:
        """All the jobs that wait, at least one unless it is time to look for changes; and whether the end has come."""
        batch: list[Job] = []
        try:
            job = self._jobs.get(timeout=self._options.poll_ms / 1000 if self._listening else None)
            while job is not None:
                batch.append(job)
                if len(batch) == _BATCH_JOBS_MAX:
                    return batch, False
                job = self._jobs.get_nowait()
        except queue.Empty:
            return batch, False
        return batch, True

    def _run(self, db: sqlite3.Connection, tables: Tables, batch: list[Job]) -> None:
        """One transaction for all; nothing of it has happened if it fails."""
        try:
            writes = any(job.writes for job in batch)
            if writes and self._broken:
                raise _refusal(self._options.path)
            db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            for job in batch:
                job.attempt(tables)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            _rollback(db)
            if _primary_code(error) == sqlite3.SQLITE_IOERR:
                self._broken = True
            for job in batch:
                job.fail(failure(self._options.path, error))

    def _listen(self, tables: Tables) -> None:
        """Begin or end to follow the changes, before anything of the next batch is done."""
        watched = self._watched()
        if watched and not self._listening:
            try:
                self._last_change = tables.last_change()
                self._data_version = tables.data_version()
            except sqlite3.Error as error:
                _log.warning("cannot follow the changes of the metadata yet: %s", failure(self._options.path, error))
                return
        self._listening = watched

    def _hear(self, db: sqlite3.Connection, tables: Tables, wrote: bool) -> list[Change]:
        """What has changed since the last look, by us or by others."""
        try:
            version = tables.data_version()
            if version == self._data_version and not wrote:
                return []
            db.execute("BEGIN")
            last, changes, missed = tables.changes_after(self._last_change)
            if missed:
                _log.warning(
                    "%s changed more than %d times between two looks: watchers are told of every value that is there, "
                    "and may not hear of what was deleted",
                    self._options.path,
                    self._options.changes_kept,
                )
                changes = [Change(found.path, found.value, found.version) for found in tables.everything()]
            db.execute("COMMIT")
        except sqlite3.Error as error:
            _rollback(db)
            _log.warning("cannot look for changes of the metadata: %s", failure(self._options.path, error))
            return []
        self._last_change, self._data_version = last, version
        return changes


def failure(path: Path, error: sqlite3.Error | OSError) -> MetadataFailed:
    """The sentence for a person: what failed, and what to do."""
    advice = _ADVICE.get(_primary_code(error), _UNKNOWN)
    return MetadataFailed(f"the metadata store {path} failed ({error}): {advice}")


def check_durability(path: Path, journal_mode: str, synchronous: int) -> None:
    """Refuse to work with less than what makes a commit durable; the arguments are what SQLite says it has set."""
    if journal_mode != "wal" or synchronous < _SYNCHRONOUS_FULL:
        raise MetadataFailed(
            f"the metadata store {path} cannot be made durable here (SQLite answers journal_mode={journal_mode}, "
            f"synchronous={synchronous}; wal and {_SYNCHRONOUS_FULL} are needed): put it on a local disk"
        )


def _refusal(path: Path) -> sqlite3.Error:
    error = sqlite3.OperationalError(f"no more writes after the disk has failed under {path.name}")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def _primary_code(error: Exception) -> int:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", -1) & 0xFF
    return sqlite3.SQLITE_CANTOPEN if isinstance(error, OSError) else -1


def _rollback(db: sqlite3.Connection) -> None:
    """SQLite has ended the transaction by itself after some errors, after others not; afterwards there is none."""
    if db.in_transaction:
        try:
            db.execute("ROLLBACK")
        except sqlite3.Error as error:
            _log.warning("a transaction of the metadata could not be rolled back: %s", error)


def _connect(options: Options) -> sqlite3.Connection:
    db = sqlite3.connect(options.path, timeout=options.busy_timeout_ms / 1000, isolation_level=None)
    try:
        journal_mode = _into_wal(db, options.busy_timeout_ms)
        db.execute("PRAGMA synchronous = FULL")
        # Elsewhere than on macOS, where a plain sync stops at the drive's cache, these two change nothing.
        db.execute("PRAGMA fullfsync = ON")
        db.execute("PRAGMA checkpoint_fullfsync = ON")
        check_durability(options.path, journal_mode, db.execute("PRAGMA synchronous").fetchone()[0])
        if options.bytes_max is not None:
            page_bytes = db.execute("PRAGMA page_size").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {max(options.bytes_max // page_bytes, 1)}")
        db.execute("BEGIN IMMEDIATE")
        Tables(db, options.changes_kept).prepare(str(options.path))
        db.execute("COMMIT")
        _sync_folder(options.path.parent)
    except BaseException:
        db.close()
        raise
    return db


def _into_wal(db: sqlite3.Connection, timeout_ms: int) -> str:
    """Switch to WAL. SQLite does not wait here when another process is just doing the same, so this does."""
    end = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            return str(db.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if _primary_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > end:
                raise
            time.sleep(_RETRY_SECONDS)


def _sync_folder(folder: Path) -> None:
    """A new file is in its folder for good only when the folder has been synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
