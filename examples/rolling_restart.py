"""Every worker is restarted in turn under load, and each key stays at one worker and in order: see it happen.

Worker processes share numbered messages of a number of keys on a Key_Shared subscription. Each works on several
messages at a time. One after another they are restarted, every second one by SIGKILL with messages in its hands. Then
one is frozen with SIGSTOP, another joins and takes over some of its keys, and ``magnetar explain`` tells what those
keys wait for. In the end what the workers saw is judged:

- A worker *holds* a message from the moment ``receive`` returned it until the moment before it calls ``acknowledge``,
  or until its death. While one worker holds a message of a key, no other may be given one of that key.
- The numbers of a key must be met in order. A message that a worker held when it was killed comes again; only the first
  time counts.

All processes note times on the same clock, CLOCK_MONOTONIC. Run it with ``--classic`` to see what the dispatcher of
before Pulsar 4.0 does with the same load. The exit code is 0 when no key was at two workers and none out of order.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

import pulsar

from magnetar.testing import BrokerProcess

SUBSCRIPTION = "workers"
WORKERS = 4
KEYS = 60
IN_HAND = 8
"""Messages that a worker works on at the same time."""
QUEUE = 20
"""The client's receiver queue: what the broker sends ahead of ``receive``."""
WORK_MS = 8
BACKLOG = 1000
"""Messages published and not yet acknowledged, at most."""
BETWEEN = 300
"""Messages that are acknowledged between two restarts."""
WAIT_SECONDS = 60.0
POLL_SECONDS = 0.02
SHOWN = 3


class Note(NamedTuple):
    """A worker has got a message, or is about to acknowledge it."""

    at_ns: int
    worker: str
    key: str
    number: int
    done: bool


class Held(NamedTuple):
    """A worker held a message from ``since_ns`` to ``until_ns``."""

    since_ns: int
    until_ns: int
    worker: str
    key: str
    number: int


def connect(url: str) -> pulsar.Client:
    """Make a client that does not print."""
    return pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))


# -- what runs in the worker processes ---------------------------------------------------------------------------------


