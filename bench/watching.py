"""How soon a watcher of very many topics hears of a new one, and what the whole list costs."""

from __future__ import annotations

import time
from statistics import median

from bench import wire
from bench.arena import Arena, Row, say
from bench.session import BrokerError, Session, topic_name
from bench.stats import Goal, percentile, verdict
from bench.topics import open_topics

TOPICS = 10_000
TOPICS_TIMEOUT_S = 60.0
NEW_TOPICS = 200
LISTS = 20
HEARD_MS = 20
NAMESPACE = "public/default"
PATTERN = f"persistent://{NAMESPACE}/many-.*"


def watch(session: Session, watcher_id: int = 1, pattern: str = PATTERN) -> int:
    """Begin to watch the pattern, and return how many topics match it."""
    parts = wire.field(1, session.next_request()), wire.field(2, watcher_id), wire.field(3, NAMESPACE)
    answer = session.ask(
        wire.command(wire.WATCH_TOPIC_LIST, *parts, wire.field(4, pattern)), wire.WATCH_TOPIC_LIST_SUCCESS
    )
    return len(answer.get(3, []))


def create_ms(watcher: Session, creator: Session, name: str) -> float:
    """Create a topic as its first user does, and return the milliseconds until the watcher has heard of it."""
    full = topic_name(name)
    request = wire.field(1, full) + wire.field(2, creator.next_request())
    started = time.perf_counter()
    creator.sock.sendall(wire.command(wire.PARTITIONED_METADATA, request))
    heard = watcher.ask(b"", wire.WATCH_TOPIC_UPDATE)
    passed_ms = (time.perf_counter() - started) * 1e3
    if heard.get(2) != [full.encode()]:
        raise BrokerError(f"the watcher heard of {heard.get(2)} instead of {full}")
    creator.ask(b"", wire.PARTITIONED_METADATA_RESPONSE)
    return passed_ms


def list_ms(session: Session, expected: int) -> float:
    """Ask for all topics that match, and return the milliseconds until they are there."""
    parts = wire.field(1, session.next_request()), wire.field(2, NAMESPACE), wire.field(4, PATTERN)
    started = time.perf_counter()
    answer = session.ask(wire.command(wire.GET_TOPICS_OF_NAMESPACE, *parts), wire.GET_TOPICS_OF_NAMESPACE_RESPONSE)
    passed_ms = (time.perf_counter() - started) * 1e3
    if len(answer.get(2, [])) != expected:
        raise BrokerError(f"the list has {len(answer.get(2, []))} topics instead of {expected}")
    return passed_ms


def watched_topics(arena: Arena) -> list[Row]:
    """Open very many topics, watch them, create more one after another, and ask for the whole list."""
    say(f"a watcher of {TOPICS:,} topics ...")
    heard_row = Row("watch", f"a watcher of {TOPICS:,} topics hears of a new one", "ms")
    list_row = Row("watch_list", f"the list of {TOPICS:,} topics, matched by a pattern", "ms")
    broker = arena.ours
    try:
        with arena.started([broker]) as (contender,):
            if contender.failure:
                raise BrokerError(contender.failure)
            with Session(broker.address, TOPICS_TIMEOUT_S) as watcher, Session(broker.address) as creator:
                open_topics(creator, "many", TOPICS, TOPICS_TIMEOUT_S)
                if watch(watcher) != TOPICS:
                    raise BrokerError(f"the pattern does not match all {TOPICS} topics")
                times = [create_ms(watcher, creator, f"many-new-{number}") for number in range(NEW_TOPICS)]
                lists = [list_ms(creator, TOPICS + NEW_TOPICS) for _ in range(LISTS)]
        heard_row.ours = median(times)
        heard_row.notes.append(f"p99 {percentile(times, 0.99):.1f} ms; storing the topic durably is part of it")
        list_row.ours = median(lists)
    except (BrokerError, OSError) as error:
        heard_row.notes.append(f"ours: {error}")
    goal = Goal(f"< {HEARD_MS} ms", heard_row.ours, below=HEARD_MS)
    heard_row.target, heard_row.verdict = goal.text, verdict([goal])
    return [heard_row, list_row]
