"""Deduplication: which sequence ids of which producer are already in the topic.

Per producer name two numbers are kept: the highest sequence id *pushed* (handed to the log) and the highest *kept*
(durable). At or below kept is a duplicate: it is answered as a success without a place. Above kept but at or below
pushed nobody can say yet: the client is told to try again. The kept number travels as a small state record in the same
commit as the entries themselves, so a restart knows exactly what the log holds, without reading any entry.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from magnetar.core.entryinfo import CHUNK, chunk_of
from magnetar.core.ledgers import EARLIEST
from magnetar.wire.replies import send_error, send_receipt

if TYPE_CHECKING:
    from magnetar.core.commit import Run
    from magnetar.core.session import SendBatch

__all__ = ["DUPLICATE", "FRESH", "STATE_KEY", "UNKNOWN", "Dedup"]

FRESH, DUPLICATE, UNKNOWN = range(3)
STATE_KEY = b"D"

_PERSISTENCE_ERROR = 2
_HEAD = struct.Struct("<QH")
_ANSWER_MAX = (1 << 63) - 1
"""Sequence ids are unsigned when they are sent and signed when they are told."""


class Dedup:
    """The numbers of one topic. The least recently used names are forgotten beyond ``producers_max``."""

    def __init__(self, producers_max: int) -> None:
        self.producers_max: int = producers_max
        self.pushed: dict[str, int] = {}
        self.kept: dict[str, int] = {}

    def judge(self, name: str, sequence: int, highest: int, whole: bool) -> int:
        """FRESH, DUPLICATE or UNKNOWN. A batch spans ``sequence`` to ``highest``; a chunk that is not the last one
        of its message is judged but does not count as pushed."""
        if sequence > self.pushed.get(name, -1):
            if whole:
                self.pushed[name] = max(sequence, highest)
            return FRESH
        return DUPLICATE if sequence <= self.kept.get(name, -1) else UNKNOWN

    def store_fresh(self, batch: SendBatch, run: Run) -> None:
        """Append what the topic does not have already. The answer to the rest comes in its turn, so that a run ends
        where something is left out."""
        topic, producer = run.topic, run.producer
        for k in range(len(batch.entries)):
            sequence, highest, count = batch.sequences[k], batch.highest[k], batch.counts[k]
            whole = not count & CHUNK or chunk_of(batch.entries[k])[1]
            verdict = self.judge(producer.name, sequence, highest, whole)
            if verdict == FRESH:
                if whole:
                    run.top = max(sequence, highest)
                run.entries.append(batch.entries[k])
                run.counts.append(count)
                run.sequences.append(sequence)
                run.highest.append(highest)
                run.size_bytes += len(batch.entries[k])
                continue
            if run.entries:
                topic.append(run)
                run = topic.new_run(producer)
            if verdict == DUPLICATE:
                topic.deduplicated += 1
                topic.refuse(producer, send_receipt(producer.id, sequence, highest, EARLIEST, EARLIEST))
            else:
                message = "a message with this sequence id is being written; its outcome is not known yet, send again"
                topic.refuse(producer, send_error(producer.id, max(sequence, highest), _PERSISTENCE_ERROR, message))
        if run.entries:
            topic.append(run)

    def last(self, name: str) -> int:
        """The highest durable sequence id of a producer, -1 when none is known."""
        return min(self.kept.get(name, -1), _ANSWER_MAX)

    def keep(self, name: str, highest: int) -> None:
        """Entries up to ``highest`` are durable."""
        if highest > self.kept.get(name, -1):
            self.kept.pop(name, None)
            self.kept[name] = highest
            while len(self.kept) > self.producers_max:
                oldest = next(iter(self.kept))
                del self.kept[oldest]
                self.pushed.pop(oldest, None)

    def void(self) -> None:
        """A commit failed: what was pushed and is not kept never happened."""
        self.pushed = dict(self.kept)

    def encode(self) -> bytes:
        return b"".join(Dedup.delta(name, highest) for name, highest in self.kept.items())

    @staticmethod
    def delta(name: str, highest: int) -> bytes:
        """One producer's number as bytes; a value is a sequence of these."""
        raw = name.encode("utf-8", "surrogatepass")
        return _HEAD.pack(highest, len(raw)) + raw

    def merge(self, data: bytes) -> None:
        """Take over numbers from the log."""
        at = 0
        while at < len(data):
            highest, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            self.keep(data[at : at + size].decode("utf-8", "surrogatepass"), highest)
            at += size
        self.pushed = dict(self.kept)
