"""The shape of the command: help, laziness, completion, and its pieces of pure code."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from magnetar import __version__
from magnetar.cli import main
from magnetar.cli.produce import _paced, _pieces
from magnetar.cli.standalone import _is_loopback

SOURCE = Path(__file__).parents[3] / "src"
DAILY = ("topics", "subscriptions", "namespaces", "tenants", "schemas", "brokers")
COMMANDS = (
    *("standalone", "produce", "consume", *DAILY, "top", "explain", "disconnect", "log", "completion", "version"),
)


def python(code: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE), **env},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_names_every_command() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout


@pytest.mark.parametrize("words", [[name] for name in COMMANDS] + [["log", "inspect"], ["log", "verify"]])
def test_every_command_explains_itself(words: list[str]) -> None:
    result = CliRunner().invoke(main, [*words, "-h"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: main {' '.join(words)} ")


def test_version() -> None:
    for words in (["version"], ["--version"]):
        assert __version__ in CliRunner().invoke(main, words).stdout


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["stanadlone"])
    assert result.exit_code == 2
    assert "No such command 'stanadlone'" in result.stderr


@pytest.mark.parametrize("words", [[], *([name] for name in ("standalone", "produce", "log", "top", *DAILY))])
def test_help_imports_nothing_of_the_broker_nor_the_client(words: list[str]) -> None:
    code = f"""
import sys
from magnetar.cli import main
main([*{words!r}, '--help'], standalone_mode=False)
heavy = "aiohttp", "msgspec", "google.protobuf", "pulsar", "asyncio", "magnetar.server", "magnetar.core", "magnetar.log"
print([name for name in heavy if name in sys.modules])
"""
    assert python(code).splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "last", "found"),
    [
        ("magnetar st", "1", ["standalone"]),
        ("magnetar standalone -o brokerServiceP", "3", ["brokerServicePort=", "brokerServicePortTls="]),
        ("magnetar consume t -t Key", "4", ["key_shared"]),
    ],
)
def test_completion_in_the_shell(words: str, last: str, found: list[str]) -> None:
    said = python(
        "from magnetar.cli import main; main(prog_name='magnetar')",
        _MAGNETAR_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=last,
    )
    assert [line.partition(",")[2] for line in said.splitlines()] == found


def test_properties_must_have_names() -> None:
    result = CliRunner().invoke(main, ["produce", "t", "-m", "x", "-p", "novalue"])
    assert result.exit_code == 2
    assert "'novalue' is not NAME=VALUE" in result.stderr


def test_stdin_cannot_be_repeated() -> None:
    result = CliRunner().invoke(main, ["produce", "t", "-n", "2"], input="a\n")
    assert result.exit_code == 2
    assert "stdin is read once" in result.stderr


@given(st.lists(st.text(alphabet="ab", max_size=5).map(str.encode)), st.sampled_from([b"\n", b"--"]), st.booleans())
def test_pieces_are_what_was_joined(pieces: list[bytes], cut: bytes, ended: bool) -> None:
    joined = cut.join(pieces) + (cut if ended and pieces else b"")
    expected = pieces if not pieces or ended or pieces[-1] else pieces[:-1]
    assert list(_pieces(io.BytesIO(joined), cut)) == expected
    assert list(_pieces(Slow(joined), cut)) == expected


class Slow(io.BytesIO):
    """Gives one byte at a time, as a pipe may."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(1)


def test_pace() -> None:
    assert list(_paced(iter([b"a", b"b"]), 0)) == [b"a", b"b"]
    assert list(_paced(iter([b"a", b"b", b"c"]), 1e6)) == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "192.0.2.1", "broker.example")),
    ],
)
def test_what_counts_as_this_machine_only(host: str, loopback: bool) -> None:
    assert _is_loopback(host) == loopback
