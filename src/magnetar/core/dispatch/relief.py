"""A hand-over that waits for what the old consumer holds.

The one that is active stays so, gets nothing more, and finishes; its successor is told when everything that was sent is
acknowledged, or when the time is over. A dispatcher of one consumer keeps no list of what is pending, and needs none
here: reading has stopped, so what is held is what lies below the place where it stopped and is not acknowledged. A
place that only ever moves up, over acknowledged entries and over those that were given back, says when nothing is held
any more; over all acknowledgements of a hand-over it takes as many steps as there are entries.

Entries that the old consumer gives back wait for the new one, and are nothing to wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.core.ackset import AckSet
    from magnetar.core.consumer import Consumer

__all__ = ["Relief", "held_below"]

RANGES_MAX = 10_000


class Relief:
    """One hand-over under way."""

    def __init__(self, successor: Consumer, why: str, now_ms: int, floor: int, unserved: bool) -> None:
        self.successor: Consumer = successor
        self.why: str = why
        self.began_ms: int = now_ms
        self.at: int = floor
        self.unserved: bool = unserved
        """Whether the active one was itself still waiting for its predecessor's time to be over."""
        self.emptied: bool = False
        """Whether the old consumer has given everything back."""
        self.returned: dict[int, bool] = {}

    def give_back(self, offsets: list[int]) -> None:
        """The old consumer does not hold these any more."""
        for offset in offsets:
            if offset >= self.at:
                self.returned[offset] = True

    def finished(self, acks: AckSet, end: int) -> bool:
        """Whether nothing below ``end`` is held any more."""
        at = max(self.at, acks.floor)
        while at < end and (acks.contains(at) or at in self.returned):
            at += 1
        self.at = at
        return at >= end


def held_below(acks: AckSet, start: int, end: int, returned: dict[int, bool]) -> int:
    """How many entries from ``start`` to below ``end`` are neither acknowledged nor given back. Where acknowledged and
    open ones alternate more than RANGES_MAX times, the rest counts as open."""
    start = max(start, acks.floor)
    if start >= end:
        return 0
    acked = sum(max(min(last + 1, end) - max(first, start), 0) for first, last in acks.ranges(RANGES_MAX))
    kept = [offset for offset in returned if start <= offset < end and not acks.contains(offset)]
    return end - start - acked - len(kept)
