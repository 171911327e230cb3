"""Consume and acknowledge over one or many connections, in one thread.

Every entry is acknowledged by a frame of its own, as a client that acknowledges one by one without grouping does; the
acknowledgements of one read leave in one write. The clock stops when the broker has answered a question asked after
the last acknowledgement, so what is measured includes taking all of them. Afterwards, off the clock, the tapes are
judged and the subscription is opened again: whatever is delivered then was acknowledged in vain.
"""

from __future__ import annotations

import select
import time
from collections import Counter
from dataclasses import dataclass

from bench import wire
from bench.gate import Report, Stopwatch, wait_for_go
from bench.proof import check_deliveries
from bench.publish import numbered
from bench.scan import Deliveries
from bench.session import RECEIVE_BYTES, BrokerError, Session, describe_error, flow_frame

CONSUMERS_MAX = 126
BARRIER_TIMEOUT_S = 5.0
REDELIVERY_WAIT_S = 0.25


@dataclass(frozen=True, slots=True)
class ConsumePlan:
    """What to consume and how; `queue` is the number of messages a consumer may hold unread."""

    address: str
    topic: str
    messages: int
    subscription: str = "bench"
    kind: str = "shared"
    batch: int = 1
    queue: int = 5000
    topics: int = 1
    connections: int = 1
    keys: int = 0
    timeout_s: float = 60.0
    gate: bool = False
    verify_acks: bool = True


class Consumer:
    """One connection with a consumer on every topic; the consumers' ids differ between connections."""

    def __init__(self, plan: ConsumePlan, first_id: int) -> None:
        self._plan = plan
        self._session = session = Session(plan.address, plan.timeout_s)
        self._ids = range(first_id, first_id + plan.topics)
        for consumer_id, topic in zip(self._ids, numbered(plan.topic, plan.topics), strict=True):
            session.subscribe(topic, plan.subscription, plan.kind, consumer_id)
        session.sock.setblocking(False)
        self.fileno = session.sock.fileno()
        self.errors: list[str] = []
        self.barriers = 0
        self.deliveries = Deliveries(self._other, plan.batch, session.rest)
        self._out = bytearray()
        self._owed: Counter[int] = Counter()

    def _other(self, kind: int, command: bytes) -> None:
        if kind == wire.PING:
            self._out += wire.command(wire.PONG)
        elif kind == wire.GET_LAST_MESSAGE_ID_RESPONSE:
            self.barriers += 1
        elif kind == wire.ERROR:
            self.barriers += 1
            self.errors.append(describe_error(command))
        elif kind == wire.CLOSE_CONSUMER:
            self.errors.append("the broker closed the consumer")

    def first_permits(self) -> None:
        """Grant a full queue to every consumer."""
        for consumer_id in self._ids:
            self._out += flow_frame(consumer_id, self._plan.queue)

    def receive(self) -> int:
        """Take what has arrived, acknowledge it and renew the permits; return the number of entries."""
        received = self._session.sock.recv(RECEIVE_BYTES)
        if not received:
            self.errors.append("the broker closed the connection")
            return 0
        count = self.deliveries.feed(received)
        self._out += self.deliveries.acks
        self.deliveries.acks.clear()
        taken = self.deliveries.per_consumer
        if taken:
            self._owed.update(taken)
            taken.clear()
            for consumer_id, entries in self._owed.items():
                if entries * self._plan.batch * 2 >= self._plan.queue:
                    self._out += flow_frame(consumer_id, entries * self._plan.batch)
                    self._owed[consumer_id] = 0
        return count

    def send(self) -> bool:
        """Send what is pending; tell whether something is left."""
        if not self._out:
            return False
        try:
            sent = self._session.sock.send(self._out)
        except BlockingIOError:
            return True
        del self._out[:sent]
        return bool(self._out)

    def ask_barrier(self) -> None:
        """Ask what is answered only after the acknowledgements before it were read."""
        request = wire.field(1, self._ids[0]) + wire.field(2, self._session.next_request())
        self._out += wire.command(wire.GET_LAST_MESSAGE_ID, request)

    def close(self) -> None:
        """Drop the connection."""
        self._session.close()


