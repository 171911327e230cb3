"""The SQLite store with real processes: killed in the middle of writing, two on one file, a kernel that refuses."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import magnetar
from magnetar.metadata.sqlite import SqliteMetadata
from magnetar.ports.metadata import Change, Versioned

WRITER = Path(__file__).with_name("writer.py")
SOURCE = Path(magnetar.__file__).parents[1]


def start(mode: str, file: Path, number: int = 0) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(WRITER), mode, str(file), str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": str(SOURCE)})


def confirmed_until_killed(writer: subprocess.Popen[bytes], lines: int) -> dict[str, tuple[int, bytes]]:
    """Kill the writer after so many confirmations; the last confirmed version and value of each path."""
    with writer:
        assert writer.stdout is not None
        got = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        got += [line for line in writer.stdout if line.endswith(b"\n")]
    confirmed = {}
    for line in got:
        path, version, value = line.split()
        confirmed[path.decode()] = (int(version), value)
    return confirmed


def test_nothing_confirmed_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    moments = random.Random(20261118)
    everything: dict[str, tuple[int, bytes]] = {}
    for number in range(8):
        everything |= confirmed_until_killed(start("forever", file, number), moments.randint(1, 1500))
        found = {entry.path: entry for entry in asyncio.run(_scan(file, "/crash/"))}
        for path, (version, value) in everything.items():
            # A write that was committed and not yet confirmed may have followed, never one that takes this one back.
            assert found[path].version >= version
            assert int(found[path].value) == int(value) + 50 * (found[path].version - version)


async def _scan(file: Path, prefix: str) -> list[Versioned]:
    store = SqliteMetadata(file)
    await store.open()
    try:
        return await store.scan(prefix, limit=1_000_000)
    finally:
        await store.close()


def test_two_processes_compare_and_set_on_one_file(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    writers = [start("count", file, 60) for _ in range(2)]
    for writer in writers:
        with writer:
            assert writer.wait() == 0
    entries = {entry.path: entry.value for entry in asyncio.run(_scan(file, "/"))}
    assert entries["/counter"] == b"120"
    assert len(entries) == 121


def test_a_watcher_hears_what_another_process_writes(tmp_path: Path) -> None:
    async def body() -> None:
        store = SqliteMetadata(tmp_path / "metadata.db", poll_ms=5)
        await store.open()
        heard: list[Change] = []
        all_heard = asyncio.Event()

        def hear(change: Change) -> None:
            heard.append(change)
            if len(heard) == 30:
                all_heard.set()

        cancel = store.watch("/done/", hear)
        with start("count", tmp_path / "metadata.db", 30) as writer:
            await all_heard.wait()
        cancel()
        assert [change.path for change in heard] == [f"/done/{writer.pid}/{n:04}" for n in range(30)]
        await store.close()

    asyncio.run(body())


def test_after_an_io_error_nothing_is_written_until_the_store_is_opened_again(tmp_path: Path) -> None:
    with start("ioerror", tmp_path / "metadata.db") as writer:
        said = (writer.communicate()[0] or b"").decode().splitlines()
    assert said[0] == "/before written"
    assert said[1].startswith("/meanwhile failed: ")
    assert "the disk failed" in said[1]
    assert said[2].startswith("/after failed: ")
    assert "restart the broker" in said[2]
    assert said[3:] == ["readable ['/before']", "/reopened written"]
