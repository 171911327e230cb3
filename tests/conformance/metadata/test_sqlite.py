"""What the SQLite store says when the file, the disk or another process is in its way, and how it writes."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from magnetar.errors import MetadataFailed
from magnetar.metadata.sqlite import SqliteMetadata
from magnetar.metadata.sqlite_connection import check_durability
from magnetar.ports.metadata import Change, Versioned

GOLDEN = Path(__file__).with_name("golden_v1.sql")


def run(store: SqliteMetadata, body: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await store.open()
        try:
            await body()
        finally:
            await store.close()

    asyncio.run(main())


def refusal_to_open(file: Path | str) -> str:
    with pytest.raises(MetadataFailed) as caught:
        asyncio.run(SqliteMetadata(file).open())
    return str(caught.value)


def script(file: Path, sql: str) -> None:
    db = sqlite3.connect(file)
    db.executescript(sql)
    db.close()


def test_a_file_of_format_1_is_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    script(file, GOLDEN.read_text(encoding="utf-8"))
    store = SqliteMetadata(file)
    heard: list[Change] = []

    async def body() -> None:
        store.watch("/", heard.append)
        assert await store.scan("/") == [
            Versioned("/tenants/public", b"{}", 3),
            Versioned("/topics/public/default/persistent/orders", b"\x00\xff", 0),
        ]
        assert await store.put("/tenants/public", b"new", expected=3) == 4
        assert heard == [Change("/tenants/public", b"new", 4)]

    run(store, body)


def test_a_new_file_has_the_layout_of_the_golden_one(tmp_path: Path) -> None:
    script(tmp_path / "golden.db", GOLDEN.read_text(encoding="utf-8"))

    async def body() -> None:
        return None

    run(SqliteMetadata(tmp_path / "new.db"), body)
    layouts = []
    for name in ("golden.db", "new.db"):
        db = sqlite3.connect(tmp_path / name)
        layouts.append(db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall())
        assert db.execute("SELECT version FROM format").fetchall() == [(1,)]
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        db.close()
    assert layouts[0] == layouts[1]


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    script(tmp_path / "m.db", "CREATE TABLE format (version INTEGER); INSERT INTO format VALUES (2)")
    said = refusal_to_open(tmp_path / "m.db")
    assert "format 2" in said
    assert "later version" in said


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    script(tmp_path / "m.db", "CREATE TABLE customers (name TEXT)")
    assert "something else" in refusal_to_open(tmp_path / "m.db")
    db = sqlite3.connect(tmp_path / "m.db")
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]
    db.close()


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_bytes(b"this is not a database at all " * 500)
    assert "not a SQLite database" in refusal_to_open(tmp_path / "m.db")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    said = refusal_to_open(tmp_path / "missing" / "m.db")
    assert str(tmp_path / "missing") in said
    assert "check that its folder exists" in said


def test_a_place_that_cannot_have_a_journal_is_refused() -> None:
    assert "cannot be made durable" in refusal_to_open(":memory:")


@pytest.mark.parametrize(("journal_mode", "synchronous"), [("delete", 2), ("wal", 1), ("wal", 0), ("memory", 2)])
def test_less_than_durable_is_refused(journal_mode: str, synchronous: int) -> None:
    with pytest.raises(MetadataFailed, match="cannot be made durable"):
        check_durability(Path("m.db"), journal_mode, synchronous)


def test_a_damaged_file_is_named_and_the_store_lives(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    store = SqliteMetadata(file)

    async def fill() -> None:
        await asyncio.gather(*(store.put(f"/v/{n:05}", b"x" * 200) for n in range(2000)))

    run(store, fill)
    data = bytearray(file.read_bytes())
    data[8 * 4096 :] = b"\xa5" * (len(data) - 8 * 4096)
    file.write_bytes(data)

    async def read() -> None:
        for _ in range(2):
            with pytest.raises(MetadataFailed, match="damaged: stop the broker and restore it"):
                await store.scan("/v/", limit=5000)

    run(store, read)


def test_a_lock_of_another_process_is_waited_for_then_named(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    store = SqliteMetadata(file, busy_timeout_ms=30)

    async def body() -> None:
        await store.put("/v", b"0")
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MetadataFailed, match="another process keeps it locked"):
            await store.put("/v", b"1")
        assert await store.get("/v") == Versioned("/v", b"0", 0)
        other.execute("ROLLBACK")
        other.close()
        assert await store.put("/v", b"1") == 1

    run(store, body)


def test_a_full_disk_is_named_reads_go_on_and_so_do_writes_once_there_is_space(tmp_path: Path) -> None:
    store = SqliteMetadata(tmp_path / "m.db", bytes_max=400_000, changes_kept=0)

    async def body() -> None:
        writes = [await _outcome(store.put(f"/v/{n:04}", b"x" * 3000)) for n in range(150)]
        written = writes.index("failed")
        assert 10 < written < 140
        with pytest.raises(MetadataFailed, match="full: free space"):
            await store.put("/v/more", b"x" * 3000)
        assert await store.count("/v/") == written
        assert set(writes[written:]) == {"failed"}
        # Making room needs no room of its own beyond what a deletion records, which is a line in the changes.
        for n in range(written):
            await store.delete(f"/v/{n:04}")
        assert await store.put("/again", b"x" * 3000) == 0

    run(store, body)


async def _outcome(write: Awaitable[int]) -> str:
    try:
        await write
    except MetadataFailed:
        return "failed"
    return "written"


def test_writes_that_wait_together_share_one_commit(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    store = SqliteMetadata(file)

    async def body() -> None:
        await store.put("/v", b"")
        before = _frames(file)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writes = [asyncio.ensure_future(store.put("/v", b"%d" % n)) for n in range(300)]
        await asyncio.sleep(0)  # One turn, in which all of them submit; the thread waits for the other process.
        other.execute("ROLLBACK")
        other.close()
        assert await asyncio.gather(*writes) == list(range(1, 301))
        # A commit appends at least three pages here; 300 of them would be 900.
        assert _frames(file) - before < 100

    run(store, body)


def _frames(file: Path) -> int:
    """How many pages the write-ahead log holds."""
    return file.with_name(file.name + "-wal").stat().st_size // (4096 + 24)


def test_changes_no_longer_kept_are_replaced_by_what_is_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "m.db"
    watching = SqliteMetadata(file, poll_ms=600_000)
    writing = SqliteMetadata(file, changes_kept=10)
    heard: list[Change] = []

    async def body() -> None:
        watching.watch("/v/", heard.append)
        await watching.get("/v/a")
        await writing.open()
        await asyncio.gather(*(writing.put(f"/v/{n % 3}", b"%d" % n) for n in range(600)))
        await writing.close()
        with caplog.at_level(logging.WARNING):
            await watching.get("/v/a")
        assert heard == [Change("/v/0", b"597", 199), Change("/v/1", b"598", 199), Change("/v/2", b"599", 199)]
        assert "may not hear of what was deleted" in caplog.text

    run(watching, body)


def test_a_failing_open_leaves_no_thread_and_can_be_repeated(tmp_path: Path) -> None:
    async def body() -> None:
        store = SqliteMetadata(tmp_path / "later" / "m.db")
        for _ in range(2):
            with pytest.raises(MetadataFailed):
                await store.open()
        for thread in threading.enumerate():
            if thread.name == "metadata":
                thread.join(timeout=60)
                assert not thread.is_alive()
        (tmp_path / "later").mkdir()
        await store.open()
        assert await store.put("/v", b"") == 0
        with pytest.raises(MetadataFailed, match="open already"):
            await store.open()
        await store.close()

    asyncio.run(body())
