"""Opens the SQLite file so that commits are durable, and says in sentences what can go wrong with it."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from magnetar.errors import MetadataFailed
from magnetar.metadata.sqlite_format import Tables

__all__ = ["Options", "check_durability", "connect", "failure", "is_disk_failure", "refusal", "roll_back"]

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


@dataclass(slots=True, frozen=True)
class Options:
    """The store's settings, as its constructor documents them."""

    path: Path
    busy_timeout_ms: int
    poll_ms: int
    changes_kept: int
    bytes_max: int | None


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


def is_disk_failure(error: sqlite3.Error) -> bool:
    """Whether the state of the file is no longer known, so that nothing more must be written to it."""
    return _primary_code(error) == sqlite3.SQLITE_IOERR


def refusal(path: Path) -> sqlite3.Error:
    """The error of a write that is not even tried."""
    error = sqlite3.OperationalError(f"no more writes after the disk has failed under {path.name}")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def _primary_code(error: Exception) -> int:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", -1) & 0xFF
    return sqlite3.SQLITE_CANTOPEN if isinstance(error, OSError) else -1


def roll_back(db: sqlite3.Connection) -> None:
    """SQLite has ended the transaction by itself after some errors, after others not; afterwards there is none."""
    if db.in_transaction:
        try:
            db.execute("ROLLBACK")
        except sqlite3.Error as error:
            _log.warning("a transaction of the metadata could not be rolled back: %s", error)


def connect(options: Options) -> sqlite3.Connection:
    """A connection that is as durable as it must be, to a file whose tables are there."""
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
