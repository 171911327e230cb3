"""The rate-aware selector (PIP-32): every consumer serves one range, and whoever is busiest shares when another joins.

Who joins gets the upper part of the range with the highest rate, cut at the median of the load that was observed in
it. When a consumer leaves, its range goes to the neighbour with the lower rate. A consumer's rate is that of the slots
it owns, whoever served them before: it is what the consumer has to carry from now on.

Where rates say nothing, widths decide. That is so at the beginning, until ``COLD_MESSAGES`` are known, and between
rates that differ by less than ``TIE``: of those the widest range is halved or cut, and the narrower neighbour inherits.
A range that cannot be cut to any purpose, because nearly all of its load is one key's, is passed over.

Ranges are kept by their last slot, ascending, and cover 0 to 65535 without a gap at all times.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from magnetar.core.selector.load import LOAD_SLOTS, Profile, SlotLoad
from magnetar.errors import ConsumerAssignFailed
from magnetar.wire.hashing import slot

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer

__all__ = ["COLD_MESSAGES", "DECISIONS_MAX", "TIE", "Decision", "RateAware"]

COLD_MESSAGES: Final = 32
TIE: Final = 0.1
DECISIONS_MAX: Final = 20
_USELESS: Final = 0.1
"""A cut that moves a smaller part of a range's load than this helps nobody."""


@dataclass(slots=True, frozen=True)
class Decision:
    """One change of the ranges and what it was made for."""

    at_ms: int
    what: str
    consumer: str
    """Who joined or left; nobody when ranges were moved between those that stay."""
    other: str
    """Who gave or inherited the slots."""
    slots: int
    why: str


class RateAware:
    """See the module's text."""

    def __init__(self, load: SlotLoad) -> None:
        self.load: SlotLoad = load
        self.bounds: list[int] = []
        self.owners: list[Consumer] = []
        self.decisions: list[Decision] = []
        self.moved_slots: int = 0
        """Slots that have changed hands, ever."""

    def slot_of(self, key_hash: int) -> int:
        """The slot of a masked key hash."""
        return slot(key_hash, LOAD_SLOTS, 0)

    def add(self, consumer: Consumer) -> None:
        if not self.bounds:
            self.bounds.append(LOAD_SLOTS - 1)
            self.owners.append(consumer)
            self.decide("joined", consumer.name, "", LOAD_SLOTS, "nobody else is there")
            return
        profile = self.load.profile()
        at, cut, why = self._donor(profile)
        donor, last = self.owners[at], self.bounds[at]
        self.bounds.insert(at, cut - 1)
        self.owners.insert(at + 1, consumer)
        self.decide("joined", consumer.name, donor.name, last - cut + 1, f"{donor.name} had {why}")

    def _donor(self, profile: Profile) -> tuple[int, int, str]:
        """Whose range is cut, its first slot that goes to the newcomer, and why."""
        rows = [row for row in range(len(self.bounds)) if self.bounds[row] > self.first(row)]
        if not rows:
            raise ConsumerAssignFailed("no range is left that could be split for another consumer")
        if profile.total < COLD_MESSAGES:
            at = self._widest(rows)
            return at, self._middle(at), "the widest range, and too little was sent yet to know rates; it is halved"
        loads = {row: profile.between(self.first(row), self.bounds[row]) for row in rows}
        useful = [row for row in rows if self._useful(profile, row, loads[row])] or rows
        most = max(loads[row] for row in useful)
        near = [row for row in useful if loads[row] >= most * (1 - TIE)]
        at = self._widest(near)
        rate = f"{loads[at] * profile.per_second:.1f} messages a second"
        if len(near) > 1:
            why = f"the widest range of {len(near)} with about the highest rate, {rate}"
        else:
            why = f"the highest rate, {rate}"
        if max(loads[row] for row in rows) > most:
            why += ", leaving out ranges that are busy with a single key"
        return at, profile.median(self.first(at), self.bounds[at]), f"{why}; it is cut at the median of its load"

    def _useful(self, profile: Profile, row: int, load: float) -> bool:
        """Whether a cut relieves the range's owner."""
        first, last = self.first(row), self.bounds[row]
        upper = profile.between(profile.median(first, last), last)
        return min(upper, load - upper) >= load * _USELESS

    def _widest(self, rows: list[int]) -> int:
        """Of equals the lowest."""
        found = rows[0]
        for row in rows:
            if self.bounds[row] - self.first(row) > self.bounds[found] - self.first(found):
                found = row
        return found

    def _middle(self, row: int) -> int:
        first, last = self.first(row), self.bounds[row]
        return first + (last - first + 1) // 2

    def remove(self, consumer: Consumer) -> None:
        at = self.owners.index(consumer)
        slots = self.bounds[at] - self.first(at) + 1
        if len(self.bounds) == 1:
            self.decide("left", consumer.name, "", slots, "nobody is left")
        else:
            heir, why = self._heir(at)
            self.decide("left", consumer.name, self.owners[heir].name, slots, f"{self.owners[heir].name} {why}")
            if heir < at:
                self.bounds[heir] = self.bounds[at]
        del self.bounds[at]
        del self.owners[at]

    def _heir(self, at: int) -> tuple[int, str]:
        """The neighbour that takes over the range, and why."""
        low, high = at - 1, at + 1
        if low < 0:
            return high, "is the only neighbour"
        if high == len(self.bounds):
            return low, "is the only neighbour"
        profile = self.load.profile()
        below = profile.between(self.first(low), self.bounds[low])
        above = profile.between(self.first(high), self.bounds[high])
        if profile.total < COLD_MESSAGES or abs(below - above) <= TIE * max(below, above):
            narrower = self.bounds[low] - self.first(low) < self.bounds[high] - self.first(high)
            heir = low if narrower else high
            return heir, "is the neighbour with the narrower range, and rates make no difference"
        heir = low if below < above else high
        rates = f"{min(below, above) * profile.per_second:.1f} of {max(below, above) * profile.per_second:.1f}"
        return heir, f"is the neighbour with the lower rate, {rates} messages a second"

    def move(self, bounds: list[int], why: str) -> None:
        """Other bounds for the same consumers, as rebalancing wants them."""
        slots = sum(abs(new - old) for new, old in zip(bounds, self.bounds, strict=True))
        self.bounds = bounds
        self.decide("rebalanced", "", "", slots, why)

    def decide(self, what: str, consumer: str, other: str, slots: int, why: str) -> None:
        """Remember what was done, and why."""
        self.moved_slots += slots
        self.decisions.append(Decision(self.load.now_ms, what, consumer, other, slots, why))
        if len(self.decisions) > DECISIONS_MAX:
            del self.decisions[0]

    def first(self, row: int) -> int:
        """The first slot of a range."""
        return self.bounds[row - 1] + 1 if row else 0

    def select(self, at: int) -> Consumer | None:
        """The owner of a slot, None when there is no consumer."""
        if not self.bounds:
            return None
        return self.owners[bisect_left(self.bounds, at)]

    def share(self, consumer: Consumer) -> int:
        """How many slots the consumer owns."""
        at = self.owners.index(consumer)
        return self.bounds[at] - self.first(at) + 1

    def rates(self) -> dict[Consumer, float]:
        """Messages a second in the range of each consumer, as they were lately."""
        profile = self.load.profile()
        return {
            owner: profile.between(self.first(row), self.bounds[row]) * profile.per_second
            for row, owner in enumerate(self.owners)
        }

    def ranges(self) -> list[tuple[int, int, Consumer]]:
        """Who owns what, as (first slot, last slot, consumer)."""
        return [(self.first(row), self.bounds[row], owner) for row, owner in enumerate(self.owners)]