class Loop:
    """Turns the consumers' sockets until enough has arrived."""

    def __init__(self, consumers: list[Consumer]) -> None:
        self._consumers = {consumer.fileno: consumer for consumer in consumers}
        self._poll = select.poll()
        self._waiting = dict.fromkeys(self._consumers, False)
        self.entries = 0
        self.last_delivery = 0.0
        for fileno in self._consumers:
            self._poll.register(fileno, select.POLLIN)

    def flush(self, consumer: Consumer) -> None:
        """Send what is pending and watch for room where it was not taken whole."""
        waiting = consumer.send()
        if waiting != self._waiting[consumer.fileno]:
            self._waiting[consumer.fileno] = waiting
            self._poll.modify(consumer.fileno, select.POLLIN | (select.POLLOUT if waiting else 0))

    def turn(self, deadline: float) -> bool:
        """Wait for the next event and serve it; tell whether there was one before the deadline."""
        left = deadline - time.monotonic()
        ready = self._poll.poll(left * 1e3) if left > 0 else []
        for fileno, event in ready:
            consumer = self._consumers[fileno]
            if event & ~select.POLLOUT:
                count = consumer.receive()
                self.entries += count
                self.last_delivery = time.monotonic() if count else self.last_delivery
            self.flush(consumer)
        return bool(ready)

    @property
    def errors(self) -> list[str]:
        """Return what the consumers met."""
        return [error for consumer in self._consumers.values() for error in consumer.errors]

    @property
    def pending(self) -> bool:
        """Tell whether something is still to be sent."""
        return any(self._waiting.values())


def run_consume(plan: ConsumePlan) -> Report:
    """Consume the whole plan and report rate, own CPU, and what was missing, twice or delivered again."""
    if plan.topics * plan.connections > CONSUMERS_MAX:
        raise ValueError(f"at most {CONSUMERS_MAX} consumers in one process")
    consumers = [Consumer(plan, 1 + number * plan.topics) for number in range(plan.connections)]
    expected = plan.messages // plan.batch
    loop = Loop(consumers)
    wait_for_go(plan.gate)
    watch = Stopwatch()
    notes: list[str] = []
    try:
        problem = _take_all(loop, consumers, expected, plan.timeout_s)
        if not problem:
            notes = _barrier(loop, consumers)
    except (OSError, wire.BadFrameError) as error:
        problem = f"connection lost: {error}"
    watch.stop()
    errors = [problem] if problem else []
    errors += loop.errors[:3]
    tapes = [bytes(consumer.deliveries.tape) for consumer in consumers]
    received = check_deliveries(tapes, expected, plan.batch, plan.keys)
    errors += received.errors()
    wrong = sum(consumer.deliveries.wrong_checksums for consumer in consumers)
    errors += [f"{wrong} checksums wrong"] if wrong else []
    if any(consumer.deliveries.absent_checksums for consumer in consumers):
        notes.append("delivered without checksums")
    for consumer in consumers:
        consumer.close()
    if plan.verify_acks and not problem:
        errors += _redelivered(plan)
    messages = loop.entries * plan.batch
    return {
        "op": "consume",
        "messages": messages,
        "seconds": watch.seconds,
        "rate": messages / watch.seconds,
        "cpu_s": watch.cpu_s,
        "started": watch.started,
        "finished": watch.finished,
        "errors": errors,
        "notes": notes,
    }


def _take_all(loop: Loop, consumers: list[Consumer], expected: int, limit_s: float) -> str:
    deadline = time.monotonic() + limit_s
    for consumer in consumers:
        consumer.first_permits()
        loop.flush(consumer)
    loop.last_delivery = time.monotonic()
    while loop.entries < expected:
        if loop.errors:
            return "stopped by an error"
        if not loop.turn(deadline):
            silent = deadline - loop.last_delivery
            limit = f"no answer in {limit_s:g} s"
            return f"{limit}: {loop.entries} of {expected} entries delivered, the last {silent:.1f} s before the end"
    return ""


def _barrier(loop: Loop, consumers: list[Consumer]) -> list[str]:
    deadline = time.monotonic() + BARRIER_TIMEOUT_S
    for consumer in consumers:
        consumer.ask_barrier()
        loop.flush(consumer)
    while any(consumer.barriers == 0 for consumer in consumers) or loop.pending:
        if not loop.turn(deadline):
            return [f"the question after the last acknowledgement had no answer in {BARRIER_TIMEOUT_S:g} s"]
    return []


def _redelivered(plan: ConsumePlan) -> list[str]:
    """Open the subscription again and count what comes although it was acknowledged."""
    again = Deliveries(lambda _kind, _command: None, plan.batch)
    try:
        with Session(plan.address, REDELIVERY_WAIT_S * 20) as session:
            for consumer_id, topic in enumerate(numbered(plan.topic, plan.topics), 1):
                session.subscribe(topic, plan.subscription, plan.kind, consumer_id)
                session.sock.sendall(flow_frame(consumer_id, plan.queue))
            again.feed(session.rest)
            session.sock.settimeout(REDELIVERY_WAIT_S)
            while received := session.sock.recv(RECEIVE_BYTES):
                again.feed(received)
    except TimeoutError:
        pass
    except (BrokerError, OSError) as error:
        return [f"could not open the subscription again: {error}"]
    return [f"{again.entries} acknowledged entries were delivered again"] if again.entries else []
