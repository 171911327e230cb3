"""Timers of the core: a heap of callbacks by due time. The core never looks at a clock; it is told what time it is."""

from __future__ import annotations

import heapq
from collections.abc import Callable

__all__ = ["Timer", "Timers"]


class Timer:
    """A callback that is to run once; ``cancel()`` makes it not run."""

    def __init__(self, due_ms: int, order: int, call: Callable[[], None]) -> None:
        self.due_ms: int = due_ms
        self.order: int = order
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Timers:
    """Due times in milliseconds; equal ones run in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._order: int = 0

    def at(self, due_ms: int, call: Callable[[], None]) -> Timer:
        """Run ``call`` when the time is ``due_ms`` or later."""
        self._order += 1
        timer = Timer(due_ms, self._order, call)
        heapq.heappush(self._heap, (due_ms, self._order, timer))
        return timer

    def next_due(self) -> int:
        """When the next timer is due, or -1 when none is set."""
        while self._heap and self._heap[0][2].call is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else -1

    def run_due(self, now_ms: int) -> int:
        """Run what is due at ``now_ms``; how many ran."""
        ran = 0
        while self._heap and self._heap[0][0] <= now_ms:
            timer = heapq.heappop(self._heap)[2]
            call = timer.call
            if call is not None:
                timer.call = None
                ran += 1
                call()
        return ran
