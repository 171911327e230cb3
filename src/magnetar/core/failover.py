"""Which consumer of a Failover subscription is active.

Candidates are the consumers of the best (lowest) priority level, in order of name. A partition picks by its index,
so that the partitions of a topic spread evenly; a topic that is no partition, or any topic when the switch asks for it,
picks by a ring of 100 points a consumer, so that many topics spread as well (PIP-392). Hash and points are Pulsar's.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

from magnetar.wire.hashing import murmur3

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["choose_active", "ring_choice"]

_POINTS = 100
_AROUND = 1 << 32
_NAMES_KEPT = 4_096
"""Names whose points need not be computed at every join and leave."""


def _utf16(text: str) -> bytes:
    """Names compare by UTF-16 code units, as Java compares strings."""
    return text.encode("utf-16-be", "surrogatepass")


@lru_cache(maxsize=_NAMES_KEPT)
def _points(name: str) -> list[int]:
    """Where the name stands on the ring, ascending."""
    return sorted(murmur3(f"{name}{point}".encode()) for point in range(_POINTS))


def ring_choice(names: list[str], topic: str) -> int:
    """The index of the name that the ring gives ``topic`` to: that of the first point from its own place on, and once
    around. Where names have a point in common it is the last one's."""
    place = murmur3(topic.encode())
    chosen, nearest = 0, 2 * _AROUND
    for index, name in enumerate(names):
        points = _points(name)
        at = bisect_left(points, place)
        point = points[at] if at < _POINTS else points[0] + _AROUND
        if point <= nearest:
            chosen, nearest = index, point
    return chosen


def choose_active(consumers: list[Consumer], topic: str, partition: int, by_hash: bool) -> Consumer:
    """The consumer to be active among ``consumers``, of which there is at least one."""
    ordered = sorted(consumers, key=_rank)
    best = ordered[0].priority
    candidates = [consumer for consumer in ordered if consumer.priority == best]
    if len(candidates) == 1:
        return candidates[0]
    if partition >= 0 and not by_hash:
        return candidates[partition % len(candidates)]
    return candidates[ring_choice([consumer.name for consumer in candidates], topic)]


def _rank(consumer: Consumer) -> tuple[int, bytes]:
    return consumer.priority, _utf16(consumer.name)
