"""The tail of a topic: its newest entries, in memory, under one budget of bytes for all topics.

Entries enter when they are durable, at the end, and leave at the front: when every subscription is done with them, or
when all tails together hold more than the budget allows, oldest first across topics. Whoever needs an entry that has
left reads it from the log.
"""

from __future__ import annotations

from collections import deque
from typing import Final

__all__ = ["ENTRY_OVERHEAD_BYTES", "Tail", "TailBudget"]

ENTRY_OVERHEAD_BYTES: Final = 60
"""What one cached entry costs besides its bytes: object header, list slot, its count."""

_COMPACT_AT = 4096


class Tail:
    """Entries ``base`` up to ``end`` of one topic, each with its count of messages."""

    def __init__(self, base: int = 0) -> None:
        self.base: int = base
        self.end: int = base
        self.entries: list[bytes] = []
        self.counts: list[int] = []
        self.gone: int = 0
        """List slots at the front that are already dropped."""

    def extend(self, entries: list[bytes], counts: list[int]) -> None:
        self.entries.extend(entries)
        self.counts.extend(counts)
        self.end += len(entries)

    def drop_to(self, offset: int) -> None:
        """Forget entries below ``offset``."""
        if offset <= self.base:
            return
        if offset >= self.end:
            self.entries.clear()
            self.counts.clear()
            self.gone = 0
            self.base = self.end
            return
        drop = offset - self.base
        at = self.gone
        entries = self.entries
        for k in range(at, at + drop):
            entries[k] = b""
        self.gone = at + drop
        self.base = offset
        if self.gone >= _COMPACT_AT and self.gone * 2 >= len(entries):
            del entries[: self.gone]
            del self.counts[: self.gone]
            self.gone = 0

    def restart(self, offset: int) -> None:
        """Forget everything; the next entry will be ``offset``."""
        self.entries.clear()
        self.counts.clear()
        self.gone = 0
        self.base = offset
        self.end = offset


class TailBudget:
    """Keeps all tails together under ``limit_bytes`` by dropping the oldest runs first."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes: int = limit_bytes
        self.used_bytes: int = 0
        self.runs: deque[tuple[Tail, int, int]] = deque()

    def add(self, tail: Tail, end: int, size: int) -> None:
        """A run that ends before offset ``end`` and costs ``size`` bytes has joined ``tail``."""
        self.runs.append((tail, end, size))
        self.used_bytes += size
        while self.used_bytes > self.limit_bytes and self.runs:
            tail, end, size = self.runs.popleft()
            self.used_bytes -= size
            tail.drop_to(end)

    def sweep(self) -> None:
        """Take back what is booked for runs at the front that their topics have dropped by themselves."""
        while self.runs and self.runs[0][1] <= self.runs[0][0].base:
            self.used_bytes -= self.runs.popleft()[2]
