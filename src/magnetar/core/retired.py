"""Ids of producers that were closed a moment ago: SENDs for them may be on their way still, and are no mistake."""

from __future__ import annotations

__all__ = ["Retired"]


class Retired:
    """Ids with the time until which they are remembered. Every one is as long, so the oldest ends first."""

    def __init__(self) -> None:
        self._until: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._until)

    def add(self, ident: int, now_ms: int, for_ms: int) -> None:
        """Remember the id for a while, and forget those whose time is over."""
        until = self._until
        while until and until[oldest := next(iter(until))] < now_ms:
            del until[oldest]
        until.pop(ident, None)
        until[ident] = now_ms + for_ms

    def holds(self, ident: int, now_ms: int) -> bool:
        """Whether a SEND for this id may be late."""
        return self._until.get(ident, -1) >= now_ms
