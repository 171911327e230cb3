"""``inspect`` and ``verify``: they read a log that nobody uses, and name the first bad byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from magnetar.errors import LogFailed
from magnetar.log.files import DirectoryInUse, FileLog
from magnetar.log.files.inspect import inspect, verify
from magnetar.log.files.segment import segment_name
from magnetar.ports.log import Append, Merge, Put
from magnetar.testing.log_conformance import Session

from .tools import DIRECTORY, Files

ENTRY = b"x" * 75


@pytest.fixture
def files() -> Files:
    made = Files(segment_bytes=500)
    session = Session(made)
    for n in range(6):
        session.commit(Append(1, 2 * n, [ENTRY, ENTRY]), Put(2, b"k", b"v"), Merge(2, b"k", b"w"))
    session.close()
    return made


def test_verify_counts_what_is_there(files: Files) -> None:
    report = verify(DIRECTORY, disk=files.disk)
    assert report.ok
    assert report.first_bad is None
    assert report.counts == {"entries": 12, "puts": 6, "merges": 6}
    assert report.torn == []


def test_verify_changes_nothing(files: Files) -> None:
    before = {name: files.bytes_of(name) for name in files.names("")}
    verify(DIRECTORY, disk=files.disk)
    assert {name: files.bytes_of(name) for name in files.names("")} == before


def test_verify_names_the_first_bad_byte(files: Files) -> None:
    content = files.segment(2)
    position = content.index(ENTRY) - 25
    files.flip(segment_name(2), position + 60)
    files.flip(segment_name(3), 200)
    report = verify(DIRECTORY, disk=files.disk)
    assert not report.ok
    assert str(report.first_bad) == f"{segment_name(2)}, byte {position}: expected a record whose checksum holds"
    assert len(report.bad) == 2
    assert any("DAMAGED" in line for line in inspect(DIRECTORY, disk=files.disk))


def test_verify_finds_damaged_headers_indexes_and_checkpoints(files: Files) -> None:
    session = Session(files)
    session.checkpoint([(2, b"k", b"v w")])
    session.close()
    for name in (segment_name(1), segment_name(1)[:-4] + ".idx", "checkpoint-00000000000000000001.ckpt"):
        files.flip(name, 20)
        report = verify(DIRECTORY, disk=files.disk)
        assert report.first_bad is not None
        assert (report.first_bad.file, report.first_bad.position) == (name, 0)
        files.flip(name, 20)
    assert verify(DIRECTORY, disk=files.disk).ok


def test_an_unfinished_end_is_told_apart_from_damage(files: Files) -> None:
    newest = files.names(".seg")[-1]
    content = files.bytes_of(newest)
    fd = files.disk.create(f"{DIRECTORY}/{newest}")
    files.disk.write(fd, [content, content[40:70]])
    files.disk.close(fd)
    report = verify(DIRECTORY, disk=files.disk)
    assert report.ok
    assert [(torn.file, torn.position) for torn in report.torn] == [(newest, len(content))]
    assert any("that recovery cuts" in line for line in inspect(DIRECTORY, disk=files.disk))


def test_inspect_lists_segments_and_the_entries_in_them(files: Files) -> None:
    lines = list(inspect(DIRECTORY, disk=files.disk))
    assert lines[0].startswith(f"{segment_name(1)}: segment")
    assert lines[1] == "  stream 1: entries 0 to 1"


def test_a_log_in_use_is_neither_inspected_nor_opened_twice(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    log.recover()
    for attempt in (lambda: verify(tmp_path), FileLog(tmp_path).recover):
        with pytest.raises(DirectoryInUse, match="is in use") as caught:
            attempt()
        assert str(tmp_path) in str(caught.value)
        assert "stop" in str(caught.value)
    log.close()
    FileLog(tmp_path).recover()


def test_a_place_without_a_log_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LogFailed, match="holds no log"):
        verify(tmp_path)
    with pytest.raises(LogFailed, match="cannot be read"):
        verify(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []
