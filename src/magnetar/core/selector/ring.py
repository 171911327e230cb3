"""The consistent hash ring, Pulsar's default selector: 100 points a consumer over the slots from 1 on.

A consumer's points come from its name and the lowest number that no other live consumer of that name uses, so one that
leaves and rejoins gets its old points back. Where two points fall on one slot the earlier keeps it and the later wait
behind it in order. A slot belongs to the owner of the first point at or after it, wrapping round.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Final

from magnetar.wire.hashing import murmur3, slot

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["CLASSIC_RING_SLOTS", "RING_SLOTS", "Ring"]

RING_SLOTS: Final = 65535
"""Slots 1 to 65535; 0 means "no slot" on the wire and in stats."""

CLASSIC_RING_SLOTS = (1 << 31) - 2
"""The classic dispatcher's ring is as wide as the hash: slots 1 to 2^31 - 2."""


class Ring:
    """See the module's text."""

    def __init__(self, points: int, slots: int = RING_SLOTS) -> None:
        self.points: int = points
        self.slots: int = slots
        self.owners: dict[int, list[Consumer]] = {}
        self.order: list[int] = []
        self.numbers: dict[str, dict[int, Consumer]] = {}
        self.listed: dict[Consumer, list[tuple[int, int]]] | None = None
        """What ``shares`` has found, until somebody joins or leaves: with many consumers it is long."""

    def slot_of(self, key_hash: int) -> int:
        """The slot of a masked key hash."""
        return slot(key_hash, self.slots, 1)

    def _slots(self, name: str, number: int) -> list[int]:
        return [self.slot_of(murmur3(f"{name}\0{number}\0{point}".encode())) for point in range(self.points)]

    def add(self, consumer: Consumer) -> None:
        self.listed = None
        taken = self.numbers.setdefault(consumer.name, {})
        number = 0
        while number in taken:
            number += 1
        taken[number] = consumer
        for at in self._slots(consumer.name, number):
            waiting = self.owners.get(at)
            if waiting is None:
                self.owners[at] = [consumer]
                insort(self.order, at)
            else:
                waiting.append(consumer)

    def remove(self, consumer: Consumer) -> None:
        self.listed = None
        taken = self.numbers[consumer.name]
        number = next(n for n, owner in taken.items() if owner is consumer)
        del taken[number]
        if not taken:
            del self.numbers[consumer.name]
        for at in self._slots(consumer.name, number):
            waiting = self.owners[at]
            waiting.remove(consumer)
            if not waiting:
                del self.owners[at]
                del self.order[bisect_left(self.order, at)]

    def select(self, at: int) -> Consumer | None:
        """The owner of a slot, None when there is no consumer."""
        order = self.order
        if not order:
            return None
        found = bisect_left(order, at)
        return self.owners[order[found if found < len(order) else 0]][0]

    def share(self, consumer: Consumer) -> int:
        """How many slots the consumer owns."""
        if self.listed is not None:
            return sum([last - first + 1 for first, last in self.listed.get(consumer, [])])
        order, found = self.order, 0
        number = next(n for n, owner in self.numbers[consumer.name].items() if owner is consumer)
        for point in dict.fromkeys(self._slots(consumer.name, number)):
            if self.owners[point][0] is consumer:
                at = bisect_left(order, point)
                found += point - order[at - 1] if at else point + self.slots - order[-1]
        return found

    def shares(self) -> dict[Consumer, list[tuple[int, int]]]:
        """The ranges of each owner, as (first slot, last slot); not to be changed by the caller."""
        if self.listed is None:
            self.listed = {}
            for first, last, owner in self.ranges():
                self.listed.setdefault(owner, []).append((first, last))
        return self.listed

    def ranges(self) -> list[tuple[int, int, Consumer]]:
        """Who owns what, as (first slot, last slot, consumer), ascending, neighbours of one owner merged."""
        found: list[tuple[int, int, Consumer]] = []
        first = 1
        for point in self.order:
            self._join(found, first, point, self.owners[point][0])
            first = point + 1
        if self.order and first <= self.slots:
            self._join(found, first, self.slots, self.owners[self.order[0]][0])
        return found

    @staticmethod
    def _join(found: list[tuple[int, int, Consumer]], first: int, last: int, owner: Consumer) -> None:
        if found and found[-1][2] is owner:
            found[-1] = (found[-1][0], last, owner)
        else:
            found.append((first, last, owner))
