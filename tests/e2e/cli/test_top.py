"""``magnetar top`` against a broker: once, as JSON, and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator

import pulsar
import pytest

from tests.e2e.cli.support import SECONDS, Running, broker, environment, run


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with broker("--memory", "-o", "exposeConsumerLevelMetricsInPrometheus=true") as started:
        for topic, count in (("orders", 30), ("bills", 5)):
            made = run("topics", "create-subscription", topic, "-s", "s", "--admin-url", started.admin_url)
            assert made.returncode == 0, made.stderr
            sent = run("produce", topic, "-m", "x", "-r", "1000", "-n", str(count), "--url", started.url)
            assert sent.returncode == 0, sent.stderr
        yield started


def test_once_is_a_screen_for_people(running: Running) -> None:
    done = run("top", "--once", "-i", "0.1", "--admin-url", running.admin_url)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("2 topics, 2 subscriptions, 0 producers, 0 consumers; rates over ")
    assert lines[3].split()[:2] == ["TOPIC", "SUBSCRIPTION"]
    assert [line.split()[0] for line in lines[4:6]] == ["orders", "bills"]
    assert lines[4].endswith("no consumer")
    assert "\x1b" not in done.stdout.decode()


def test_json_is_for_programs(running: Running) -> None:
    done = run("top", "ord", "--once", "-i", "0", "--json", "--admin-url", running.admin_url)
    found = json.loads(done.stdout)
    assert (found["rowCount"], found["seconds"], found["totals"]["topics"]) == (1, None, 1)
    (row,) = found["rows"]
    assert (row["topic"], row["subscription"]) == ("persistent://public/default/orders", "s")
    assert row["backlog"] == found["totals"]["backlog"] > 0
    assert row["state"] == "no consumer"


def test_a_consumer_that_holds_much_is_named(running: Running) -> None:
    client = pulsar.Client(running.url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        consumer = client.subscribe("bills", "s", pulsar.ConsumerType.Shared, consumer_name="holder")
        consumer.receive(20_000)
        done = run("top", "bills", "--once", "-i", "0", "--json", "--admin-url", running.admin_url)
        (slow,) = json.loads(done.stdout)["slowConsumers"]
        assert (slow["consumer"], slow["subscription"], slow["blocked"]) == ("holder", "s", False)
        assert slow["unacked"] > 0
        text = run("top", "bills", "--once", "-i", "0", "--admin-url", running.admin_url).stdout.decode()
        assert "\nCONSUMER  UNACKED" in text
        assert "persistent://public/default/bills s" in text
    finally:
        client.close()


def test_on_a_terminal_it_is_refreshed_until_q(running: Running) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "magnetar", "top", "-i", "0.1", "--admin-url", running.admin_url],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment({"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}),
    )
    os.close(theirs)
    try:
        seen = b""
        while seen.count(b"\x1b[H") < 3:
            seen += os.read(ours, 65_536)
        assert b"rates over" in seen
        assert b"orders" in seen
        os.write(ours, b"s")
        while b"by age" not in seen:
            seen += os.read(ours, 65_536)
        os.write(ours, b"q")
        while b"\x1b[?1049l" not in seen:
            seen += os.read(ours, 65_536)
        assert process.wait(SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