def work(url: str, topic: str, name: str, worker: str, pipe: Connection) -> None:
    """Work on messages until SIGTERM; then finish what is in hand and leave."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hand: deque[tuple[float, pulsar.Message]] = deque()
    with closing(connect(url)) as client:
        consumer = client.subscribe(
            topic,
            SUBSCRIPTION,
            pulsar.ConsumerType.KeyShared,
            consumer_name=name,
            receiver_queue_size=QUEUE,
            initial_position=pulsar.InitialPosition.Earliest,
        )
        pipe.send(None)

        def note(message: pulsar.Message, done: bool) -> None:
            pipe.send(Note(time.monotonic_ns(), worker, message.partition_key(), int(message.data()), done))

        while hand or not stopping.is_set():
            if hand and (len(hand) == IN_HAND or stopping.is_set() or hand[0][0] <= time.monotonic()):
                due, message = hand.popleft()
                time.sleep(max(0.0, due - time.monotonic()))
                note(message, done=True)
                consumer.acknowledge(message)
                continue
            try:
                message = consumer.receive(WORK_MS)
            except pulsar.Timeout:
                continue
            note(message, done=False)
            hand.append((time.monotonic() + WORK_MS / 1000, message))
        consumer.close()


# -- the workers, as the main process sees them ------------------------------------------------------------------------


class Workers:
    """The worker processes, by name, and the notes that came from them."""

    def __init__(self, url: str, topic: str) -> None:
        self.url = url
        self.topic = topic
        self.notes: list[Note] = []
        self.done: set[tuple[str, int]] = set()
        """What was acknowledged, by key and number."""
        self.ended_ns: dict[str, int] = {}
        self.processes: dict[str, SpawnProcess] = {}
        self.lives = Counter[str]()
        self._pipes: list[Connection] = []
        self._finished = threading.Event()
        self._collector = threading.Thread(target=self._collect, daemon=True)
        self._collector.start()

    def start(self, name: str) -> None:
        """Start a worker; when this returns, it has subscribed."""
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        self.lives[name] += 1
        settings = (self.url, self.topic, name, self.life(name), theirs)
        process = multiprocessing.get_context("spawn").Process(target=work, args=settings, daemon=True)
        process.start()
        theirs.close()
        ours.recv()
        self.processes[name] = process
        self._pipes.append(ours)

    def life(self, name: str) -> str:
        """What the running process of this name calls itself in its notes."""
        return f"{name} (start {self.lives[name]})"

    def end(self, name: str, how: signal.Signals) -> None:
        """End a worker; when killed, it holds its messages until just before."""
        process = self.processes.pop(name)
        if how == signal.SIGKILL:
            self.ended_ns[self.life(name)] = time.monotonic_ns()
        self.signal(process, how)
        process.join(WAIT_SECONDS)
        if process.is_alive():
            raise SystemExit(f"rolling_restart: {name} did not end within {WAIT_SECONDS} s")

    def signal(self, process: SpawnProcess, number: signal.Signals) -> None:
        assert process.pid is not None, "it was started"
        os.kill(process.pid, number)

    def close(self) -> None:
        """End whoever is left, also those that are frozen."""
        for name in list(self.processes):
            self.end(name, signal.SIGKILL)
        self._finished.set()
        self._collector.join()

    def _collect(self) -> None:
        while self._pipes or not self._finished.is_set():
            for ready in wait_for_any(self._pipes.copy(), timeout=POLL_SECONDS):
                assert isinstance(ready, Connection)
                try:
                    note = ready.recv()
                except EOFError:
                    self._pipes.remove(ready)
                    continue
                self.notes.append(note)
                if note.done:
                    self.done.add((note.key, note.number))


class Load:
    """Publishes numbered messages of random keys in a thread of its own, never far ahead of the workers."""

    def __init__(self, producer: pulsar.Producer, workers: Workers) -> None:
        self.published = Counter[str]()
        self._producer = producer
        self._workers = workers
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _publish(self) -> None:
        chance = random.Random(1)
        while not self._finished.is_set():
            if self.published.total() - len(self._workers.done) >= BACKLOG:
                self._finished.wait(POLL_SECONDS)
                continue
            key = f"key-{chance.randrange(KEYS)}"
            self._producer.send_async(b"%d" % self.published[key], None, partition_key=key)
            self.published[key] += 1

    def finish(self) -> None:
        """Stop publishing; when this returns, every message has its receipt."""
        self._finished.set()
        self._thread.join()
        self._producer.flush()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"rolling_restart: not within {WAIT_SECONDS:.0f} s: {what}")
        pause.wait(POLL_SECONDS)


# -- judging -----------------------------------------------------------------------------------------------------------


def held(notes: list[Note], ended_ns: dict[str, int]) -> list[Held]:
    """Who held what and how long, in the order of beginning."""
    open_since: dict[tuple[str, str, int], deque[int]] = defaultdict(deque)
    found = []
    for note in sorted(notes):
        what = (note.worker, note.key, note.number)
        if note.done:
            found.append(Held(open_since[what].popleft(), note.at_ns, *what))
        else:
            # A worker may be given again what it holds, after its connection was lost.
            open_since[what].append(note.at_ns)
    # What is still open was in the hands of a worker that was killed.
    found += [Held(since, ended_ns[what[0]], *what) for what, left in open_since.items() for since in left]
    return sorted(found)


def at_two_workers(spans: list[Held]) -> Iterator[str]:
    """Messages that one worker got while another held one of the same key."""
    last: dict[str, dict[str, Held]] = defaultdict(dict)
    for span in spans:
        for other in last[span.key].values():
            if other.worker != span.worker and other.until_ns > span.since_ns:
                yield f"{span.key}: {span.worker} got {span.number} while {other.worker} held {other.number}"
                break
        mine = last[span.key].get(span.worker, span)
        last[span.key][span.worker] = max(mine, span, key=lambda each: each.until_ns)


def out_of_order(spans: list[Held]) -> Iterator[str]:
    """Messages that were met before an earlier one of their key; repetitions are no fault."""
    expected = Counter[str]()
    for span in spans:
        if span.number > expected[span.key]:
            yield f"{span.key}: {span.worker} got {span.number} before anybody got {expected[span.key]}"
        expected[span.key] = max(expected[span.key], span.number + 1)


def judge(workers: Workers, restarts: int, kills: int) -> bool:
    """Print what came of it, and say whether the contract was kept."""
    spans = held(workers.notes, workers.ended_ns)
    again = len(spans) - len({(span.key, span.number) for span in spans})
    print(f"{restarts} restarts, {kills} of them by SIGKILL; {WORKERS} workers and one that joined, {KEYS} keys")
    print(f"{len(workers.done)} messages, {len(spans)} deliveries, {again} of them redeliveries")
    well = True
    for what, found in (
        ("deliveries while another worker held the key", list(at_two_workers(spans))),
        ("deliveries out of the order of their key", list(out_of_order(spans))),
    ):
        print(f"{len(found)} {what}")
        for line in found[:SHOWN]:
            print(f"    {line}")
        well = well and not found
    return well


# -- the play ----------------------------------------------------------------------------------------------------------


def go_on(workers: Workers) -> None:
    """Wait until some more messages are done."""
    enough = len(workers.done) + BETWEEN
    wait_until(lambda: len(workers.done) >= enough, "the workers go on")


def restart_all(workers: Workers, rounds: int) -> Counter[signal.Signals]:
    """Restart each worker in turn, while the others go on; how often in which way."""
    ways = Counter[signal.Signals]()
    for turn in range(rounds * WORKERS):
        name = f"worker-{turn % WORKERS}"
        # With an even number of workers each is killed in one round and asked to go in the next.
        how = (signal.SIGTERM, signal.SIGKILL)[(turn + turn // WORKERS) % 2]
        go_on(workers)
        workers.end(name, how)
        workers.start(name)
        ways[how] += 1
    return ways


def explain_frozen(workers: Workers, topic: str, admin_url: str) -> None:
    """Freeze a worker, let another one take over some of its keys, and ask the broker what holds them up."""
    frozen = workers.processes["worker-0"]
    workers.signal(frozen, signal.SIGSTOP)
    try:
        workers.start(f"worker-{WORKERS}")
        print(f"worker-0 is frozen, worker-{WORKERS} has joined; magnetar explain says:\n", flush=True)
        command = [sys.executable, "-m", "magnetar", "explain", topic, SUBSCRIPTION, "--admin-url", admin_url]
        asked = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
        if asked.returncode == 0:
            drains = [one for one in json.loads(asked.stdout)["findings"] if one["code"] == "DRAINING"]
            keys = [each["key"] for finding in drains for each in finding["messages"] if "key" in each]
            subprocess.run(command + [f"--key={key}" for key in keys[:1]], check=True)
        print(flush=True)
    finally:
        workers.signal(frozen, signal.SIGCONT)


@contextmanager
def a_broker(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The addresses of the broker that was named, or of one started for the length of the block."""
    if options.url:
        yield options.url, options.admin_url
        return
    settings = {"subscriptionKeySharedUseClassicPersistentImplementation": options.classic}
    with BrokerProcess(settings=settings) as broker:
        print(f"a broker with {'the classic dispatcher' if options.classic else 'the default settings'}")
        yield broker.service_url, broker.admin_url


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description="Restart every worker in turn under load; is the order of keys kept?")
    parser.add_argument(
        "--classic", action="store_true", help="start the broker with the dispatcher of before draining"
    )
    parser.add_argument("--rounds", type=int, default=2, help="how often each worker is restarted (2)")
    parser.add_argument("--url", help="a broker that runs already, such as pulsar://localhost:6650")
    parser.add_argument("--admin-url", help="its REST interface, such as http://localhost:8080")
    options = parser.parse_args()
    topic = f"rolling-restart-{time.time_ns()}" if options.url else "rolling-restart"
    with a_broker(options) as (url, admin_url), closing(connect(url)) as client:
        producer = client.create_producer(topic, block_if_queue_full=True)
        with closing(Workers(url, topic)) as workers:
            for number in range(WORKERS):
                workers.start(f"worker-{number}")
            load = Load(producer, workers)
            ways = restart_all(workers, options.rounds)
            if admin_url:
                explain_frozen(workers, topic, admin_url)
            load.finish()
            wait_until(lambda: len(workers.done) == load.published.total(), "every message is acknowledged")
            for name in list(workers.processes):
                workers.end(name, signal.SIGTERM)
        well = judge(workers, ways.total(), ways[signal.SIGKILL])
    print("no key was at two workers, and none out of order" if well else "the contract of a key was broken")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
