"""The row about delayed messages: the memory of a million that wait for their time."""

from __future__ import annotations

import random
import tracemalloc

from bench.arena import Arena, Row, say
from bench.stats import Goal, verdict
from magnetar.core.dispatch.delayed import Delayed

MESSAGES = 1_000_000
LIMIT_MB = 30.0
NOW_MS = 1_700_000_000_000
SPANS_MS = {"one second": 1_000, "a day": 86_400_000, "a year": 365 * 86_400_000}


def memory(arena: Arena) -> list[Row]:
    """Keep messages with times all over a span; what counts is the dearest span."""
    count = arena.size(MESSAGES, MESSAGES // 10)
    say(f"memory of {count:,} delayed messages ...")
    row = Row("delayed_memory", f"{count:,} delayed messages of a subscription", "MB")
    found = {name: _megabytes(count, span) for name, span in SPANS_MS.items()}
    row.ours = max(found.values())
    row.notes += [f"with times all over {name}: {size:.1f} MB" for name, size in found.items()]
    goal = Goal(f"< {LIMIT_MB * count / MESSAGES:.0f} MB", row.ours, below=LIMIT_MB * count / MESSAGES)
    row.target, row.verdict = goal.text, verdict([goal])
    return [row]


def _megabytes(count: int, span_ms: int) -> float:
    chance = random.Random(1)
    tracemalloc.start()
    try:
        wheel = Delayed(NOW_MS)
        for offset in range(count):
            wheel.add(offset, NOW_MS + 3_600_000 + chance.randrange(span_ms), offset & 0x7FFFFFFF)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(wheel) == count
    return used / 1e6
