"""``magnetar standalone`` as people start it: what it says, what it refuses, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import struct
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pulsar
import pytest
from google_crc32c import value as crc32c

from tests.e2e.cli.support import broker, environment, run


def refusal(*words: str | Path, code: int = 1, env: dict[str, str] | None = None) -> str:
    """The one sentence with which a start is refused."""
    done = run("standalone", "--port", "0", "--http-port", "0", *words, env=env)
    assert done.stdout == b""
    assert done.returncode == code, done.stderr
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def publish(url: str, *contents: bytes) -> None:
    client = pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))
    producer = client.create_producer("orders")
    for content in contents:
        producer.send(content)
    client.close()


def backlog(url: str, count: int) -> list[bytes]:
    client = pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))
    reader = client.create_reader("orders", pulsar.MessageId.earliest)
    found = [reader.read_next(timeout_millis=10_000).data() for _ in range(count)]
    assert not reader.has_message_available()
    client.close()
    return found


def test_it_says_where_it_listens_and_where_data_lies_and_nothing_more(tmp_path: Path) -> None:
    with broker("--data", tmp_path / "data") as started:
        assert started.data == str(tmp_path / "data")
        with urllib.request.urlopen(f"{started.admin_url}/admin/v2/brokers/health", timeout=30) as answer:
            assert answer.status == 200
        publish(started.url, b"one")
        assert started.end(signal.SIGTERM) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly_and_data_stays(tmp_path: Path, number: int) -> None:
    with broker("--data", tmp_path / "data") as started:
        publish(started.url, b"one", b"two")
        assert started.end(number) == (0, "", "")
    with broker("--data", tmp_path / "data") as again:
        assert backlog(again.url, 2) == [b"one", b"two"]


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with broker("--data", tmp_path / "data") as started:
        publish(started.url, b"one")
        # While it is suspended both signals gather, so that the second comes before anything is stopped.
        os.kill(started.process.pid, signal.SIGSTOP)
        os.kill(started.process.pid, signal.SIGINT)
        os.kill(started.process.pid, signal.SIGTERM)
        assert started.end(signal.SIGCONT) == (128 + signal.SIGTERM, "", "")
    with broker("--data", tmp_path / "data") as again:
        assert backlog(again.url, 1) == [b"one"]


def test_memory_only_makes_no_folder(tmp_path: Path) -> None:
    with broker("--memory", "--data", tmp_path / "data") as started:
        publish(started.url, b"one")
        assert started.data == "memory only"
        assert started.end(signal.SIGTERM)[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_second_start_on_the_same_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with broker("--data", tmp_path / "data") as first:
        sentence = refusal("--data", tmp_path / "data")
        assert sentence.startswith(f"magnetar: {tmp_path / 'data'}")
        assert "is in use by another process" in sentence
        publish(first.url, b"still here")
        assert first.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize("option", ["--port", "--http-port"])
def test_a_taken_port_is_refused(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refusal("--data", tmp_path / "data", option, str(port))
    assert sentence.startswith(f"magnetar: cannot listen on 127.0.0.1:{port}: Address already in use; ")
    assert option in sentence
    with broker("--data", tmp_path / "data", option, str(port)) as started:
        assert str(port) in (started.port, started.http_port)


def a_file_in_the_way(data: Path) -> str:
    data.write_text("mine")
    return "the data folder .* cannot be made: File exists"


def a_file_above(data: Path) -> str:
    data.parent.rmdir()
    data.parent.write_text("mine")
    return "the data folder .* cannot be made: Not a directory"


def metadata_garbage(data: Path) -> str:
    data.mkdir()
    (data / "metadata.db").write_bytes(b"no database at all" * 1000)
    return "metadata.db failed .*not a database"


def metadata_of_a_later_version(data: Path) -> str:
    made_by_a_broker(data)
    with sqlite3.connect(data / "metadata.db") as database:
        database.execute("UPDATE format SET version = 99")
    database.close()
    return "metadata.db is in metadata format 99, written by a later version"


def a_log_that_is_a_file(data: Path) -> str:
    made_by_a_broker(data)
    for file in (data / "log").iterdir():
        file.unlink()
    (data / "log").rmdir()
    (data / "log").write_text("mine")
    return "opening the log in .*/log failed: File exists"


def a_log_of_a_later_version(data: Path) -> str:
    made_by_a_broker(data)
    header = struct.pack("<8sIQIQI", b"MGNTRSEG", 99, 900, 0, 0, 0)
    (data / "log" / f"{900:020d}.seg").write_bytes(header + struct.pack("<I", crc32c(header)))
    return "has format version 99, this Magnetar knows 1"


def made_by_a_broker(data: Path) -> None:
    with broker("--data", data) as started:
        assert started.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize(
    "spoil",
    [
        a_file_in_the_way,
        a_file_above,
        metadata_garbage,
        metadata_of_a_later_version,
        a_log_that_is_a_file,
        a_log_of_a_later_version,
    ],
)
def test_a_data_folder_that_cannot_be_used_is_refused(tmp_path: Path, spoil: Callable[[Path], str]) -> None:
    (tmp_path / "above").mkdir()
    pattern = spoil(tmp_path / "above" / "data")
    with pytest.raises(AssertionError, match=pattern):
        raise AssertionError(refusal("--data", tmp_path / "above" / "data"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-o", "brokerServcePort=1"], "there is no setting 'brokerServcePort'; did you mean brokerServicePort?"),
        (["-o", "maxMessageSize=big"], "maxMessageSize cannot be 'big': a whole number, 1 or more is expected"),
        (["-o", "allowAutoTopicCreation=yes"], "allowAutoTopicCreation cannot be 'yes': true or false is expected"),
        (["-o", "authenticationEnabled=true"], "authenticationEnabled cannot be changed in this version"),
        (["-o", "clusterName"], "key=value is expected"),
        (["--port", "70000"], "brokerServicePort cannot be '70000': a whole number from 0 to 65535 is expected"),
    ],
)
def test_wrong_settings_end_with_2(given: list[str], said: str) -> None:
    assert said in refusal("--memory", *given, code=2)


def test_all_that_is_wrong_is_said_at_once() -> None:
    done = run("standalone", "--memory", "-o", "maxMessageSize=big", "-o", "nosuch=1", "-o", "defaultNumPartitions=0")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 3


def test_the_environment_the_file_and_options_count_in_this_order(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        one, two = (str(each.getsockname()[1]) for each in (first, second))
    conf = tmp_path / "broker.conf"
    conf.write_text("brokerServicePort=1\nwebServicePort=0\nsomethingOfPulsar=1\n")
    env = {"PULSAR_PREFIX_brokerServicePort": one, "PULSAR_PREFIX_dataDirectory": str(tmp_path / "data")}
    said = run("standalone", "--config", conf, "--host", "203.0.113.1", env=env)
    assert f"cannot listen on 203.0.113.1:{one}" in said.stderr.decode()
    with broker("--config", conf, "-o", f"brokerServicePort={two}", "--port", two, env=env) as started:
        assert (started.port, started.data) == (two, str(tmp_path / "data"))
        code, stdout, stderr = started.end(signal.SIGTERM)
    assert (code, stdout) == (0, "")
    assert "there is no setting 'somethingOfPulsar'" in stderr
    assert stderr.startswith("warning: ")


def test_whoever_opens_it_to_the_network_is_warned() -> None:
    done = run("standalone", "--memory", "--host", "203.0.113.1", "--port", "0", "--http-port", "0")
    warning, sentence = done.stderr.decode().splitlines()
    assert warning.startswith("warning: listening on 203.0.113.1: whoever reaches this address can read and change")
    assert "Cannot assign requested address" in sentence
    assert done.returncode == 1


def test_the_environment_of_the_tests_has_no_settings() -> None:
    assert not [name for name in environment() if name.startswith("PULSAR_PREFIX_")]
