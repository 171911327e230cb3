"""The rows about Key_Shared: the contract of a key beside Shared; joining, leaving, explaining; memory of drains."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
import tracemalloc
from collections.abc import Callable

from bench import wire
from bench.arena import Arena, Load, Row, Run, say
from bench.brokers import Broker
from bench.consumers import ConsumePlan, Consumer, Loop
from bench.rates import KEYS, note_failures
from bench.session import BrokerError, Session
from bench.stats import Goal, ratio, verdict
from magnetar.core.dispatch.draining import Drains

CONSUMERS = 10
HELD_KEYS = 1_200
"""Held by the first of ten consumers, of which about a tenth stays its own: so at least 1,000 slots drain."""
DISPATCH_TIMES = 1.3
DRAINING_TIMES = 1.5
PENDING = 100_000
HOLDERS = 3
"""One consumer may hold 50,000 messages."""
QUEUE = 1_000
STALL_MS = 100.0
EXPLAIN_MS = 50.0
SLOTS = 65_535
DRAINS_MB = 5.0
QUIET_S = 0.3


def cost(arena: Arena) -> list[Row]:
    """Compare the CPU of a message on a Shared subscription with Key_Shared, without and with draining slots."""
    say(f"CPU per message with {CONSUMERS} consumers: Shared, Key_Shared, Key_Shared while slots drain ...")
    messages = arena.size(300_000, 100_000)
    plain = Row("key_shared_cost", f"Key_Shared beside Shared, {KEYS:,} keys, {CONSUMERS} consumers", "us")
    drain = Row("draining_cost", "the same while 1,000 slots drain", "us")
    costs: list[float | None] = []
    for kind, held, row in (("shared", 0, plain), ("key_shared", 0, plain), ("key_shared", HELD_KEYS, drain)):
        load = Load("consume", ("--type", kind, "--connections", CONSUMERS))
        shared = ("--keys", KEYS, "--hold", held)
        run = Run(messages, (load,), shared, Load("publish"), kind, held=held)
        (ours,) = arena.compare(run, only_ours=True)
        note_failures(row, [ours])
        costs.append(ours.broker_us())
        row.load_us, row.spread = ours.load_us(), ours.spread()
        row.samples[f"ours, {kind}, {held} held"] = ours.samples
    for row, value, times in ((plain, costs[1], DISPATCH_TIMES), (drain, costs[2], DRAINING_TIMES)):
        row.ours, row.broker_us, row.ratio = value, value, ratio(value, costs[0])
        row.target = f"<= {times:g} times Shared"
        row.verdict = verdict([Goal(row.target, row.ratio, below=times)])
        if costs[0] is not None:
            row.notes.append(f"the ratio is to Shared of ours, {costs[0]:.2f} us")
    return [plain, drain]


class Probe(threading.Thread):
    """A connection that pings all the time: its longest wait for an answer is how long the broker's loop was busy."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._session = Session(address)
        self._stopping = threading.Event()
        self.longest_ms = 0.0

    def run(self) -> None:
        with contextlib.suppress(BrokerError):
            while not self._stopping.is_set():
                before = time.perf_counter()
                self._session.ask(wire.command(wire.PING), wire.PONG)
                self.longest_ms = max(self.longest_ms, (time.perf_counter() - before) * 1e3)

    def stop(self) -> float:
        """Stop and return the longest wait in milliseconds."""
        self._stopping.set()
        self.join()
        self._session.close()
        return self.longest_ms


