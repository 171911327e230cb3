"""Which consumer of a Failover subscription is active.

Candidates are the consumers of the best (lowest) priority level, in order of name. A partition picks by its index,
so that the partitions of a topic spread evenly; a topic that is no partition, or any topic when the switch asks for it,
picks by a ring of 100 points a consumer, so that many topics spread as well (PIP-392). Hash and points are Pulsar's.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from magnetar.wire.hashing import murmur3

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["choose_active", "ring_choice"]

_POINTS = 100


def _utf16(text: str) -> bytes:
    """Names compare by UTF-16 code units, as Java compares strings."""
    return text.encode("utf-16-be", "surrogatepass")


def ring_choice(names: list[str], topic: str) -> int:
    """The index of the name that the ring gives ``topic`` to. A later point overwrites an equal earlier one."""
    owners: dict[int, int] = {}
    for index, name in enumerate(names):
        for point in range(_POINTS):
            owners[murmur3(f"{name}{point}".encode())] = index
    points = sorted(owners)
    at = bisect_left(points, murmur3(topic.encode()))
    return owners[points[at if at < len(points) else 0]]


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
