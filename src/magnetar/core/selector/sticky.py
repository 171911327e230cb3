"""The selector of consumers that name their own ranges (KeySharedMode STICKY)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from magnetar.errors import ConsumerAssignFailed
from magnetar.wire.hashing import slot

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["STICKY_SLOTS", "StickyRanges", "check_ranges"]

STICKY_SLOTS = 65536


def check_ranges(ranges: list[tuple[int, int]]) -> None:
    """Refuse an empty list, a range that ends before it begins, and ranges that overlap each other."""
    if not ranges:
        raise ConsumerAssignFailed("a consumer in STICKY mode must name its hash ranges; it named none")
    last = -1
    for first, end in sorted(ranges):
        if first < 0 or end < first:
            raise ConsumerAssignFailed(f"the hash range [{first}, {end}] ends before it begins or is negative")
        if first <= last:
            raise ConsumerAssignFailed(f"the hash range [{first}, {end}] overlaps another of the same consumer")
        last = end


class StickyRanges:
    """Ranges of all consumers, ascending. A slot that nobody named has no consumer: its messages wait."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, Consumer]] = []

    def slot_of(self, key_hash: int) -> int:
        """The slot of a masked key hash."""
        return slot(key_hash, STICKY_SLOTS, 0)

    def conflict(self, ranges: list[tuple[int, int]]) -> Consumer | None:
        """A consumer that holds part of ``ranges`` already."""
        for first, last in ranges:
            for low, high, owner in self.rows:
                if first <= high and low <= last:
                    return owner
        return None

    def add(self, consumer: Consumer) -> None:
        check_ranges(consumer.key_ranges)
        other = self.conflict(consumer.key_ranges)
        if other is not None:
            raise ConsumerAssignFailed(f"Range conflict with consumer {other.name}: choose ranges that nobody holds")
        self.rows.extend((first, last, consumer) for first, last in consumer.key_ranges)
        self.rows.sort(key=_first)

    def remove(self, consumer: Consumer) -> None:
        self.rows = [row for row in self.rows if row[2] is not consumer]

    def select(self, at: int) -> Consumer | None:
        found = bisect_right(self.rows, at, key=_first) - 1
        if found < 0 or self.rows[found][1] < at:
            return None
        return self.rows[found][2]

    def share(self, consumer: Consumer) -> int:
        """How many slots the consumer owns."""
        return sum(last - first + 1 for first, last, owner in self.rows if owner is consumer)

    def ranges(self) -> list[tuple[int, int, Consumer]]:
        return list(self.rows)


def _first(row: tuple[int, int, Consumer]) -> int:
    return row[0]
