"""What recovery makes of torn, rotten and missing files, down to the byte."""

from __future__ import annotations

import pytest

from magnetar.log.files.checkpoint import checkpoint_name
from magnetar.log.files.records import COMMIT_BYTES, encode_commit, encode_records
from magnetar.log.files.segment import HEADER_BYTES, Header, decode_header, encode_header, segment_name
from magnetar.ports.log import Append, Merge, Put, Trim
from magnetar.testing.log_conformance import Session

from .tools import DIRECTORY, Files

ENTRY = b"x" * 75
RECORD_BYTES = 100
"""An ``ENTRY`` with its head."""


@pytest.fixture
def files() -> Files:
    return Files(segment_bytes=100_000)


def _append(session: Session, first: int, count: int) -> None:
    session.commit(Append(1, first, [ENTRY] * count))


def test_a_torn_tail_is_cut_at_the_last_whole_commit_wherever_it_is_torn(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 2)
    whole = len(files.segment(1))
    _append(session, 2, 3)
    full = files.segment(1)
    session.close()
    for cut in range(whole, whole + COMMIT_BYTES + 3 * RECORD_BYTES):
        again = Files(segment_bytes=100_000)
        fd = again.disk.create(f"{DIRECTORY}/{segment_name(1)}")
        again.disk.write(fd, [full[:cut]])
        again.disk.close(fd)
        recovered = Session(again)
        assert recovered.recovered.streams[1].end == 2
        # The commit before the torn one may never have been synced: it is in a copy that was.
        assert [len(again.bytes_of(name)) for name in again.names(".seg")] == [whole]
        assert again.names(".seg") == [segment_name(1, 1)]
        if cut > whole:
            assert f"cut at byte {whole}, {cut - whole} bytes dropped" in recovered.recovered.notes[0]
        _append(recovered, 2, 1)
        assert recovered.read(1) == [ENTRY] * 3
        recovered.close()


def test_commits_that_may_never_have_been_synced_are_copied_to_a_file_that_surely_is(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 1)
    # The sync fails, and so does everything the log could do about it; then the process dies, but not the machine.
    files.disk.fail("fdatasync")
    files.disk.fail("truncate")
    files.disk.fail("create")
    session.refused(Append(1, 1, [ENTRY]))
    session = files.kill(session.store)
    # What nobody was told about is there, from the kernel's memory. It may be kept, but then it must stay.
    assert session.recovered.streams[1].end == 2
    session = session.cut_power()
    assert session.recovered.streams[1].end == 2
    assert session.read(1) == [ENTRY] * 2
    session.close()


def test_on_a_full_disk_recovery_does_without_the_copy(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 3)
    files.disk, dead = files.disk.kill(), files.disk
    session.close()
    assert dead.stopped
    files.disk.capacity = files.disk.used
    session = Session(files)
    assert any("the disk is full" in note for note in session.recovered.notes)
    assert session.read(1) == [ENTRY] * 3
    files.disk.capacity = None
    _append(session, 3, 1)
    session = session.cut_power()
    assert session.read(1) == [ENTRY] * 4
    session.close()


def test_after_recovery_the_next_commit_goes_to_a_new_segment(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 1)
    session = session.reopen()
    before = files.segment(1)
    _append(session, 1, 1)
    assert files.segment(1) == before
    header = decode_header(files.segment(2), "")
    assert header is not None
    assert (header.previous, header.previous_valid) == (1, len(before))
    session.close()


def test_a_flipped_bit_anywhere_in_old_bytes_costs_one_entry_at_most(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 3)
    _append(session, 3, 3)
    _append(session, 6, 1)
    session.close()
    content = files.segment(1)
    for position in range(HEADER_BYTES, len(content) - COMMIT_BYTES):
        files.flip(segment_name(1), position)
        report = Session(files)
        entries = report.read(1)
        inside = (position - HEADER_BYTES) % (COMMIT_BYTES + 3 * RECORD_BYTES)
        length_hit = inside >= COMMIT_BYTES and 4 <= (inside - COMMIT_BYTES) % RECORD_BYTES < 8
        lost = 3 if length_hit else 1
        assert report.recovered.notes, "damage must be told"
        assert f"{segment_name(1)}, byte" in report.recovered.notes[0]
        assert len(entries) + lost >= 7
        assert entries.count(None) <= lost
        assert all(entry in (ENTRY, None) for entry in entries)
        report.close()
        files.flip(segment_name(1), position)
        for name in files.names(".idx"):
            files.disk.unlink(f"{DIRECTORY}/{name}")


def test_a_damaged_header_of_a_segment_costs_nothing(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 3)
    session = session.reopen()
    _append(session, 3, 3)
    session = session.reopen()
    _append(session, 6, 1)
    session.close()
    files.flip(segment_name(2), 5)
    session = Session(files)
    assert session.read(1) == [ENTRY] * 7
    assert f"the header of {segment_name(2)} is damaged (byte 0)" in session.recovered.notes[0]
    session.close()


def test_a_segment_that_had_not_been_begun_is_removed(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 3)
    session.close()
    fd = files.disk.create(f"{DIRECTORY}/{segment_name(2)}")
    files.disk.write(fd, [files.segment(1)[:20]])
    files.disk.close(fd)
    session = Session(files)
    assert session.read(1) == [ENTRY] * 3
    assert files.names(".seg") == [segment_name(1)]
    session.close()


