"""Fetching entries by their offsets, from the tail or from the log, and what their metadata say of them."""

from __future__ import annotations

from collections.abc import Callable

from magnetar.core.topic import Topic
from magnetar.ports.log import ReadDone
from magnetar.wire.errors import WireError
from magnetar.wire.metadata import peek, sticky_key

__all__ = ["describe", "entry_in_memory", "load_entries"]

Entries = dict[int, bytes]


def describe(entry: bytes) -> tuple[bytes | None, int]:
    """The key that Key_Shared goes by, None for a message without one, and the messages in the entry."""
    try:
        metadata = peek(entry)
    except WireError:
        return None, 1
    keyed = metadata.ordering_key is not None or metadata.partition_key is not None
    return sticky_key(entry) if keyed else None, metadata.num_messages


def entry_in_memory(topic: Topic, offset: int) -> bytes | None:
    """The entry, if that takes no read."""
    tail = topic.tail
    return tail.entries[offset - tail.base + tail.gone] if tail.base <= offset < tail.end else None


def load_entries(topic: Topic, offsets: list[int], call: Callable[[Entries], None]) -> None:
    """Call with the entries; those that the log does not have or cannot read are left out."""
    _Load(topic, offsets, call).step()


class _Load:
    def __init__(self, topic: Topic, offsets: list[int], call: Callable[[Entries], None]) -> None:
        self.topic: Topic = topic
        self.found: Entries = {}
        self.missing: list[int] = sorted(offsets, reverse=True)
        self.call: Callable[[Entries], None] = call

    def step(self) -> None:
        """Take what is in memory; read the next run of neighbours that is not."""
        while self.missing:
            offset = self.missing[-1]
            entry = entry_in_memory(self.topic, offset)
            if entry is None:
                self._read(offset)
                return
            self.found[offset] = entry
            self.missing.pop()
        self.call(self.found)

    def _read(self, offset: int) -> None:
        count = 1
        while count < len(self.missing) and self.missing[-1 - count] == offset + count:
            count += 1
        broker = self.topic.broker
        broker.read(self.topic.stream, offset, count, broker.options.read_batch_bytes, self._arrived)

    def _arrived(self, ticket: int, wanted: int, answer: ReadDone) -> None:
        end = answer.offset + len(answer.entries)
        for offset, entry in enumerate(answer.entries, answer.offset):
            if entry is not None:
                self.found[offset] = entry
        # What lies before the answer is gone from the log; after an error or an empty answer at least one is given up.
        while self.missing and self.missing[-1] < max(end, wanted + 1):
            self.missing.pop()
        self.step()
