"""The widest-range split, Pulsar's other selector: every consumer serves one contiguous range of the slots 0 to 65535.

Ranges are kept by their upper bound; a range begins behind the bound below it. Who joins gets the lower half of the
widest range (of equals the lowest). When a consumer leaves, the next higher one takes over its range; the owner of the
top, which has none above it, is replaced by the next lower one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from magnetar.errors import ConsumerAssignFailed
from magnetar.wire.hashing import slot

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["SPLIT_SLOTS", "WidestSplit"]

SPLIT_SLOTS = 65536


class WidestSplit:
    """See the module's text."""

    def __init__(self) -> None:
        self.bounds: list[int] = []
        self.owners: list[Consumer] = []

    def slot_of(self, key_hash: int) -> int:
        """The slot of a masked key hash."""
        return slot(key_hash, SPLIT_SLOTS, 0)

    def add(self, consumer: Consumer) -> None:
        if not self.bounds:
            self.bounds.append(SPLIT_SLOTS)
            self.owners.append(consumer)
            return
        widest, at, below = 0, 0, 0
        for index, upper in enumerate(self.bounds):
            if upper - below > widest:
                widest, at = upper - below, index
            below = upper
        if widest <= 1:
            raise ConsumerAssignFailed("no range is left that could be split for another consumer")
        self.bounds.insert(at, self.bounds[at] - (widest >> 1))
        self.owners.insert(at, consumer)

    def remove(self, consumer: Consumer) -> None:
        at = self.owners.index(consumer)
        if at == len(self.bounds) - 1 and at > 0:
            del self.bounds[at - 1]
        else:
            del self.bounds[at]
        del self.owners[at]

    def select(self, at: int) -> Consumer | None:
        """The owner of a slot, None when there is no consumer."""
        if not self.bounds:
            return None
        return self.owners[bisect_left(self.bounds, at)]

    def share(self, consumer: Consumer) -> int:
        """How many slots the consumer owns."""
        at = self.owners.index(consumer)
        return self.bounds[at] - (self.bounds[at - 1] if at else 0)

    def ranges(self) -> list[tuple[int, int, Consumer]]:
        """Who owns what, as (first slot, last slot, consumer); the last range ends at 65536, as Pulsar shows it."""
        found: list[tuple[int, int, Consumer]] = []
        first = 0
        for upper, owner in zip(self.bounds, self.owners, strict=True):
            found.append((first, upper, owner))
            first = upper + 1
        return found
