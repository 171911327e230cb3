"""Entries of a Key_Shared subscription that wait: under their key, in order of offset, and in their consumer's heap.

An entry waits because its key drains or is held back, because its consumer has no permits, or because an earlier
entry of the same key waits. Those that only wait for permits stand in their consumer's heap as well, so that the lowest
offset is found at once. The heap may hold what is no longer true; whoever takes from it compares with the table here,
which is always true.
"""

from __future__ import annotations

from bisect import bisect_left, insort

__all__ = ["Waiting"]


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
