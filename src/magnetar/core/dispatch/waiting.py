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
        self.count: int = 0

    def add(self, offset: int, key_hash: int) -> None:
        waiting = self.keys.get(key_hash)
        if waiting is None:
            self.keys[key_hash] = [offset]
        elif offset > waiting[-1]:
            waiting.append(offset)
        else:
            insort(waiting, offset)
        self.count += 1

    def remove(self, offset: int, key_hash: int) -> bool:
        """Whether it waited."""
        waiting = self.keys.get(key_hash)
        if waiting is None:
            return False
        at = bisect_left(waiting, offset)
        if at == len(waiting) or waiting[at] != offset:
            return False
        del waiting[at]
        self.count -= 1
        if not waiting:
            del self.keys[key_hash]
        return True

    def first(self, key_hash: int) -> int:
        """The lowest offset that waits under the key, -1 for none."""
        waiting = self.keys.get(key_hash)
        return waiting[0] if waiting is not None else -1

    def find(self, offset: int) -> int:
        """The key under which the offset waits, -1 when it does not."""
        for key_hash, waiting in self.keys.items():
            at = bisect_left(waiting, offset)
            if at < len(waiting) and waiting[at] == offset:
                return key_hash
        return -1

    def drop_below(self, floor: int) -> None:
        """Forget everything below ``floor``."""
        for key_hash in list(self.keys):
            waiting = self.keys[key_hash]
            gone = bisect_left(waiting, floor)
            if gone:
                del waiting[:gone]
                self.count -= gone
                if not waiting:
                    del self.keys[key_hash]

    def clear(self) -> None:
        self.keys.clear()
        self.count = 0
