"""Entries that wait for their time: a timing wheel over plain arrays, about 20 bytes for each entry.

Theory of operation
-------------------
Time is a number of milliseconds, cut into digits of six bits. An entry stands on the level of the highest digit in
which its time differs from the wheel's own time, in the slot that its time has there. So the slots of level 0 are
single milliseconds, those of level 1 last 64 of them, those of level 2 about four seconds, and so on; there are never
more than 64 slots on a level. The earliest slot of the lowest level that has any is the earliest of all.

When the wheel's time comes to a slot of a higher level, its entries are *spread* over the levels below. Each entry is
moved a few times in its life, however far away its time is, and never sorted. A slot whose time is over as a whole is
due as it is. Spreading is done in portions, so that a million entries of one slot do not hold up a turn.

The wheel has no place for removing single entries. One that was acknowledged meanwhile is *dead*: it is counted, passed
over when its time comes, and swept out with the others when there are more dead ones than living.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from magnetar.core.ackset import AckSet

__all__ = ["ENTRY_BYTES", "PART_ENTRIES", "Delayed"]

ENTRY_BYTES: Final = 20
"""What is kept of an entry."""

PART_ENTRIES: Final = 1_024
"""Entries of a slot that stand together in one set of arrays; what is moved is freed part by part."""

_BITS: Final = 6
_LEVELS: Final = 11
"""Enough for every time that 64 bits can hold."""


class Part:
    """Some entries: when, which, and the hash of the key."""

    def __init__(self) -> None:
        self.times: array[int] = array("q")
        self.offsets: array[int] = array("Q")
        self.hashes: array[int] = array("I")

    def add(self, time_ms: int, offset: int, key_hash: int) -> None:
        self.times.append(time_ms)
        self.offsets.append(offset)
        self.hashes.append(key_hash)


class Delayed:
    """The delayed entries of one subscription; see the module's text."""

    def __init__(self, now_ms: int) -> None:
        self.at_ms: int = now_ms
        """The wheel's own time: everything in a slot is later."""
        self.levels: list[dict[int, list[Part]]] = [{} for _ in range(_LEVELS)]
        self.spreading: deque[Part] = deque()
        """Parts of a slot that has begun, not spread yet."""
        self.due: deque[Part] = deque()
        self.taken: int = 0
        """How much of the first due part was taken already."""
        self.entries: int = 0
        self.dead: int = 0

    def __len__(self) -> int:
        return self.entries - self.dead

    def add(self, offset: int, time_ms: int, key_hash: int) -> None:
        """Keep the entry until ``time_ms``."""
        self.entries += 1
        self._place(time_ms, offset, key_hash)

    def _place(self, time_ms: int, offset: int, key_hash: int) -> None:
        # A clock that was set back must not put an entry before the wheel's own time, where nobody would look.
        place_ms = max(time_ms, self.at_ms)
        differs = place_ms ^ self.at_ms
        level = (differs.bit_length() - 1) // _BITS if differs else 0
        slots = self.levels[level]
        slot = place_ms >> (level * _BITS)
        parts = slots.get(slot)
        if parts is None:
            parts = slots[slot] = [Part()]
        elif len(parts[-1].times) >= PART_ENTRIES:
            parts.append(Part())
        parts[-1].add(time_ms, offset, key_hash)

    def _earliest(self) -> tuple[int, int]:
        """Level and slot of what comes first, (-1, 0) when there is nothing."""
        for level, slots in enumerate(self.levels):
            if slots:
                return level, min(slots)
        return -1, 0

    def next_ms(self) -> int:
        """When there is something to do next: not later than the first entry's time. -1 for never."""
        if self.spreading or self.due:
            return self.at_ms
        level, slot = self._earliest()
        return slot << (level * _BITS) if level >= 0 else -1

    def first_ms(self) -> int:
        """The first time that an entry waits for, -1 when none does. A walk over one slot."""
        parts = list(self.due) or list(self.spreading)
        if not parts:
            level, slot = self._earliest()
            if level < 0:
                return -1
            parts = self.levels[level][slot]
        return min(min(part.times) for part in parts)

    def advance(self, now_ms: int, most: int) -> bool:
        """Let what has come to its time be due; False when that is not finished after moving ``most`` entries."""
        while True:
            while self.spreading:
                if most <= 0:
                    return False
                most -= self._spread(self.spreading.popleft(), now_ms)
            level, slot = self._earliest()
            shift = level * _BITS
            if level < 0 or slot << shift > now_ms:
                self.at_ms = max(self.at_ms, now_ms)
                return True
            parts = self.levels[level].pop(slot)
            last_ms = (slot + 1 << shift) - 1
            if last_ms <= now_ms:
                self.due.extend(parts)
                self.at_ms = max(self.at_ms, last_ms)
            else:
                self.spreading.extend(parts)
                self.at_ms = max(self.at_ms, now_ms)

    def _spread(self, part: Part, now_ms: int) -> int:
        early = Part()
        times, offsets, hashes = part.times, part.offsets, part.hashes
        count = len(times)
        for k in range(count):
            if times[k] <= now_ms:
                early.add(times[k], offsets[k], hashes[k])
            else:
                self._place(times[k], offsets[k], hashes[k])
        if early.times:
            self.due.append(early)
        return count

    def release(self) -> None:
        """Everything is due now, whatever its time."""
        self.due.extend(self.spreading)
        self.spreading.clear()
        for slots in self.levels:
            for slot in sorted(slots):
                self.due.extend(slots[slot])
            slots.clear()

    def take(self, most: int, acks: AckSet) -> list[tuple[int, int]]:
        """Take out up to ``most`` due entries: their offsets and the hashes of their keys."""
        found: list[tuple[int, int]] = []
        while self.due and len(found) < most:
            part, at = self.due[0], self.taken
            end = len(part.offsets)
            while at < end and len(found) < most:
                offset = part.offsets[at]
                if acks.contains(offset):
                    self.dead -= 1
                else:
                    found.append((offset, part.hashes[at]))
                at += 1
                self.entries -= 1
            self.taken = at
            if at == end:
                self.due.popleft()
                self.taken = 0
        return found

    def give_back(self, entries: list[tuple[int, int]]) -> None:
        """Some that were taken cannot go yet: they are the first to be due again."""
        if self.taken:
            rest, part = Part(), self.due.popleft()
            rest.times, rest.offsets = part.times[self.taken :], part.offsets[self.taken :]
            rest.hashes = part.hashes[self.taken :]
            self.due.appendleft(rest)
            self.taken = 0
        if entries:
            back = Part()
            for offset, key_hash in entries:
                back.add(self.at_ms, offset, key_hash)
            self.due.appendleft(back)
            self.entries += len(entries)

    def acked(self, acks: AckSet) -> None:
        """One of the entries was acknowledged before its time."""
        self.dead += 1
        if self.dead > max(PART_ENTRIES, len(self)):
            self.sweep(acks)

    def sweep(self, acks: AckSet) -> None:
        """Forget what is acknowledged: a walk over everything."""
        self.give_back([])
        self.entries = self.dead = 0
        self.due = deque(self._living(list(self.due), acks))
        self.spreading = deque(self._living(list(self.spreading), acks))
        for slots in self.levels:
            for slot in list(slots):
                parts = self._living(slots[slot], acks)
                if parts:
                    slots[slot] = parts
                else:
                    del slots[slot]

    def _living(self, parts: list[Part], acks: AckSet) -> list[Part]:
        found: list[Part] = []
        for part in parts:
            times, offsets, hashes = part.times, part.offsets, part.hashes
            if max(offsets) < acks.floor:
                continue
            kept = [k for k in range(len(offsets)) if not acks.contains(offsets[k])]
            if len(kept) < len(offsets):
                part = Part()
                for k in kept:
                    part.add(times[k], offsets[k], hashes[k])
            if kept:
                found.append(part)
                self.entries += len(kept)
        return found
