"""Which consumer of a Failover subscription is active.

Candidates are the consumers of the best (lowest) priority level, in order of name. Who of them it is, a selector says:

``modulo``
    A partition picks by its index, so that the partitions of a topic spread evenly; a topic that is no partition picks
    by the ring (PIP-392). Pulsar's default.
``ring``
    Every topic picks by a ring of 100 points a consumer, so that many topics spread. Hash and points are Pulsar's.
``separated``
    The same with a mark between name and number of a point, so that ``c1`` and ``c11`` have no point in common.
``first``
    Whoever is active stays so; after it comes the one that has been connected longest.
``balanced``
    Whoever is active stays so until another has two topics less (``balance``).
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from magnetar.wire.hashing import murmur3

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["BALANCED", "FIRST", "MODULO", "RING", "SELECTORS", "SEPARATED", "candidates_of", "choose", "ring_choice"]

MODULO: Final = "modulo"
RING: Final = "ring"
SEPARATED: Final = "separated"
BALANCED: Final = "balanced"
FIRST: Final = "first"
SELECTORS = ("modulo", "ring", "separated", "balanced", "first")

_POINTS = 100
_AROUND = 1 << 32
_NAMES_KEPT = 4_096
"""Names whose points need not be computed at every join and leave."""
_MARK = "#"
"""No digit, so that the last one of a point's text is always where the name ends."""


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


def candidates_of(consumers: list[Consumer]) -> list[Consumer]:
    """Those of the best priority level, in order of name."""
    ordered = sorted(consumers, key=_rank)
    if not ordered:
        return ordered
    best = ordered[0].priority
    return [consumer for consumer in ordered if consumer.priority == best]


def choose(selector: str, consumers: list[Consumer], topic: str, partition: int, heir: Consumer | None) -> Consumer:
    """The consumer to be active among ``consumers``, of which there is at least one, in the order in which they came.
    ``heir`` is who is or is to become active so far. Not for ``balanced``, which looks beyond one topic."""
    candidates = candidates_of(consumers)
    if len(candidates) == 1:
        return candidates[0]
    if selector == FIRST:
        if heir is not None and heir in candidates:
            return heir
        best = candidates[0].priority
        return next(consumer for consumer in consumers if consumer.priority == best)
    if selector == MODULO and partition >= 0:
        return candidates[partition % len(candidates)]
    mark = _MARK if selector == SEPARATED else ""
    return candidates[ring_choice([consumer.name + mark for consumer in candidates], topic)]


def _rank(consumer: Consumer) -> tuple[int, bytes]:
    return consumer.priority, _utf16(consumer.name)
