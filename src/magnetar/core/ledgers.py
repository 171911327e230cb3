"""Message ids and offsets: which ledger holds which part of a topic.

Inside the broker a message is named by its *offset*, a dense count per topic that never repeats. To clients it is named
by a ledger id and an entry id, as in Pulsar. The table below translates: each row is a ledger id with the offset of its
entry 0, the time it was opened and the bytes it holds. A new row begins with every start of the broker, so that an id
once seen by a client, durable or not, is never given to another message; and now and then in between, because whole
ledgers are what retention drops.
"""

from __future__ import annotations

import struct
from bisect import bisect_right

from magnetar.core.options import Options

__all__ = ["EARLIEST", "LATEST", "Ledgers"]

EARLIEST = (1 << 64) - 1
"""A ledger id of -1 as it looks in an unsigned field."""

LATEST = (1 << 63) - 1
"""The ledger id that means "after everything". Clients differ in the entry id beside it, so only this one counts."""

_ROW = struct.Struct("<QQQQ")


class Ledgers:
    """The table of one topic; rows in ascending order of id and of base offset."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.bases: list[int] = []
        self.opened: list[int] = []
        self.sizes: list[int] = []
        self.id: int = 0
        self.base: int = 0

    def open(self, ledger: int, base: int, now_ms: int) -> None:
        """Entries from offset ``base`` on belong to ``ledger``. A last row that never got an entry is replaced."""
        if self.bases and self.bases[-1] == base:
            self.ids.pop()
            self.bases.pop()
            self.opened.pop()
            self.sizes.pop()
        self.ids.append(ledger)
        self.bases.append(base)
        self.opened.append(now_ms)
        self.sizes.append(0)
        self.id = ledger
        self.base = base

    def row(self, offset: int) -> int:
        """The index of the row that holds ``offset`` (the first one for offsets below all)."""
        found = bisect_right(self.bases, offset) - 1
        return found if found >= 0 else 0

    def position(self, offset: int) -> tuple[int, int]:
        """Ledger id and entry id of ``offset``."""
        if offset >= self.base:
            return self.id, offset - self.base
        at = self.row(offset)
        return self.ids[at], offset - self.bases[at]

    def position_before(self, offset: int) -> tuple[int, int]:
        """The mark-delete position of a cursor whose first unacknowledged offset is ``offset``."""
        if offset <= self.bases[0]:
            return self.ids[0], -1
        return self.position(offset - 1)

    def offset(self, ledger: int, entry: int) -> int:
        """The offset that exactly this id names, or -1 when no message of this topic can have it."""
        if ledger == self.id:
            return self.base + entry
        at = bisect_right(self.ids, ledger) - 1
        if at < 0 or self.ids[at] != ledger:
            return -1
        found = self.bases[at] + entry
        return found if found < self.bases[at + 1] else -1

    def offset_from(self, ledger: int, entry: int, end: int) -> int:
        """The offset of the first message at or after this id; earliest and latest are understood."""
        if ledger == EARLIEST:
            return 0
        if ledger >= LATEST:
            return end
        at = bisect_right(self.ids, ledger) - 1
        if at < 0:
            return 0
        # Ledgers may begin behind the end, for entries that are not durable yet.
        upper = min(self.bases[at + 1], end) if at + 1 < len(self.bases) else end
        if self.ids[at] != ledger:
            return upper
        if entry >= LATEST:
            entry = -1
        return min(max(self.bases[at] + entry, self.bases[at]), upper)

    def drop_below(self, offset: int) -> bool:
        """Forget rows that lie wholly below ``offset``; the last row always stays."""
        keep = self.row(offset)
        if keep == 0:
            return False
        del self.ids[:keep], self.bases[:keep], self.opened[:keep], self.sizes[:keep]
        return True

    def cut(self, end: int) -> None:
        """Entries from ``end`` on never were: forget the ledgers that would have begun behind it."""
        while self.bases and self.bases[-1] > end:
            self.ids.pop()
            self.bases.pop()
            self.opened.pop()
            self.sizes.pop()
        self.id = self.ids[-1] if self.ids else 0
        self.base = self.bases[-1] if self.bases else 0

    def due(self, options: Options, end: int, now_ms: int) -> bool:
        """Whether the open ledger, which ends at offset ``end``, is full and old enough to be closed, or too old."""
        age, entries = now_ms - self.opened[-1], end - self.base
        full = entries >= options.ledger_entries_max or self.sizes[-1] >= options.ledger_bytes_max
        if full and age >= options.ledger_min_ms:
            return True
        return entries > 0 and age >= options.ledger_max_ms

    def encode(self) -> bytes:
        """The table as bytes, for the log."""
        return b"".join(_ROW.pack(*row) for row in zip(self.ids, self.bases, self.opened, self.sizes, strict=True))

    @staticmethod
    def decode(data: bytes) -> Ledgers:
        """The inverse of ``encode``."""
        table = Ledgers()
        for ledger, base, opened, size in _ROW.iter_unpack(data):
            table.ids.append(ledger)
            table.bases.append(base)
            table.opened.append(opened)
            table.sizes.append(size)
        if table.ids:
            table.id = table.ids[-1]
            table.base = table.bases[-1]
        return table
