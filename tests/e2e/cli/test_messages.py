"""``magnetar produce`` and ``consume`` against a broker, through pipes as people use them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cli.support import SECONDS, Running, broker, environment, run, start


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with broker("--memory") as started:
        yield started


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name}"


def produce(running: Running, topic: str, *words: str | Path, stdin: bytes = b"") -> bytes:
    done = run("produce", topic, "--url", running.url, *words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def consume(running: Running, topic: str, count: int, *words: str) -> bytes:
    done = run("consume", topic, "-s", "tests", "-p", "Earliest", "-n", str(count), "--url", running.url, *words)
    assert done.returncode == 0, done.stderr
    assert f"{count} messages received" in done.stderr.decode()
    return done.stdout


def test_lines_of_stdin_come_out_as_lines_of_stdout(running: Running, topic: str) -> None:
    lines = "".join(f"line {number}\n" for number in range(3000)).encode()
    assert produce(running, topic, stdin=lines) == b""
    assert consume(running, topic, 3000) == lines


def test_texts_files_and_repetition(running: Running, topic: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a whole\nfile\x00")
    produce(running, topic, "-m", "a,b", "-m", "c", "-f", tmp_path / "file", "-n", "2")
    objects = [json.loads(line) for line in consume(running, topic, 6, "--json").splitlines()]
    assert [each["content"] for each in objects] == ["a,b", "c", "a whole\nfile\x00"] * 2


def test_a_separator_cuts(running: Running, topic: str) -> None:
    produce(running, topic, "-m", "a,b", "-s", ",")
    produce(running, topic, "-s", r"\0", stdin=b"c\0d\0")
    assert consume(running, topic, 4) == b"a\nb\nc\nd\n"


def test_json_has_what_is_known(running: Running, topic: str) -> None:
    sent = json.loads(produce(running, topic, "-m", "häuser", "-k", "alice", "-p", "a=1", "-p", "b=x=y", "--json"))
    (line,) = consume(running, topic, 1, "--json").splitlines()
    found = json.loads(line)
    assert found["messageId"] == sent["messageId"]
    assert (found["key"], found["properties"], found["content"]) == ("alice", {"a": "1", "b": "x=y"}, "häuser")
    assert (found["topic"], found["redeliveryCount"]) == (topic, 0)
    assert found["publishTime"] > 1_600_000_000_000


def test_bytes_that_are_no_text(running: Running, topic: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff\x00")
    produce(running, topic, "-f", tmp_path / "file", "-n", "3")
    assert json.loads(consume(running, topic, 1, "--json"))["contentHex"] == "ff00"
    assert consume(running, topic, 1, "--hex") == b"ff00\n"
    assert consume(running, topic, 1, "--hide-content") == b""


def test_what_was_received_is_acknowledged_and_what_was_not_stays(running: Running, topic: str) -> None:
    produce(running, topic, stdin=b"1\n2\n3\n")
    assert consume(running, topic, 2) == b"1\n2\n"
    assert consume(running, topic, 1, "-t", "Shared") == b"3\n"


@pytest.mark.parametrize("kind", ["Exclusive", "Shared", "Failover", "Key_Shared"])
def test_subscription_types(running: Running, topic: str, kind: str) -> None:
    produce(running, topic, "-m", "x", "-k", "k")
    assert consume(running, topic, 1, "-t", kind) == b"x\n"


def test_without_a_count_ctrl_c_is_the_end(running: Running, topic: str) -> None:
    consumer = start("consume", topic, "-s", "tests", "-n", "0", "--url", running.url)
    assert consumer.stderr is not None
    assert consumer.stdout is not None
    assert consumer.stderr.readline() == f"subscribed to {topic}\n".encode()
    produce(running, topic, "-m", "x")
    assert consumer.stdout.readline() == b"x\n"
    consumer.send_signal(signal.SIGINT)
    assert consumer.communicate(timeout=SECONDS) == (b"", b"1 messages received\n")
    assert consumer.returncode == 0


def test_with_a_count_ctrl_c_is_130(running: Running, topic: str) -> None:
    consumer = start("consume", topic, "-s", "tests", "--url", running.url)
    assert consumer.stderr is not None
    assert consumer.stderr.readline() == f"subscribed to {topic}\n".encode()
    consumer.send_signal(signal.SIGINT)
    assert consumer.communicate(timeout=SECONDS) == (b"", b"0 messages received\n")
    assert consumer.returncode == 130


def test_a_reader_that_goes_away_ends_it_quietly(running: Running, topic: str) -> None:
    consumer = start("consume", topic, "-s", "tests", "-n", "0", "--url", running.url)
    assert consumer.stderr is not None
    assert consumer.stdout is not None
    consumer.stderr.readline()
    consumer.stdout.close()
    produce(running, topic, "-m", "x")
    assert consumer.wait(SECONDS) == 1
    assert consumer.stderr.read() == b"0 messages received\n"
    consumer.stderr.close()
    # It was printed into nowhere, so it was not acknowledged.
    assert consume(running, topic, 1) == b"x\n"


@pytest.mark.parametrize("words", [["produce", "t", "-m", "x"], ["consume", "t", "-s", "s"]])
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("pulsar://127.0.0.1:1", "cannot reach pulsar://127.0.0.1:1 (127.0.0.1:1: Connection refused)"),
        ("localhost:6650", "localhost:6650 is no address of a broker"),
        (
            "pulsar://127.0.0.1:x",
            "pulsar://127.0.0.1:x is no address of a broker: 127.0.0.1:x is not a host and a port",
        ),
    ],
)
def test_no_broker_is_one_sentence(words: list[str], url: str, said: str) -> None:
    done = run(*words, "--url", url)
    assert (done.returncode, done.stdout) == (1, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"magnetar: {said}")


def test_what_the_broker_refuses_is_one_sentence(running: Running) -> None:
    done = run("consume", "persistent://no/where/t", "-s", "s", "--url", running.url)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"magnetar: {running.url} answers: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_message_that_is_too_large_is_said(running: Running, topic: str, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(6 << 20))
    done = run("produce", topic, "-f", tmp_path / "large", "--url", running.url)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"a message could not be sent: MessageTooBig" in done.stderr


def test_without_the_client_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pulsar'] = None\n")
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "magnetar", "produce", "t", "-m", "x"],
        env=environment({"PYTHONPATH": path}),
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 1
    assert (
        done.stderr == b"magnetar: this needs the official client, which is missing: pip install 'magnetar[client]'\n"
    )
