"""Entries that wait to be delivered again, lowest offset first."""

from __future__ import annotations

import heapq

__all__ = ["Replay"]


class Replay:
    """A heap with a membership test; an entry that was settled meanwhile is passed over when it comes up."""

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._live: dict[int, bool] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, offset: int) -> bool:
        return offset in self._live

    def add(self, offset: int) -> None:
        if offset not in self._live:
            self._live[offset] = True
            heapq.heappush(self._heap, offset)

    def first(self) -> int:
        """The lowest offset, or -1."""
        heap, live = self._heap, self._live
        while heap:
            if heap[0] in live:
                return heap[0]
            heapq.heappop(heap)
        return -1

    def discard(self, offset: int) -> bool:
        """Take ``offset`` out; whether it was in."""
        return self._live.pop(offset, False)

    def discard_below(self, floor: int) -> None:
        """Take out everything below ``floor``."""
        while 0 <= self.first() < floor:
            del self._live[heapq.heappop(self._heap)]

    def clear(self) -> None:
        self._heap.clear()
        self._live.clear()
