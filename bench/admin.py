"""The rows about the admin interface: what statistics of a topic cost, and what REST under load costs publishes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from bench.arena import Arena, Load, Row, Run, Sample, say
from bench.rates import note_failures
from bench.session import Session
from bench.stats import Goal, percentile, ratio, verdict

CONSUMERS = 100
STATS_MS = 2.0
REST_RATE = 200
KEPT_SHARE = 0.95
PAIRS = 5
RECEIVE_BYTES = 1 << 16
TIMEOUT_S = 10.0


@dataclass
class Asker:
    """Asks over one connection that stays open, with bytes that are made beforehand, so that asking costs little."""

    address: str
    times_ms: list[float] = field(default_factory=list)
    failure: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        host, _, port = self.address.rpartition(":")
        self.sock = socket.create_connection((host, int(port)), TIMEOUT_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, path: str) -> None:
        """One GET, until the last byte of its answer."""
        started = time.monotonic()
        self.sock.sendall(f"GET /admin/v2/{path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        data = b""
        while (head := data.find(b"\r\n\r\n")) < 0:
            data += self._received()
        if not data.startswith(b"HTTP/1.1 200"):
            raise OSError(f"GET {path}: {data[:80]!r}")
        length = data[:head].lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        whole = head + 4 + int(length)
        while len(data) < whole:
            data += self._received()
        self.times_ms.append((time.monotonic() - started) * 1000)

    def _received(self) -> bytes:
        found = self.sock.recv(RECEIVE_BYTES)
        if not found:
            raise OSError("the broker hung up")
        return found

    def close(self) -> None:
        self.sock.close()


def stats(arena: Arena) -> Row:
    """Ask for the statistics of a topic with many consumers, again and again."""
    title = f"GET stats, {CONSUMERS} consumers"
    say(f"{title} ...")
    row = Row("admin_stats", title, "ms")
    with arena.started([arena.ours]) as (ours,):
        note_failures(row, [ours])
        if not ours.failure:
            before: float | None = None
            with Session(ours.broker.address, TIMEOUT_S) as session, contextlib.closing(_asker(arena)) as asker:
                for number in range(CONSUMERS):
                    session.subscribe("bench-stats", "bench", "key_shared", number + 1)
                count = arena.size(500, 100)
                for number in range(2 * count):
                    if number == count:
                        before = ours.broker.cpu_s()
                    asker.ask("persistent/public/default/bench-stats/stats")
                times = asker.times_ms[count:]
                after = ours.broker.cpu_s()
                if before is not None and after is not None:
                    row.ours = (after - before) * 1000 / len(times)
                row.notes.append(
                    f"CPU of the broker for one answer; with the client and the way there and back the median is "
                    f"{median(times):.2f} ms"
                )
    goal = Goal(f"< {STATS_MS:g} ms", row.ours, below=STATS_MS)
    row.target, row.verdict = goal.text, verdict([goal])
    return row


def _asker(arena: Arena) -> Asker:
    return Asker(arena.ours.http)


def load(arena: Arena) -> Row:
    """Publish alone and under requests for statistics, in turns; what counts is the share of the rate that is left."""
    title = f"publish under {REST_RATE} REST requests/s"
    say(f"{title} ...")
    row = Row("admin_load", title, "rate")
    run = Run(arena.size(300_000, 100_000), (Load("publish"),))
    alone: list[Sample] = []
    under: list[Sample] = []
    asked: list[Asker] = []
    with arena.started([arena.ours]) as (ours,):
        if not ours.failure:
            for number in range(max(PAIRS, arena.rounds)):
                # The order changes from pair to pair, so that neither side is always the later one.
                for with_rest in (False, True) if number % 2 else (True, False):
                    if with_rest:
                        with _asking(arena) as asker:
                            under.append(arena.sample(ours.broker, run))
                        asked.append(asker)
                    else:
                        alone.append(arena.sample(ours.broker, run))
        failures = [asker.failure for asker in asked if asker.failure]
        ours.failure = ours.failure or "; ".join(
            [*failures, *(error for each in alone + under for error in each.errors)]
        )
        note_failures(row, [ours])
    if not ours.failure:
        row.ours = median(sample.rate for sample in under)
        row.rival, row.rival_mark = median(sample.rate for sample in alone), "without REST"
        row.ratio = ratio(row.ours, row.rival)
        reached = sum(len(asker.times_ms) for asker in asked) / sum(asker.seconds for asker in asked)
        slowest = percentile([each for asker in asked for each in asker.times_ms], 0.99)
        row.notes.append(f"about {reached:.0f} requests a second were answered, p99 {slowest:.1f} ms")
    row.samples = {"alone": alone, "under REST": under}
    goal = Goal(f"ratio >= {KEPT_SHARE:g}", row.ratio, at_least=KEPT_SHARE)
    row.target, row.verdict = goal.text, verdict([goal])
    return row


@contextlib.contextmanager
def _asking(arena: Arena) -> Iterator[Asker]:
    """Ask at the rate while the block runs."""
    asker = _asker(arena)
    stop = threading.Event()

    def ask() -> None:
        started = time.monotonic()
        number = 0
        try:
            while not stop.wait(max(started + number / REST_RATE - time.monotonic(), 0)):
                asker.ask(("namespaces/public/default", "persistent/public/default", "brokers/health")[number % 3])
                number += 1
        except OSError as error:
            asker.failure = str(error)

    thread = threading.Thread(target=ask)
    started = time.monotonic()
    thread.start()
    try:
        yield asker
    finally:
        stop.set()
        thread.join()
        asker.seconds = time.monotonic() - started
        asker.close()