def stalls(arena: Arena) -> list[Row]:
    """Let consumers join and leave, and the subscription be explained, while 100,000 messages are unacknowledged."""
    say(f"joining, leaving and explaining with {PENDING:,} pending acks ...")
    rows = [
        Row("key_shared_joining", f"longest stall by a join or leave with {PENDING:,} pending acks", "ms"),
        Row("key_shared_explain", f"longest stall by explain with {PENDING:,} pending acks", "ms"),
    ]
    broker = arena.ours
    seen: list[dict[str, float]] = []
    try:
        with arena.started([broker]) as (contender,):
            if contender.failure:
                raise BrokerError(contender.failure)
            seen = [_stalls(arena, broker) for _ in range(arena.rounds)]
    except (BrokerError, OSError) as error:
        rows[0].notes.append(f"ours: {error}")
    for row, limit_ms in zip(rows, (STALL_MS, EXPLAIN_MS), strict=True):
        if seen:
            medians = {what: sorted(stall[what] for stall in seen)[len(seen) // 2] for what in seen[0]}
            explains = row.key == "key_shared_explain"
            mine = {what: value for what, value in medians.items() if what.startswith("explain") == explains}
            row.ours = max(value for what, value in mine.items() if what != "idle")
            row.notes.append(", ".join(f"{what}: {value:.1f} ms" for what, value in mine.items()))
        goal = Goal(f"< {limit_ms:g} ms", row.ours, below=limit_ms)
        row.target, row.verdict = goal.text, verdict([goal])
    return rows


def drains(_arena: Arena) -> Row:
    """Weigh the tracker of drains with every slot draining, each for a key of its own: the worst case of PIP-379."""
    row = Row("draining_memory", f"memory of {SLOTS:,} draining slots", "MB")
    tracemalloc.start()
    try:
        table = Drains()
        nothing = tracemalloc.get_traced_memory()[0]
        for slot in range(1, SLOTS + 1):
            table.add(slot * 31_337, slot, 1, table)
        table.coarsen({key: key // 31_337 for key in table.keys})
        full = tracemalloc.get_traced_memory()[0]
        for slot in range(1, SLOTS + 1):
            table.release(slot * 31_337, slot)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    row.ours = (full - nothing) / 1e6
    row.notes.append(f"{(after - nothing) / 1e6:.3f} MB when the last of them is over")
    goal = Goal(f"< {DRAINS_MB:g} MB", row.ours, below=DRAINS_MB)
    row.target, row.verdict = goal.text, verdict([goal])
    return row


def _stalls(arena: Arena, broker: Broker) -> dict[str, float]:
    """Return the longest wait of a probe during each step."""
    topic = f"bench-{time.time_ns()}"
    plan = ConsumePlan(broker.address, topic, PENDING, kind="key_shared", queue=QUEUE, timeout_s=arena.timeout_s)
    holders = [Consumer(plan, 1 + number) for number in range(HOLDERS)]
    backlog = Run(PENDING, (Load("publish"),), ("--topic", topic, "--keys", KEYS))
    if errors := arena.sample(broker, backlog).errors:
        raise BrokerError("; ".join(errors))
    _hold_all(holders, time.monotonic() + arena.timeout_s)
    found = {"idle": _during(broker, lambda: None)}
    joined: list[Consumer] = []
    found["join"] = _during(broker, lambda: joined.append(Consumer(plan, 1 + HOLDERS)))
    found["explain"] = _during(broker, lambda: _explain(broker, plan, ""))
    found["explain a key"] = _during(broker, lambda: _explain(broker, plan, "?key=key-1"))
    found["leave"] = _during(broker, joined[0].close)
    found["a holder leaves"] = _during(broker, holders[0].close)
    for consumer in holders[1:]:
        consumer.close()
    return found


def _explain(broker: Broker, plan: ConsumePlan, query: str) -> None:
    """Ask why the subscription does not move."""
    path = f"/admin/v2/persistent/public/default/{plan.topic}/subscription/{plan.subscription}/explain{query}"
    with contextlib.closing(http.client.HTTPConnection(broker.http, timeout=plan.timeout_s)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise BrokerError(f"explain answered {answer.status}: {answer.read(200)!r}")


def _hold_all(holders: list[Consumer], deadline: float) -> None:
    """Take everything and acknowledge nothing; permits are granted in small numbers, so that few are left over."""
    loop = Loop(holders)
    for consumer in holders:
        consumer.holding = True
        consumer.first_permits()
        loop.flush(consumer)
    while loop.entries < PENDING:
        if not loop.turn(deadline):
            raise BrokerError(f"{loop.entries} of {PENDING} messages were delivered")


def _during(broker: Broker, step: Callable[[], object]) -> float:
    """Return the longest wait of a probe while the step is taken and shortly afterwards."""
    probe = Probe(broker.address)
    probe.start()
    try:
        step()
        time.sleep(QUIET_S)
    finally:
        longest_ms = probe.stop()
    return longest_ms
