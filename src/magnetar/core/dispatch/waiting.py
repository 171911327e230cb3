"""Entries of a Key_Shared subscription that wait: under their key, in order of offset, and in their consumer's line.

An entry waits because its key drains or is held back, because its consumer has no permits, or because an earlier
entry of the same key waits. Those that only wait for permits stand in their consumer's line as well, so that the lowest
offset is found at once. The line may hold what is no longer true; whoever takes from it compares with the table here,
which is always true.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from typing import Final

__all__ = ["Line", "Waiting"]

_HASH_BITS: Final = 31
_HASH: Final = (1 << _HASH_BITS) - 1
_COMPACT_AT: Final = 1_024


class Line:
    """What waits for one consumer's permits: pairs of offset and key hash, lowest offset first.

    A pair is one number. What is newly read comes in ascending order and is appended; only what comes back from a
    consumer, or moves from another's line, needs the heap.
    """

    def __init__(self) -> None:
        self._new: list[int] = []
        self._at: int = 0
        self._last: int = -1
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._new) - self._at + len(self._heap)

    def add(self, offset: int, key_hash: int) -> None:
        pair = offset << _HASH_BITS | key_hash
        if pair > self._last:
            self._last = pair
            self._new.append(pair)
        else:
            heapq.heappush(self._heap, pair)

    def first(self) -> tuple[int, int]:
        """The lowest offset and the hash of its key, (-1, 0) when nothing waits."""
        pair = -1
        if self._at < len(self._new):
            pair = self._new[self._at]
        if self._heap and (pair < 0 or self._heap[0] < pair):
            pair = self._heap[0]
        return (pair >> _HASH_BITS, pair & _HASH) if pair >= 0 else (-1, 0)

    def drop_first(self) -> None:
        """Take out what ``first`` has shown."""
        at = self._at
        if self._heap and (at >= len(self._new) or self._heap[0] < self._new[at]):
            heapq.heappop(self._heap)
            return
        self._at = at = at + 1
        if at >= _COMPACT_AT and at * 2 >= len(self._new):
            del self._new[:at]
            self._at = 0


class Waiting:
    """Offsets by key hash."""

    def __init__(self) -> None:
        self.keys: dict[int, list[int]] = {}
        self.key_of: dict[int, int] = {}
        """The same the other way round: an acknowledgement names the offset only."""

    @property
    def count(self) -> int:
        return len(self.key_of)

    def add(self, offset: int, key_hash: int) -> None:
        if offset in self.key_of:
            return
        self.key_of[offset] = key_hash
        waiting = self.keys.get(key_hash)
        if waiting is None:
            self.keys[key_hash] = [offset]
        elif offset > waiting[-1]:
            waiting.append(offset)
        else:
            insort(waiting, offset)

    def remove(self, offset: int, key_hash: int) -> None:
        """The offset, which waits under the key, waits no more."""
        del self.key_of[offset]
        waiting = self.keys[key_hash]
        if len(waiting) == 1:
            del self.keys[key_hash]
        else:
            del waiting[bisect_left(waiting, offset)]

    def first(self, key_hash: int) -> int:
        """The lowest offset that waits under the key, -1 for none."""
        waiting = self.keys.get(key_hash)
        return waiting[0] if waiting is not None else -1

    def drop_first(self, key_hash: int) -> None:
        """Forget what ``first`` has shown."""
        waiting = self.keys[key_hash]
        del self.key_of[waiting[0]]
        if len(waiting) > 1:
            del waiting[0]
        else:
            del self.keys[key_hash]

    def find(self, offset: int) -> int:
        """The key under which the offset waits, -1 when it does not."""
        return self.key_of.get(offset, -1)

    def drop_below(self, floor: int) -> None:
        """Forget everything below ``floor``."""
        for offset in [offset for offset in self.key_of if offset < floor]:
            self.remove(offset, self.key_of[offset])

    def clear(self) -> None:
        self.keys.clear()
        self.key_of.clear()
