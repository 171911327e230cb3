"""Format 1 of the metadata file: its tables, and the statements over them.

``format``   one row with the number of the format. A program that meets a higher number than its own refuses the file.
``nodes``    the values. Counting and skipping over paths needs only the index of ``path``, never the values.
``changes``  the last changes in order of commit, for watchers in this process and in others that share the file. The
             numbers have no gaps, so that a reader who comes late can tell that it has missed some.

This layout is never altered: a new one gets a new number, a new module, and code that carries the old one over.
"""

from __future__ import annotations

import sqlite3

from magnetar.errors import MetadataFailed
from magnetar.metadata.paths import check_version, prefix_end
from magnetar.ports.metadata import Change, Versioned

__all__ = ["FORMAT", "Tables"]

FORMAT = 1

_ROWS_MAX = 1 << 31

_CREATE = (
    "CREATE TABLE IF NOT EXISTS format (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS nodes (path TEXT NOT NULL UNIQUE, value BLOB NOT NULL, version INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, value BLOB, version INTEGER NOT NULL)""",
)


class Tables:
    """The operations of the port as statements, blocking, inside whatever transaction is open on the connection."""

    def __init__(self, db: sqlite3.Connection, changes_kept: int) -> None:
        self._db = db
        self._changes_kept = changes_kept

    def prepare(self, name: str) -> None:
        """Create what is missing; refuse a file that a later version has written."""
        has_format = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'format'").fetchone()
        row = self._db.execute("SELECT version FROM format").fetchone() if has_format else None
        if row is not None and row[0] > FORMAT:
            raise MetadataFailed(
                f"{name} is in metadata format {row[0]}, written by a later version of Magnetar; this one reads up to "
                f"format {FORMAT}: start the later version again, or choose another data folder"
            )
        if row is not None:
            return
        if self._db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None and not has_format:
            raise MetadataFailed(f"{name} is a database of something else: choose another file for the metadata")
        for statement in _CREATE:
            self._db.execute(statement)
        self._db.execute("INSERT INTO format (version) VALUES (?)", (FORMAT,))

    def get(self, path: str) -> Versioned | None:
        row = self._db.execute("SELECT value, version FROM nodes WHERE path = ?", (path,)).fetchone()
        return None if row is None else Versioned(path, row[0], row[1])

    def put(self, path: str, value: bytes, expected: int | None) -> int:
        found = self._version(path)
        check_version(path, found, expected)
        version = 0 if found is None else found + 1
        if found is None:
            self._db.execute("INSERT INTO nodes (path, value, version) VALUES (?, ?, 0)", (path, value))
        else:
            self._db.execute("UPDATE nodes SET value = ?, version = ? WHERE path = ?", (value, version, path))
        self._record(path, value, version)
        return version

    def delete(self, path: str, expected: int | None) -> bool:
        found = self._version(path)
        check_version(path, found, expected)
        if found is None:
            return False
        self._db.execute("DELETE FROM nodes WHERE path = ?", (path,))
        self._record(path, None, found)
        return True

    def children(self, path: str) -> list[str]:
        """Skip from child to child over the index, so that the cost follows the children and not what lies below."""
        prefix = "/" if path == "/" else path + "/"
        names: set[str] = set()
        sql = "SELECT path FROM nodes WHERE path >= ? AND path < ? ORDER BY path LIMIT 1"
        end = prefix_end(prefix)
        row = self._db.execute(sql, (prefix, end)).fetchone()
        while row is not None:
            name, below, _ = row[0][len(prefix) :].partition("/")
            names.add(name)
            # What sorts between "/a" and "/a/" are other children of the same parent, such as "/a-b": do not jump.
            follower = prefix_end(prefix + name + "/") if below else row[0] + "\0"
            row = self._db.execute(sql, (follower, end)).fetchone()
        return sorted(names)

    def scan(self, prefix: str, after: str | None, limit: int) -> list[Versioned]:
        where, values = _range(prefix)
        if after is not None:
            where, values = where + " AND path > ?", [*values, after]
        sql = f"SELECT path, value, version FROM nodes WHERE {where} ORDER BY path LIMIT ?"
        return [Versioned(*row) for row in self._db.execute(sql, (*values, min(max(limit, 0), _ROWS_MAX)))]

    def everything(self) -> list[Versioned]:
        return [Versioned(*row) for row in self._db.execute("SELECT path, value, version FROM nodes ORDER BY path")]

    def count(self, prefix: str) -> int:
        where, values = _range(prefix)
        found: int = self._db.execute(f"SELECT count(*) FROM nodes WHERE {where}", values).fetchone()[0]
        return found

    def last_change(self) -> int:
        last: int = self._db.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()[0]
        return last

    def changes_after(self, seq: int) -> tuple[int, list[Change], bool]:
        """The number of the last change, the changes after ``seq``, and whether some between are no longer kept."""
        sql = "SELECT seq, path, value, version FROM changes WHERE seq > ? ORDER BY seq"
        rows = self._db.execute(sql, (seq,)).fetchall()
        if not rows:
            return seq, [], False
        return rows[-1][0], [Change(row[1], row[2], row[3]) for row in rows], rows[0][0] > seq + 1

    def data_version(self) -> int:
        """A number that changes whenever another connection has committed something."""
        version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        return version

    def _version(self, path: str) -> int | None:
        row = self._db.execute("SELECT version FROM nodes WHERE path = ?", (path,)).fetchone()
        return None if row is None else row[0]

    def _record(self, path: str, value: bytes | None, version: int) -> None:
        sql = "INSERT INTO changes (path, value, version) VALUES (?, ?, ?)"
        seq = self._db.execute(sql, (path, value, version)).lastrowid
        if seq is not None and seq % 256 == 0:
            self._db.execute("DELETE FROM changes WHERE seq <= ?", (seq - self._changes_kept,))


def _range(prefix: str) -> tuple[str, list[str]]:
    end = prefix_end(prefix)
    return ("path >= ?", [prefix]) if end is None else ("path >= ? AND path < ?", [prefix, end])
