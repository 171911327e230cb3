"""A broker that is killed in the middle of work loses nothing: see it happen.

The demo starts a broker of its own on free ports and a temporary folder. A producer publishes numbered messages for a
number of keys; three worker processes share them on a Key_Shared subscription. Halfway the broker is killed with
SIGKILL and started again on the same data; the clients come back by themselves. In the end the demo compares: every
message the broker gave a receipt for must have been processed, and the numbers of each key must have been met in order.

What a worker had received and not yet acknowledged when the broker died comes again, so a number may be met more than
once; that is what at-least-once means. A number is never met before a smaller one of its key.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from pathlib import Path
from typing import NamedTuple

import pulsar

TOPIC = "persistent://public/default/demo"
WORKERS = 3
KEYS = 12
MESSAGES = 6000
PENDING_MAX = 200
START_SECONDS = 10.0
WORK_SECONDS = 15.0
POLL_SECONDS = 0.02


class Broker:
    """The broker as a child process, which can be killed without mercy and started again on the same data."""

    def __init__(self, data: Path) -> None:
        self.data = data
        with ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in range(2)]
            for each in sockets:
                each.bind(("127.0.0.1", 0))
            self.port, self.http_port = (int(each.getsockname()[1]) for each in sockets)
        self.url = f"pulsar://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start, and say how many seconds it took until the broker called itself healthy."""
        begin = time.monotonic()
        address = ["--host", "127.0.0.1", "--port", str(self.port), "--http-port", str(self.http_port)]
        command = [sys.executable, "-m", "magnetar", "standalone", "--data", str(self.data), *address]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while not self._is_healthy():
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise SystemExit(f"demo: the broker ended with {self.process.wait(POLL_SECONDS)} while it started")
            if time.monotonic() - begin > START_SECONDS:
                raise SystemExit(f"demo: the broker did not start within {START_SECONDS} s")
        return time.monotonic() - begin

    def _is_healthy(self) -> bool:
        health = f"http://127.0.0.1:{self.http_port}/admin/v2/brokers/health"
        try:
            with closing(urllib.request.urlopen(health, timeout=START_SECONDS)):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def end(self, how: signal.Signals) -> None:
        """End the process, if it is there."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)


class Processed(NamedTuple):
    """A worker's note on a message; made before the acknowledgement, on the clock all processes share."""

    at_ns: int
    worker: str
    key: str
    number: int


def connect(url: str) -> pulsar.Client:
    """Make a client that keeps its complaints about the killed broker to itself."""
    return pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))


def work(url: str, worker: str, pipe: Connection) -> None:
    """Process messages until told to stop: note each, then acknowledge it."""
    with closing(connect(url)) as client:
        consumer = client.subscribe(TOPIC, "workers", pulsar.ConsumerType.KeyShared, consumer_name=worker)
        pipe.send(None)
        while not pipe.poll():
            try:
                message = consumer.receive(100)
            except pulsar.Timeout:
                continue
            pipe.send(Processed(time.monotonic_ns(), worker, message.partition_key(), int(message.data())))
            consumer.acknowledge(message)


@contextlib.contextmanager
def workers(url: str) -> Iterator[list[Connection]]:
    """Worker processes that have subscribed; gives the pipes their notes come through."""
    context = multiprocessing.get_context("spawn")
    processes, pipes = [], []
    for number in range(WORKERS):
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(url, f"worker-{number}", theirs), daemon=True)
        process.start()
        processes.append(process)
        pipes.append(ours)
    for pipe in pipes:
        pipe.recv()
    yield pipes
    for pipe in pipes:
        pipe.send("stop")
    for process in processes:
        process.join(START_SECONDS)


def publish(producer: pulsar.Producer, numbers: Iterable[int], confirmed: set[tuple[str, int]]) -> None:
    """Publish messages without waiting; those that get their receipt are collected."""
    for each in numbers:
        key, number = f"key-{each % KEYS}", each // KEYS

        def note(result: pulsar.Result, _: object, named: tuple[str, int] = (key, number)) -> None:
            if result == pulsar.Result.Ok:
                confirmed.add(named)

        producer.send_async(b"%d" % number, note, partition_key=key)


@contextlib.contextmanager
def collected(pipes: list[Connection]) -> Iterator[list[Processed]]:
    """Take the workers' notes in a thread of its own for the length of a block; gives the growing list."""
    notes: list[Processed] = []
    finished = threading.Event()

    def collect() -> None:
        while not finished.is_set():
            for ready in wait_for_any(pipes, timeout=POLL_SECONDS):
                assert isinstance(ready, Connection)
                notes.append(ready.recv())

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    yield notes
    finished.set()
    thread.join()


def wait_until_processed(confirmed: set[tuple[str, int]], notes: list[Processed]) -> None:
    """Wait until every confirmed message is among the notes, or time is up."""
    deadline = time.monotonic() + WORK_SECONDS
    pause = threading.Event()
    while confirmed - {(note.key, note.number) for note in notes.copy()} and time.monotonic() < deadline:
        pause.wait(POLL_SECONDS)


def out_of_order(notes: list[Processed]) -> list[Processed]:
    """Find notes on numbers that were met before a smaller one of their key; repetitions are no fault."""
    expected: Counter[str] = Counter()
    wrong = []
    for note in notes:
        if note.number > expected[note.key]:
            wrong.append(note)
        expected[note.key] = max(expected[note.key], note.number + 1)
    return wrong


def judge(confirmed: set[tuple[str, int]], notes: list[Processed]) -> bool:
    """Print what came of it, and say whether all is well."""
    lost = confirmed - {(note.key, note.number) for note in notes}
    wrong = out_of_order(sorted(notes))
    again = len(notes) - len({(note.key, note.number) for note in notes})
    shares = Counter(note.worker for note in notes)
    print(f"{len(confirmed)} of {MESSAGES} messages have a receipt, {len(lost)} of them were lost")
    print(f"{KEYS} keys on {WORKERS} workers ({', '.join(f'{name} {n}' for name, n in sorted(shares.items()))})")
    print(f"{len(wrong)} messages out of the order of their key, {again} met again after the crash")
    return len(confirmed) == MESSAGES and not lost and not wrong


def main() -> int:
    """Run the demo."""
    with tempfile.TemporaryDirectory(prefix="magnetar-demo-") as folder:
        broker = Broker(Path(folder) / "data")
        try:
            print(f"broker started in {broker.start():.2f} s")
            with closing(connect(broker.url)) as client, workers(broker.url) as pipes, collected(pipes) as notes:
                confirmed: set[tuple[str, int]] = set()
                producer = client.create_producer(TOPIC, block_if_queue_full=True, max_pending_messages=PENDING_MAX)
                publish(producer, range(MESSAGES // 2), confirmed)
                broker.end(signal.SIGKILL)
                print(f"broker killed with SIGKILL after {len(confirmed)} receipts")
                print(f"broker started again on the same data in {broker.start():.2f} s")
                publish(producer, range(MESSAGES // 2, MESSAGES), confirmed)
                producer.flush()
                wait_until_processed(confirmed, notes)
                well = judge(confirmed, notes)
        finally:
            broker.end(signal.SIGTERM)
    print("nothing was lost, every key in order" if well else "this is not how it should be")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
