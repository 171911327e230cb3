"""``magnetar log`` over what a broker has left."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.cli.support import broker, run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of a broker that has taken a hundred messages."""
    with broker("--data", tmp_path / "data") as started:
        lines = "".join(f"message {number}\n" for number in range(100)).encode()
        assert run("produce", "orders", "--url", started.url, stdin=lines).returncode == 0
        assert started.end(signal.SIGTERM)[0] == 0
    return tmp_path / "data"


def segment(data: Path) -> Path:
    """The segment with the messages."""
    return max((data / "log").glob("*.seg"), key=lambda file: file.stat().st_size)


def test_a_sound_log_is_said_to_be_sound(data: Path) -> None:
    before = {file: file.read_bytes() for file in (data / "log").iterdir()}
    for folder in (data, data / "log"):
        done = run("log", "verify", folder)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(b"sound: ")
    assert {file: file.read_bytes() for file in (data / "log").iterdir()} == before


def test_the_first_bad_byte_is_named(data: Path) -> None:
    file = segment(data)
    content = bytearray(file.read_bytes())
    place = content.index(b"message 50")
    content[place] ^= 1
    file.write_bytes(content)
    done = run("log", "verify", data)
    assert done.returncode == 1
    damaged, summary = done.stdout.decode().splitlines()
    name, _, rest = damaged.removeprefix("DAMAGED ").partition(", byte ")
    assert name == file.name
    assert 0 < int(rest.split(":")[0]) <= place
    assert summary.startswith("damaged: ")


def test_inspect_lists_files_and_streams(data: Path) -> None:
    done = run("log", "inspect", data)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert any(line.startswith(f"{segment(data).name}: segment, ") for line in lines)
    assert any(line.startswith("  stream ") for line in lines)
    found = [json.loads(line) for line in run("log", "inspect", data, "--json").stdout.splitlines()]
    (one,) = [each for each in found if each["file"] == segment(data).name]
    assert one["bytes"] == segment(data).stat().st_size
    assert one["records"]["entries"] >= 1
    assert one["damage"] == []


@pytest.mark.parametrize("what", ["inspect", "verify"])
def test_a_log_in_use_and_a_folder_without_one_are_refused(data: Path, what: str) -> None:
    with broker("--data", data):
        done = run("log", what, data)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is in use by a broker: stop it first" in done.stderr
    (data / "empty").mkdir()
    done = run("log", what, data / "empty")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"holds no log" in done.stderr
    assert run("log", what, data / "missing").returncode == 2
