"""The rows about waiting and memory: latency, start, idle, a large backlog, very many topics."""

from __future__ import annotations

import signal
import time
from statistics import median

from bench.arena import Arena, Load, Row, Run, say
from bench.brokers import Broker, Memory
from bench.disk import small_sync_ms
from bench.rates import note_failures
from bench.session import BrokerError, Session
from bench.stats import Goal, ratio, verdict
from bench.topics import open_topics

LATENCY_RATE = 2000
LATENCY_BASE_MS = 0.5
LATENCY_SYNCS = 3
STARTS = 5
SETTLE_S = 1.0
BACKLOG_MESSAGES = 1_000_000
BACKLOG_TIMEOUT_S = 60.0
TOPICS = 10_000
TOPICS_TIMEOUT_S = 60.0


def latency(arena: Arena) -> list[Row]:
    """Publish at a steady rate; the bound moves with the disk, which is measured before and after."""
    say(f"publish latency at {LATENCY_RATE} msg/s ...")
    seconds = 2.0 if arena.quick else 5.0
    options = ("--rate", LATENCY_RATE, "--seconds", seconds)
    run = Run(int(LATENCY_RATE * seconds), (Load("latency", options),))
    before = small_sync_ms(arena.folder)
    contenders = arena.compare(run, rounds=1 if arena.quick else 3)
    sync_ms = (before + small_sync_ms(arena.folder)) / 2
    bound = LATENCY_BASE_MS + LATENCY_SYNCS * sync_ms
    title = f"publish latency at {LATENCY_RATE:,} msg/s"
    rows = [Row("latency_p50", f"{title}, median", "ms"), Row("latency_p99", f"{title}, p99", "ms")]
    for row, percentile in zip(rows, ("p50_ms", "p99_ms"), strict=True):
        for contender in contenders:
            values = [sample.parts["latency"][percentile] for sample in contender.good]
            value = median(values) if values else None
            if contender.broker is arena.ours:
                row.ours, row.broker_us, row.load_us = value, contender.broker_us(), contender.load_us()
                row.samples["ours"] = contender.samples
            elif contender.broker is arena.rival:
                row.rival = value
            else:
                row.pulsar = value
        row.ratio = ratio(row.ours, row.rival)
    note_failures(rows[0], contenders)
    goal = Goal(f"< {bound:.2f} ms", rows[0].ours, below=bound)
    rows[0].target, rows[0].verdict = goal.text, verdict([goal])
    rows[0].notes.append(
        f"the bound is {LATENCY_BASE_MS} ms and {LATENCY_SYNCS} syncs of {sync_ms:.3f} ms, measured before and after"
    )
    late = [sample.parts["latency"]["late_p99_ms"] for sample in contenders[0].good]
    if late:
        rows[1].notes.append(f"the load itself was late by {median(late):.3f} ms in its p99")
    return rows


def start_and_idle(arena: Arena) -> list[Row]:
    """Start each broker some times on an empty folder, and weigh it once it has nothing to do."""
    say(f"start to the first answered CONNECT, {STARTS} times ...")
    start = Row("start", f"start to answered CONNECT (median of {STARTS})", "s")
    idle = Row("idle", "idle memory", "MB")
    for broker in arena.brokers:
        if not broker.command:
            continue
        times: list[float] = []
        memory: Memory | None = None
        try:
            for number in range(STARTS):
                broker.wipe()
                times.append(broker.start())
                if number == STARTS - 1:
                    time.sleep(SETTLE_S)
                    memory = broker.memory_mb()
                broker.stop()
        except BrokerError as error:
            start.notes.append(f"{broker.name}: {error}")
        finally:
            broker.stop()
            broker.wipe()
        _put(arena, start, broker, median(times) if len(times) == STARTS else None)
        _put(arena, idle, broker, memory.resident if memory else None)
        if memory and broker is arena.ours:
            idle.notes.append(_describe(memory))
    return [_bounded(start, "< 0.4 s", 0.4), _bounded(idle, "< 70 MB", 70)]


def backlog(arena: Arena) -> Row:
    """Weigh each broker with a million messages that one subscription has not consumed."""
    say(f"a backlog of {BACKLOG_MESSAGES:,} messages ...")
    row = Row("backlog", f"memory with a backlog of {BACKLOG_MESSAGES // 10**6} M messages", "MB")
    run = Run(BACKLOG_MESSAGES, (Load("publish"),), kind="shared", timeout_s=BACKLOG_TIMEOUT_S)
    for broker in arena.brokers:
        if not broker.command:
            continue
        with arena.started([broker]) as (contender,):
            if not contender.failure:
                sample = arena.sample(broker, run)
                contender.failure = "; ".join(sample.errors)
                time.sleep(SETTLE_S)
            memory = broker.memory_mb()
            note_failures(row, [contender])
            if memory is not None and not contender.failure:
                _put(arena, row, broker, memory.resident)
                say(f"  {broker.name}: {memory.resident:.0f} MB")
                if broker is arena.ours:
                    row.notes.append(_describe(memory))
    return _bounded(row, "< 150 MB", 150)


def many_topics(arena: Arena) -> list[Row]:
    """Open very many topics, weigh the broker, and start it again over them after a stop and after a kill."""
    say(f"{TOPICS:,} topics with one subscription each ...")
    memory_row = Row("topics_memory", f"memory with {TOPICS:,} topics and subscriptions", "MB")
    start_row = Row("topics_start", f"start-up over {TOPICS:,} topics", "s")
    broker = arena.ours
    try:
        with arena.started([broker]) as (contender,):
            if contender.failure:
                raise BrokerError(contender.failure)
            with Session(broker.address, TOPICS_TIMEOUT_S) as session:
                seconds = open_topics(session, "many", TOPICS, TOPICS_TIMEOUT_S)
                time.sleep(SETTLE_S)
                memory = broker.memory_mb()
            memory_row.notes.append(f"opened in {seconds:.1f} s ({seconds / TOPICS * 1e3:.2f} ms each)")
            if memory is not None:
                memory_row.ours = memory.resident
                memory_row.notes.append(_describe(memory))
            broker.stop()
            start_row.ours = _restart(broker)
            again = broker.memory_mb()
            broker.stop(signal.SIGKILL)
            killed = _restart(broker)
            start_row.notes.append(f"after a kill -9: {killed:.2f} s")
            if again is not None:
                start_row.notes.append(f"{again.resident:.0f} MB after the start")
    except (BrokerError, OSError) as error:
        memory_row.notes.append(f"ours: {error}")
    return [_bounded(memory_row, "< 400 MB", 400), _bounded(start_row, "< 5 s", 5)]


def _restart(broker: Broker) -> float:
    """Return the seconds until the broker answers and its last topic takes a consumer."""
    started = time.monotonic()
    broker.start()
    with Session(broker.address, TOPICS_TIMEOUT_S) as session:
        session.subscribe(f"many-{TOPICS - 1}", "bench", "shared", 1)
    return time.monotonic() - started


def _describe(memory: Memory) -> str:
    return f"highest {memory.highest:.0f} MB, proportional {memory.proportional:.0f} MB"


def _put(arena: Arena, row: Row, broker: Broker, value: float | None) -> None:
    if broker is arena.ours:
        row.ours = value
    elif broker is arena.rival:
        row.rival = value


def _bounded(row: Row, text: str, below: float) -> Row:
    goal = Goal(text, row.ours, below=below)
    row.target, row.verdict, row.ratio = text, verdict([goal]), ratio(row.ours, row.rival)
    return row
