"""A stopped worker is named by ``magnetar explain``, and ``magnetar disconnect`` lets its messages go on in order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulsar

from tests.interop.helpers import EARLIEST, KEY_SHARED, payloads, receive_all
from tests.support.broker import Broker

SOURCE = Path(__file__).parents[2] / "src"
KEYS = [f"customer-{n}" for n in range(10)]
SECONDS = 60

WORKER = """
import sys, pulsar
url, topic, count = sys.argv[1:]
client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
consumer = client.subscribe(topic, "workers", pulsar.ConsumerType.KeyShared, consumer_name="worker-a",
                            initial_position=pulsar.InitialPosition.Earliest)
print("subscribed", flush=True)
for _ in range(int(count)):
    consumer.receive(20_000)
print("holds them", flush=True)
sys.stdin.read()
"""


def magnetar(*words: str) -> str:
    """Run the command to its end."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-m", "magnetar", *words],
        capture_output=True,
        text=True,
        env=environment,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def worker(url: str, topic: str, count: int) -> Iterator[subprocess.Popen[str]]:
    """A process with the official client, that takes messages and acknowledges none."""
    command = [sys.executable, "-c", WORKER, url, topic, str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "subscribed\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_stopped_worker_is_named_and_can_be_released(broker: Broker, client: pulsar.Client, topic: str) -> None:
    with worker(broker.service_url, topic, 40) as process:
        producer = client.create_producer(topic, batching_enabled=False)
        for n in range(40):
            producer.send(b"%d" % n, partition_key=KEYS[n % 10])
        assert process.stdout is not None
        assert process.stdout.readline() == "holds them\n"
        process.send_signal(signal.SIGSTOP)
        second = client.subscribe(topic, "workers", KEY_SHARED, consumer_name="worker-b", initial_position=EARLIEST)
        for n in range(40, 80):
            producer.send(b"%d" % n, partition_key=KEYS[n % 10])
        answer: dict[str, Any] = json.loads(
            magnetar("explain", topic, "workers", "--json", "--admin-url", broker.admin_url)
        )
        finding = answer["findings"][0]
        assert (answer["verdict"], finding["consumers"]) == ("DRAINING", ["worker-a"])
        assert finding["messageCount"] == finding["waiting"] == 4 * finding["keys"]
        key = finding["messages"][0]["key"]
        text = magnetar("explain", topic, "workers", "--key", key, "--history", "--admin-url", broker.admin_url)
        assert f"Key '{key}'" in text
        assert "is at worker-a now and goes to worker-b after the drain" in text
        release = next(line for line in text.splitlines() if "To disconnect it: magnetar " in line)
        assert "worker-b joined" in text

        magnetar(*release.partition("magnetar ")[2].split())
        got = receive_all(second, 80)
        order = {name: [int(data) for data in payloads(m for m in got if m.partition_key() == name)] for name in KEYS}
        assert order == {name: list(range(n, 80, 10)) for n, name in enumerate(KEYS)}
        text = magnetar("explain", topic, "workers", "--key", key, "--history", "--admin-url", broker.admin_url)
        assert f"Key '{key}'" in text
        assert "belongs to worker-b" in text
        assert "WAITING_FOR_ACKS" in text
        assert "worker-a is disconnected by an operator" in text
