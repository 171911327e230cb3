"""The thread that owns the SQLite connection; see ``sqlite`` for how it is used.

A job goes through three hands: the loop makes it and puts it on the queue, this thread runs it, and the loop gives its
answer to whoever waits. Only one of them has it at any time, so nothing in it needs a lock.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
from collections.abc import Callable
from typing import Protocol

from magnetar.errors import MetadataFailed
from magnetar.metadata.sqlite_connection import Options, connect, failure, is_disk_failure, refusal, roll_back
from magnetar.metadata.sqlite_format import Tables
from magnetar.ports.metadata import Change

__all__ = ["Job", "Worker"]

_BATCH_JOBS_MAX = 1000
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
            db = connect(self._options)
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
                raise refusal(self._options.path)
            db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            for job in batch:
                job.attempt(tables)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            roll_back(db)
            if is_disk_failure(error):
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
            roll_back(db)
            _log.warning("cannot look for changes of the metadata: %s", failure(self._options.path, error))
            return []
        self._last_change, self._data_version = last, version
        return changes