def test_a_failed_sync_abandons_the_segment_and_its_rest_is_void_even_if_it_reached_the_disk(files: Files) -> None:
    session = Session(files)
    _append(session, 0, 1)
    valid = len(files.segment(1))
    files.disk.fail("truncate")
    files.disk.fail("fdatasync")
    session.refused(Append(1, 1, [b"void" * 10]))
    assert len(files.segment(1)) > valid, "the test needs the void bytes to be there"
    header = decode_header(files.segment(2), "")
    assert header is not None
    assert (header.previous, header.previous_valid) == (1, valid)
    session = files.kill(session.store)
    assert session.recovered.streams[1].end == 1
    _append(session, 1, 1)
    assert session.read(1) == [ENTRY] * 2
    session.close()


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(files: Files) -> None:
    session = Session(files)
    session.commit(Append(1, 0, [ENTRY]), Put(1, b"k", b"0"))
    session.checkpoint([(1, b"k", b"0")])
    session = session.reopen()
    session.commit(Append(1, 1, [ENTRY]), Merge(1, b"k", b"1"))
    session.checkpoint([(1, b"k", b"0 1")])
    session = session.reopen()
    session.commit(Append(1, 2, [ENTRY]))
    session.close()
    files.flip(checkpoint_name(2), 30)
    session = Session(files)
    assert session.recovered.streams[1].end == 3
    assert session.recovered.streams[1].state[b"k"].merges == [b"1"]
    assert session.recovered.streams[1].state[b"k"].value == b"0"
    assert f"{checkpoint_name(2)} is damaged" in session.recovered.notes[0]
    assert session.read(1) == [ENTRY] * 3
    session.close()


def test_without_any_checkpoint_everything_is_read(files: Files) -> None:
    session = Session(files)
    session.commit(Append(1, 0, [ENTRY]), Put(1, b"k", b"0"))
    session.checkpoint([(1, b"k", b"0")])
    session = session.reopen()
    session.commit(Append(1, 1, [ENTRY]), Trim(1, 1))
    session.close()
    files.flip(checkpoint_name(1), 30)
    session = Session(files)
    assert (session.recovered.streams[1].first, session.recovered.streams[1].end) == (1, 2)
    assert session.recovered.streams[1].state[b"k"].value == b"0"
    assert any("all segments were read" in note for note in session.recovered.notes)
    session.close()


def test_recovery_reads_only_what_came_after_the_checkpoint() -> None:
    files = Files(segment_bytes=2000)
    session = Session(files)
    for n in range(40):
        _append(session, n * 5, 5)
    session.checkpoint([])
    session = session.reopen()
    # The entries of segments before the checkpoint are not looked at: rot in them is found by the read, not before.
    content = files.segment(1)
    files.flip(segment_name(1), content.rindex(ENTRY) + 3)
    session = session.reopen()
    assert session.recovered.notes == []
    assert session.read(1, 0, 5).count(None) <= 1
    assert session.read(1).count(None) == 1
    session.close()


def test_a_damaged_sidecar_is_made_anew() -> None:
    files = Files(segment_bytes=2000)
    session = Session(files)
    for n in range(10):
        _append(session, n * 5, 5)
    session = session.reopen()
    session.checkpoint([])
    session = session.reopen()
    good = {name: files.bytes_of(name) for name in files.names(".idx")}
    assert good
    for name in good:
        files.flip(name, 40)
    assert session.read(1) == [ENTRY] * 50
    assert {name: files.bytes_of(name) for name in files.names(".idx")} == good
    session.close()


def test_blocks_that_reached_the_disk_out_of_order_do_not_make_half_a_commit(files: Files) -> None:
    """The first of two commits of one sync has a hole, the second is whole: neither was durable, neither is there."""
    chunks: list[bytes] = []
    size, count, _ = encode_records(chunks, [Append(1, 0, [ENTRY])])
    proven = encode_header(Header(1, 0, 0, 0)) + encode_commit(size, count, HEADER_BYTES) + b"".join(chunks)
    group = proven
    for first in (1, 4):
        chunks = []
        size, count, _ = encode_records(chunks, [Append(1, first, [ENTRY] * 3)])
        group += encode_commit(size, count, len(proven)) + b"".join(chunks)
    hole = len(proven) + COMMIT_BYTES + RECORD_BYTES
    group = group[:hole] + bytes(RECORD_BYTES) + group[hole + RECORD_BYTES :]
    fd = files.disk.create(f"{DIRECTORY}/{segment_name(1)}")
    files.disk.write(fd, [group])
    files.disk.close(fd)
    session = Session(files)
    assert session.recovered.streams[1].end == 1
    assert f"cut at byte {len(proven)}" in session.recovered.notes[0]
    session.close()


def test_what_the_older_checkpoint_needs_is_not_given_back() -> None:
    files = Files(segment_bytes=400)
    session = Session(files)
    session.commit(Append(1, 0, [ENTRY]))
    session.checkpoint([])
    session = session.reopen()
    for n in range(8):
        session.commit(Append(2, n, [ENTRY]), Put(3, b"n", b"%d" % n))
    session.commit(Trim(2, 8))
    session.checkpoint([(3, b"n", b"7")])
    session = session.reopen()
    session.commit(Append(1, 1, [ENTRY]))
    session.close()
    files.flip(checkpoint_name(2), 30)
    session = Session(files)
    assert session.recovered.streams[3].state[b"n"].value == b"7"
    assert (session.recovered.streams[2].first, session.recovered.streams[2].end) == (8, 8)
    assert session.read(1) == [ENTRY] * 2
    session.close()
