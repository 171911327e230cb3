"""How much was sent to which part of the slots lately: averages that forget, in constant memory.

The slots 0 to 65535 are counted in 4,096 *buckets* of sixteen. What was counted loses half of its weight every
``HALF_LIFE_MS``. Nothing is visited for that: instead of making all counters smaller, what is counted from now on
weighs more, and only once in many minutes everything is scaled down again. So a message costs one addition.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

__all__ = ["BUCKETS", "BUCKET_SHIFT", "BUCKET_SLOTS", "HALF_LIFE_MS", "LOAD_SLOTS", "Profile", "SlotLoad"]

LOAD_SLOTS: Final = 65_536
BUCKET_SHIFT: Final = 4
BUCKET_SLOTS: Final = 1 << BUCKET_SHIFT
BUCKETS: Final = LOAD_SLOTS >> BUCKET_SHIFT
HALF_LIFE_MS: Final = 30_000
_SCALE_AT: Final = 64
"""So many half-lives after the last time the counters are scaled down; far from where floats would overflow."""
_LN2: Final = 0.6931471805599453


class Profile:
    """The load at one moment, to be asked about many ranges. Loads are messages, the older the less they count."""

    def __init__(self, sums: list[float], per_second: float) -> None:
        self.sums: list[float] = sums
        """The load below each bucket, and at the end all of it."""
        self.per_second: float = per_second
        """Times a load: messages a second."""

    def below(self, slot: int) -> float:
        """The load of all slots below this one; within a bucket it is taken to be spread evenly."""
        at = slot >> BUCKET_SHIFT
        rest = slot & (BUCKET_SLOTS - 1)
        found = self.sums[at]
        return found + (self.sums[at + 1] - found) * rest / BUCKET_SLOTS if rest else found

    def between(self, first: int, last: int) -> float:
        """The load of the slots from ``first`` to ``last``."""
        return self.below(last + 1) - self.below(first)

    @property
    def total(self) -> float:
        return self.sums[BUCKETS]

    def median(self, first: int, last: int) -> int:
        """Where to cut a range of at least two slots: the first slot of the upper half of its load.

        Cuts lie between buckets, because what is within one is not known; a range within one bucket is halved. Where
        half of the load is reached and nothing follows for a while, the cut goes to the middle of that gap.
        """
        low = (first >> BUCKET_SHIFT) + 1
        high = last >> BUCKET_SHIFT
        if low > high:
            return first + (last - first + 1) // 2
        sums = self.sums
        half = (self.below(first) + self.below(last + 1)) / 2
        at = min(max(bisect_left(sums, half), low), high)
        if at > low and half - sums[at - 1] < sums[at] - half:
            at -= 1
        begin = max(bisect_left(sums, sums[at]), low)
        end = min(bisect_right(sums, sums[at]) - 1, high)
        return (begin + end + 1) // 2 << BUCKET_SHIFT


class SlotLoad:
    """See the module's text; 32 KB."""

    def __init__(self, now_ms: int) -> None:
        self.counts: array[float] = array("d", bytes(8 * BUCKETS))
        self.weight: float = 1.0
        self.base_ms: int = now_ms
        self.since_ms: int = now_ms
        self.now_ms: int = now_ms

    def note(self, key_hash: int, messages: int) -> None:
        """So many messages of the key were sent."""
        self.counts[key_hash % LOAD_SLOTS >> BUCKET_SHIFT] += messages * self.weight

    def tick(self, now_ms: int) -> None:
        """It is that late now."""
        self.now_ms = now_ms
        age = (now_ms - self.base_ms) / HALF_LIFE_MS
        if age > _SCALE_AT:
            scale = float(2.0 ** -min(age, 1000.0))
            for at in range(BUCKETS):
                self.counts[at] *= scale
            self.base_ms = now_ms
            age = 0.0
        self.weight = float(2.0**age)

    def profile(self) -> Profile:
        """What is known now."""
        weight = self.weight
        sums = [0.0]
        total = 0.0
        for count in self.counts:
            total += count / weight
            sums.append(total)
        seen = float(1.0 - 2.0 ** (-max(self.now_ms - self.since_ms, 1_000) / HALF_LIFE_MS))
        return Profile(sums, 1000.0 * _LN2 / (HALF_LIFE_MS * seen))
