"""Metadata in one SQLite file, which needs nothing but the standard library and can be read with any SQLite tool.

The loop never waits for the disk: each call becomes a job on a queue, and one thread of the store's own takes them off.
It takes all that are waiting at once and runs them, in their order, in one transaction. Only when that has been
committed are their answers posted back to the loop, all in one call, so that a burst of writes costs one sync and
nobody ever sees a value that a crash could take back. If the transaction fails, all of its jobs fail.

The file is in WAL mode with ``synchronous=FULL``: a commit is on the disk when it returns. With less, SQLite loses what
it had confirmed when the power goes; so the store asks SQLite what it has really set and refuses to work with less.
After an I/O error the store takes no more writes until it is opened again, because what a failed sync has left in the
kernel is anyone's guess; a full disk is not such an error, and writes go on when there is space again.

Changes are recorded in the file too (see ``sqlite_format``), which is how watchers hear of writes by other processes:
while there is a watcher, the thread looks every ``poll_ms`` milliseconds at a counter that SQLite keeps for this.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar, cast

from magnetar.errors import MetadataFailed
from magnetar.metadata.paths import check_path, check_prefix, check_value
from magnetar.metadata.sqlite_connection import Options
from magnetar.metadata.sqlite_format import Tables
from magnetar.metadata.sqlite_worker import Job, Worker
from magnetar.metadata.watches import Watches
from magnetar.ports.metadata import Change, Versioned

__all__ = ["SqliteMetadata"]

T = TypeVar("T")


class _Call(Generic[T]):
    """A job that answers a future."""

    __slots__ = ("_error", "_future", "_run", "_value", "writes")

    def __init__(self, run: Callable[[Tables], T], future: asyncio.Future[T] | None, *, writes: bool) -> None:
        self.writes = writes
        self._run = run
        self._future = future
        self._value: T | None = None
        self._error: Exception | None = None

    def attempt(self, tables: Tables) -> None:
        try:
            self._value = self._run(tables)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001  (a conflict, or a bug: either way it goes to the caller)
            self._error = error

    def fail(self, error: MetadataFailed) -> None:
        self._error = error

    def answer(self) -> None:
        if self._future is None or self._future.done():
            return
        if self._error is not None:
            self._future.set_exception(self._error)
        else:
            self._future.set_result(cast(T, self._value))


class SqliteMetadata:
    """A ``MetadataStore`` in the file ``path``, which is created if it is not there (its folder must be).

    ``busy_timeout_ms`` is how long a call waits for another process that is writing, ``changes_kept`` how many changes
    are remembered for watchers in other processes, ``bytes_max`` how large the file may grow.

    >>> store = SqliteMetadata("data/metadata.db")
    >>> await store.open()
    >>> await store.put("/tenants/public", b"{}", expected=-1)
    0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_timeout_ms: int = 5000,
        poll_ms: int = 250,
        changes_kept: int = 10_000,
        bytes_max: int | None = None,
    ) -> None:
        self._options = Options(Path(path), busy_timeout_ms, poll_ms, changes_kept, bytes_max)
        self._watches = Watches()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        if self._thread is not None:
            raise MetadataFailed(f"the metadata store {self._options.path} is open already: close it first")
        loop = self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        closed: asyncio.Future[None] = loop.create_future()
        jobs = self._jobs = queue.SimpleQueue()
        worker = Worker(self._options, jobs, self._post, lambda: len(self._watches) > 0)

        def report_open(error: MetadataFailed | None) -> None:
            self._call_loop(lambda: _settle(opened, error))

        def report_closed() -> None:
            self._call_loop(lambda: _settle(closed, None))

        self._thread = threading.Thread(
            target=worker.main, args=(report_open, report_closed), name="metadata", daemon=True
        )
        self._thread.start()
        try:
            await opened
        except BaseException:
            # Failed, or cancelled while the thread is still opening: it finds this and ends.
            jobs.put(None)
            self._thread = None
            raise
        self._closed = closed

    async def get(self, path: str) -> Versioned | None:
        check_path(path)
        return await self._submit(lambda tables: tables.get(path))

    async def put(self, path: str, value: bytes, expected: int | None = None) -> int:
        check_path(path)
        check_value(path, value)
        return await self._submit(lambda tables: tables.put(path, value, expected), writes=True)

    async def delete(self, path: str, expected: int | None = None) -> bool:
        check_path(path)
        return await self._submit(lambda tables: tables.delete(path, expected), writes=True)

    async def children(self, path: str) -> list[str]:
        if path != "/":
            check_path(path)
        return await self._submit(lambda tables: tables.children(path))

    async def scan(self, prefix: str, after: str | None = None, limit: int = 1000) -> list[Versioned]:
        check_prefix(prefix)
        check_prefix(after or "")
        return await self._submit(lambda tables: tables.scan(prefix, after, limit))

    async def count(self, prefix: str) -> int:
        check_prefix(prefix)
        return await self._submit(lambda tables: tables.count(prefix))

    def watch(self, prefix: str, callback: Callable[[Change], None]) -> Callable[[], None]:
        """See the port. Changes by other processes are heard from the next answer of this store on, or soon after."""
        cancel = self._watches.add(prefix, callback)
        if self._closed is not None:
            # Wakes the thread, which may be waiting without a time limit.
            self._jobs.put(_Call(lambda _: None, None, writes=False))
        return cancel

    async def close(self) -> None:
        """Finish what was submitted, then release the file."""
        closed, thread = self._closed, self._thread
        if closed is None or thread is None:
            return
        self._closed = None
        self._jobs.put(None)
        await closed
        thread.join()
        self._thread = None

    async def _submit(self, run: Callable[[Tables], T], *, writes: bool = False) -> T:
        if self._closed is None or self._loop is None:
            raise MetadataFailed("the metadata store is not open: open it first, and do not use it after closing it")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Call(run, future, writes=writes))
        return await future

    def _post(self, done: Sequence[Job], changes: Sequence[Change]) -> None:
        """Called by the thread."""
        self._call_loop(lambda: self._deliver(done, changes))

    def _deliver(self, done: Sequence[Job], changes: Sequence[Change]) -> None:
        """Watchers first: who has waited for a write finds them informed."""
        if self._loop is not None:
            self._watches.tell(self._loop, changes)
        for job in done:
            job.answer()

    def _call_loop(self, call: Callable[[], None]) -> None:
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop was closed without closing the store: nobody is left who could be told.
            return


def _settle(future: asyncio.Future[None], error: MetadataFailed | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(None)
