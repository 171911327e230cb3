"""Where the ranges of the rate-aware selector should end, given the load: the plan of rebalancing.

The order of the consumers stays, so a plan is a list of bounds. The best that can be done is the smallest maximum of
all loads that any bounds reach; no bounds can divide a bucket with a single hot key in it. The plan settles for a
little more than that, and moves each bound no further than it has to for it, so that few slots change hands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Final

from magnetar.core.selector.load import BUCKET_SHIFT, BUCKETS, Profile

__all__ = ["best_maximum", "part_of_the_way", "plan"]

_STEPS: Final = 40
_SLACK: Final = 1.01


def best_maximum(sums: list[float], parts: int) -> float:
    """The smallest load of the busiest when the buckets are divided among so many."""
    low, high = sums[BUCKETS] / parts, sums[BUCKETS]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _fits(sums, parts, middle):
            high = middle
        else:
            low = middle
    return high


def _fits(sums: list[float], parts: int, most: float) -> bool:
    at = 0
    for _ in range(parts):
        reach = bisect_right(sums, sums[at] + most) - 1
        if reach >= BUCKETS:
            return True
        if reach <= at:
            return False
        at = reach
    return False


def plan(profile: Profile, bounds: list[int], spread: float) -> list[int]:
    """Bounds under which nobody has more than the mean and ``spread`` of it, or than the least that can be reached."""
    parts, sums = len(bounds), profile.sums
    most = max(best_maximum(sums, parts) * _SLACK, profile.total / parts * (1 + spread))
    lowest = _lowest(sums, parts, most)
    found: list[int] = []
    cut = 0
    for row in range(parts - 1):
        # The last bucket that may begin the next range: the load up to it fits, and a bucket is left for each.
        reach = bisect_right(sums, profile.below(cut) + most) - 1
        reach = max(min(reach, BUCKETS - (parts - 1 - row)), (cut >> BUCKET_SHIFT) + 1)
        least = max(lowest[row], (cut >> BUCKET_SHIFT) + 1)
        now = bounds[row] + 1
        cut = min(max(now, least << BUCKET_SHIFT), max(reach, least) << BUCKET_SHIFT)
        found.append(cut - 1)
    found.append(bounds[parts - 1])
    return found


def _lowest(sums: list[float], parts: int, most: float) -> list[int]:
    """For each cut the lowest bucket from which on the ranges above it can take everything that is left."""
    found = [0] * (parts - 1)
    at = BUCKETS
    for row in range(parts - 2, -1, -1):
        at = min(bisect_left(sums, sums[at] - most), at - 1)
        found[row] = max(at, row + 1)
        at = found[row]
    return found


def part_of_the_way(before: list[int], wanted: list[int], slots: int) -> list[int]:
    """All bounds moved by the same part of their way, so far that not more than ``slots`` change hands."""
    needed = sum(abs(new - old) for new, old in zip(wanted, before, strict=True))
    if needed <= slots:
        return wanted
    found = [old + int((new - old) * slots / needed) for new, old in zip(wanted, before, strict=True)]
    rising = all(low < high for low, high in pairwise(found))
    return found if rising else before
