"""Giving back space: dead segments go, half-dead ones are rewritten, and no crash in between loses anything."""

from __future__ import annotations

import errno

import pytest

from magnetar.errors import LogFailed
from magnetar.log.files.segment import parse_name
from magnetar.ports.log import Append, DropStream, RecoveredStream, Trim
from magnetar.testing.disk import FaultDisk
from magnetar.testing.log_conformance import Session

from .tools import Files

ENTRY = b"y" * 75


def _fill(session: Session, commits: int) -> None:
    """Stream 1 gets one entry, stream 2 four, in every commit."""
    for n in range(commits):
        session.commit(Append(1, n, [b"%d" % n + ENTRY]), Append(2, 4 * n, [ENTRY] * 4))


def _two_checkpoints(session: Session) -> Session:
    for _ in range(2):
        session.checkpoint([])
        session = session.reopen()
        held = session.recovered.streams.get(9, RecoveredStream())
        session.commit(Append(9, held.end, [b"z"]))
    return session


def test_segments_nobody_needs_are_dropped() -> None:
    files = Files()
    session = Session(files)
    _fill(session, 10)
    before = files.names(".seg")
    session.commit(DropStream(1), Trim(2, 40))
    session = _two_checkpoints(session).reopen()
    assert not set(before[:-1]) & set(files.names(".seg"))
    assert session.read(2) == []
    session.close()


def test_no_segment_goes_before_two_checkpoints_are_behind_it() -> None:
    files = Files()
    session = Session(files)
    _fill(session, 10)
    before = files.names(".seg")
    session.commit(DropStream(1), DropStream(2))
    session.checkpoint([])
    session = session.reopen()
    assert set(before) <= set(files.names(".seg"))
    session.close()


def test_half_dead_segments_are_rewritten_with_what_is_needed() -> None:
    files = Files()
    session = Session(files)
    _fill(session, 12)
    full = session.store.stats().disk_bytes
    session.commit(Trim(2, 46))
    session = _two_checkpoints(session)
    session = _until_rewritten(session, files)
    assert session.store.stats().disk_bytes < full * 0.5
    assert session.read(1) == [b"%d" % n + ENTRY for n in range(12)]
    assert session.read(2) == [ENTRY] * 2
    session = session.reopen()
    assert session.read(1) == [b"%d" % n + ENTRY for n in range(12)]
    session.close()


def _done(session: Session) -> bool:
    stats = session.store.stats()
    return stats.live_bytes * 2 > stats.disk_bytes


def _wait(session: Session, disk: FaultDisk) -> None:
    session.events(lambda _: disk.stopped or _done(session))


def _until_rewritten(session: Session, files: Files) -> Session:
    """Rewriting goes on in the background, a segment at a time; every wake may be the end of one."""
    session.events(lambda _: _done(session))
    assert any((parse_name(name) or (0, 0))[1] for name in files.names(".seg"))
    return session


@pytest.mark.parametrize("seed", range(4))
def test_a_power_cut_anywhere_in_the_rewriting_loses_nothing(seed: int) -> None:
    rewritten = 0
    for steps in range(seed, 80, 4):
        files = Files(seed=seed)
        session = Session(files)
        _fill(session, 6)
        session.commit(Trim(2, 24))
        session = _two_checkpoints(session)
        session.close()
        files.disk.stop_after(steps)
        disk = files.disk
        try:
            session = Session(files)
        except LogFailed:
            files.disk = disk.power_cut()
        else:
            _wait(session, disk)
            rewritten += not disk.stopped
            files.cut_power(session.store)
        session = Session(files)
        assert session.read(1)[:6] == [b"%d" % n + ENTRY for n in range(6)]
        assert session.read(2) == []
        session.close()
    assert rewritten, "no run got to the end of the rewriting"


def test_a_full_disk_says_so_keeps_reads_going_and_resumes_when_there_is_space() -> None:
    files = Files()
    session = Session(files)
    session.commit(Append(1, 0, [b"a" * 300]))
    files.disk.capacity = files.disk.used + 100
    for _ in range(9):
        error = session.refused(Append(1, 1, [b"b" * 300]))
        assert str(error) == (
            "no space left on the disk that holds data/log: free some space; publishing resumes by itself"
        )
        assert session.read(1) == [b"a" * 300]
    assert len(files.names(".seg")) <= 2, "failures must not leave a file each"
    files.disk.capacity = None
    session.commit(Append(1, 1, [b"c" * 300]))
    session = session.cut_power()
    assert session.read(1) == [b"a" * 300, b"c" * 300]
    session.close()


def test_a_write_that_goes_in_short_pieces_is_whole_in_the_end() -> None:
    files = Files()
    files.disk.short_write_bytes = 7
    session = Session(files)
    session.commit(Append(1, 0, [b"%d" % n * 100 for n in range(9)]))
    session.commit(Append(1, 9, [b"z" * 10_000, b"end"]))
    session = session.cut_power()
    assert session.read(1) == [*(b"%d" % n * 100 for n in range(9)), b"z" * 10_000, b"end"]
    session.close()


def test_a_read_that_the_disk_refuses_is_an_error_and_the_next_one_works() -> None:
    files = Files()
    session = Session(files)
    session.commit(Append(1, 0, [b"a"]))
    files.disk.fail("pread", error=errno.EIO)
    done = session.answer(1, 0)
    assert isinstance(done.error, LogFailed)
    assert "reading the log in data/log failed" in str(done.error)
    assert session.read(1) == [b"a"]
    session.close()


def test_the_faulty_disk_does_not_forgive_a_second_sync() -> None:
    disk = FaultDisk()
    fd = disk.create("d/f")
    disk.fsync_directory("d")
    disk.write(fd, [b"abc"])
    disk.fail("fdatasync")
    with pytest.raises(OSError, match="Input/output"):
        disk.fdatasync(fd)
    disk.fdatasync(fd)
    assert disk.resynced == ["d/f"]
