"""Draining: which keys are still held by a consumer that no longer owns them.

When slots change hands, the former owner may hold unacknowledged entries of their keys. Until it has acknowledged or
given back the last entry of a key, the new owner must not get that key. Here stands, per slot, how many such entries
there are, and per key as well, so that other keys of the same slot can go on. Ownership does not change between two
rebuilds, so an entry counts exactly when its holder is not the owner of its slot, and no holder need be remembered.

Keys are known by their 31-bit hash. At most ``keys_max`` of them are followed one by one; slots beyond that are
*coarse* and block all their keys, as Pulsar does always. The tables per slot are arrays, made when something drains
and dropped when nothing does: 65,535 draining slots cost little more than a megabyte, none costs nothing.
"""

from __future__ import annotations

from array import array

__all__ = ["DRAIN_KEYS_MAX", "Drains"]

DRAIN_KEYS_MAX = 16_384
_SLOTS = 65_537


class Drains:
    """See the module's text."""

    def __init__(self, keys_max: int = DRAIN_KEYS_MAX) -> None:
        self.keys_max: int = keys_max
        self.keys: dict[int, int] = {}
        self.keys_left_out: bool = False
        self.active: int = 0
        """How many slots drain."""
        self.began_ms: int = 0
        """Since when something drains without a pause."""
        self.oldest_slot: int = 0
        self.cleared_total: int = 0
        self.blocked_total: int = 0
        self.counts: array[int] | None = None
        self.since: array[int] | None = None
        self.attempts: array[int] | None = None
        self.coarse: bytearray | None = None

    def begin(self) -> Drains:
        """An empty table to be filled by ``add``, which carries the totals on."""
        fresh = Drains(self.keys_max)
        fresh.cleared_total = self.cleared_total
        fresh.blocked_total = self.blocked_total
        fresh.began_ms = self.began_ms if self.active else 0
        return fresh

    def add(self, key_hash: int, slot: int, now_ms: int, before: Drains) -> None:
        """One more entry of the key is held by a consumer that does not own its slot."""
        counts, since, attempts, coarse = self.counts, self.since, self.attempts, self.coarse
        if counts is None or since is None or attempts is None or coarse is None:
            self.began_ms = self.began_ms or now_ms
            counts = self.counts = array("I", bytes(4 * _SLOTS))
            since = self.since = array("Q", bytes(8 * _SLOTS))
            attempts = self.attempts = array("I", bytes(4 * _SLOTS))
            coarse = self.coarse = bytearray(_SLOTS)
        counts[slot] += 1
        if counts[slot] == 1:
            self.active += 1
            since[slot] = now_ms
            if before.since is not None and before.attempts is not None and before.since[slot]:
                since[slot] = before.since[slot]
                attempts[slot] = before.attempts[slot]
        if coarse[slot]:
            return
        known = self.keys.get(key_hash, 0)
        if known or len(self.keys) < self.keys_max:
            self.keys[key_hash] = known + 1
        else:
            coarse[slot] = 1
            self.keys_left_out = True

    def coarsen(self, slot_of: dict[int, int]) -> None:
        """All is added, and some keys were too many: forget the single keys of their slots."""
        coarse = self.coarse
        if coarse is not None:
            self.keys = {key: count for key, count in self.keys.items() if not coarse[slot_of[key]]}

    def ended(self, now: Drains) -> int:
        """How many slots that drained here drain no more in the newer table."""
        if self.counts is None:
            return 0
        if now.counts is None:
            return self.active
        return sum(1 for before, after in zip(self.counts, now.counts, strict=True) if before and not after)

    def blocks(self, key_hash: int, slot: int) -> bool:
        """Whether the owner of the slot must not get this key now."""
        coarse = self.coarse
        if coarse is None:
            return False
        return key_hash in self.keys or coarse[slot] != 0

    def note_blocked(self, slot: int) -> None:
        """An entry had to wait for the slot's drain."""
        self.blocked_total += 1
        if self.attempts is not None:
            self.attempts[slot] += 1

    def release(self, key_hash: int, slot: int) -> int:
        """An entry that counted has left its holder: 0 nothing is free by that, 1 the key is, 2 the whole slot is."""
        counts = self.counts
        if counts is None or counts[slot] == 0:
            return 0
        counts[slot] -= 1
        left = self.keys.get(key_hash, 0) - 1
        if left > 0:
            self.keys[key_hash] = left
        elif left == 0:
            del self.keys[key_hash]
        if counts[slot]:
            return 1 if left == 0 else 0
        self._clear(slot)
        return 2

    def _clear(self, slot: int) -> None:
        """The slot's drain is over."""
        self.active -= 1
        self.cleared_total += 1
        if not self.active:
            self.counts = None
            self.since = None
            self.attempts = None
            self.coarse = None
            self.keys.clear()
            return
        if self.since is not None and self.attempts is not None and self.coarse is not None:
            self.since[slot] = 0
            self.attempts[slot] = 0
            self.coarse[slot] = 0

    def count(self, slot: int) -> int:
        """How many entries of the slot are still held by others than its owner."""
        return self.counts[slot] if self.counts is not None else 0

    def since_ms(self, slot: int) -> int:
        """Since when the slot drains, 0 when it does not."""
        return self.since[slot] if self.since is not None else 0

    def blocked(self, slot: int) -> int:
        """How often an entry had to wait for the slot's drain."""
        return self.attempts[slot] if self.attempts is not None else 0

    def is_coarse(self, slot: int) -> bool:
        """Whether all keys of the slot wait, because too many keys drain to follow each."""
        return self.coarse is not None and self.coarse[slot] != 0

    def oldest_ms(self) -> int:
        """Since when the longest drain lasts, 0 when nothing drains."""
        since, counts = self.since, self.counts
        if since is None or counts is None:
            return 0
        # Slots begin to drain only when the table is made anew, so the oldest stays the oldest until it is clear.
        if counts[self.oldest_slot] == 0:
            self.oldest_slot = since.index(min(filter(None, since)))
        return since[self.oldest_slot]
