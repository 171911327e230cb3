"""Publish a prepared load over one or many connections with a fixed window, in one thread without a wait per message.

The window is the number of entries sent and not yet answered, over all connections together. As receipts arrive, the
next slice of prepared frames goes to the socket; sockets never block, so a broker that stops reading cannot lock the
load up with receipts it wants to write. Latencies come from two short logs (how many were sent, how many answered, and
when), joined after the clock has stopped.
"""

from __future__ import annotations

import select
import time
from bisect import bisect_right
from dataclasses import dataclass

from bench import wire
from bench.frames import Load, Prepared, prepare
from bench.gate import Report, Stopwatch, wait_for_go
from bench.proof import receipt_errors
from bench.scan import Receipts
from bench.session import RECEIVE_BYTES, Session, describe_error
from bench.stats import percentile

SEND_BYTES_MAX = 1 << 20
LATENCY_SAMPLES = 5000

Log = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What to publish and how: `messages` over `topics` and `connections`, at most `window` entries in flight."""

    address: str
    topic: str
    messages: int
    size: int = 100
    batch: int = 1
    window: int = 2000
    topics: int = 1
    connections: int = 1
    keys: int = 0
    hold: int = 0
    timeout_s: float = 60.0
    gate: bool = False

    def topic_names(self) -> list[str]:
        """Return the topics' names: the name itself, or numbered names where there are several."""
        return numbered(self.topic, self.topics)


def numbered(topic: str, topics: int) -> list[str]:
    """Return `topics` names, numbered from zero where there is more than one."""
    return [topic] if topics == 1 else [f"{topic}-{number}" for number in range(topics)]


class Publisher:
    """One connection: what it has sent, what was answered, and the logs of both."""

    def __init__(self, prepared: Prepared, session: Session, window: int) -> None:
        self._prepared = prepared
        self._session = session
        self._window = window
        self._sent_bytes = 0
        self._limit_bytes = len(prepared.data)
        self.entries = self._limit_bytes // prepared.stride
        self.errors: list[str] = []
        self.receipts = Receipts(self._other, session.rest)
        self.sent_log: Log = []
        self.answered_log: Log = []
        session.sock.setblocking(False)
        self.fileno = session.sock.fileno()

    def _other(self, kind: int, command: bytes) -> None:
        if kind == wire.PING:
            self._session.sock.sendall(wire.command(wire.PONG))
        elif kind in (wire.SEND_ERROR, wire.ERROR):
            self.errors.append(describe_error(command))
        elif kind == wire.CLOSE_PRODUCER:
            self.errors.append("the broker closed the producer")

    @property
    def done(self) -> bool:
        """Tell whether every entry has its receipt, or nothing more is to be expected."""
        return self.receipts.count >= self.entries or bool(self.errors)

    def send(self) -> bool:
        """Send what the window allows; tell whether the socket must report when it takes more."""
        stride = self._prepared.stride
        limit = min(self._limit_bytes, (self.receipts.count + self._window) * stride)
        if self._sent_bytes >= limit:
            return False
        stop = min(limit, self._sent_bytes + SEND_BYTES_MAX)
        now = time.monotonic()
        try:
            self._sent_bytes += self._session.sock.send(self._prepared.data[self._sent_bytes : stop])
        except BlockingIOError:
            return True
        self.sent_log.append((-(-self._sent_bytes // stride), now))
        return self._sent_bytes < limit

    def receive(self) -> None:
        """Take what has arrived."""
        received = self._session.sock.recv(RECEIVE_BYTES)
        if not received:
            self.errors.append("the broker closed the connection")
        elif self.receipts.feed(received):
            self.answered_log.append((self.receipts.count, time.monotonic()))

    def close(self) -> None:
        """Drop the connection."""
        self._session.close()

    def receipt_errors(self) -> list[str]:
        """Compare the receipts with the sends, once all is over."""
        return receipt_errors(bytes(self.receipts.tape), self._prepared.receipts)

    def latencies_s(self, samples: int) -> list[float]:
        """Return the time from send to receipt of evenly chosen entries; the logs bound it, in order of arrival."""
        sent, answered = [item[0] for item in self.sent_log], [item[0] for item in self.answered_log]
        step = max(1, self.receipts.count // samples)
        out = []
        for entry in range(0, self.receipts.count, step):
            left = self.sent_log[bisect_right(sent, entry)][1]
            out.append(self.answered_log[bisect_right(answered, entry)][1] - left)
        return out


def run_publish(plan: PublishPlan) -> Report:
    """Publish the whole plan and report rate, own CPU, latencies and every error."""
    publishers = _open(plan)
    wait_for_go(plan.gate)
    watch = Stopwatch()
    try:
        problem = _drive(publishers, plan.timeout_s)
    except (OSError, wire.BadFrameError) as error:
        problem = f"connection lost: {error}"
    watch.stop()
    for publisher in publishers:
        publisher.close()
    errors = [problem] if problem else []
    done = 0
    latencies: list[float] = []
    for publisher in publishers:
        done += publisher.receipts.count
        errors += publisher.errors[:3]
        errors += [] if problem else publisher.receipt_errors()
        latencies += publisher.latencies_s(max(20, LATENCY_SAMPLES // plan.connections))
    messages = done * plan.batch
    return {
        "op": "publish",
        "messages": messages,
        "seconds": watch.seconds,
        "rate": messages / watch.seconds,
        "cpu_s": watch.cpu_s,
        "started": watch.started,
        "finished": watch.finished,
        "p50_ms": percentile(latencies, 0.5) * 1e3 if latencies else None,
        "p99_ms": percentile(latencies, 0.99) * 1e3 if latencies else None,
        "errors": errors,
    }


def _open(plan: PublishPlan) -> list[Publisher]:
    each = plan.messages // plan.connections
    window = max(1, plan.window // plan.connections)
    publishers = []
    for number in range(plan.connections):
        name = f"bench-{number:04d}"
        load = Load(each, number * each, plan.size, plan.batch, plan.topics, plan.keys, name, plan.hold)
        prepared = prepare(load)
        session = Session(plan.address, plan.timeout_s)
        for producer, topic in enumerate(plan.topic_names(), 1):
            session.open_producer(topic, producer, name)
        publishers.append(Publisher(prepared, session, window))
    return publishers


def _drive(publishers: list[Publisher], limit_s: float) -> str:
    """Turn the loop until every receipt is there; return what went wrong, if anything."""
    deadline = time.monotonic() + limit_s
    poll = select.poll()
    by_fileno = {publisher.fileno: publisher for publisher in publishers}
    waiting: dict[int, bool] = {}
    for publisher in publishers:
        waiting[publisher.fileno] = publisher.send()
        poll.register(publisher.fileno, select.POLLIN | (select.POLLOUT if waiting[publisher.fileno] else 0))
    while by_fileno:
        left = deadline - time.monotonic()
        ready = poll.poll(max(0.0, left) * 1e3) if left > 0 else []
        if not ready:
            done = sum(publisher.receipts.count for publisher in publishers)
            return f"no answer in {limit_s:g} s: {done} of {sum(item.entries for item in publishers)} receipts"
        for fileno, event in ready:
            publisher = by_fileno[fileno]
            if event & ~select.POLLOUT:
                publisher.receive()
            if publisher.done:
                poll.unregister(fileno)
                del by_fileno[fileno]
                continue
            wants_more = publisher.send()
            if wants_more != waiting[fileno]:
                waiting[fileno] = wants_more
                poll.modify(fileno, select.POLLIN | (select.POLLOUT if wants_more else 0))
    return ""
