"""Broker entry metadata: when the broker took an entry, and the index of its last message in the topic.

It is written before the entry, as in Pulsar, and only where ``brokerEntryMetadataInterceptors`` asks for it. An index
counts the messages of the topic from 0 on since it was turned on; an entry has that of its last message. How far the
count has come is durable with the entries themselves, in the same commit, so it is exact after a crash. What was
counted for a commit that has failed is counted again.

Consumers get it if they said that they know it and ``exposingBrokerEntryMetadataToClientEnabled`` is on. For all others
it is taken off when the entry is sent, which a topic that never had any does not even look for.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from magnetar.core.entryinfo import COUNT
from magnetar.ports.log import Merge
from magnetar.wire.entry import stamp, strip_broker_metadata

if TYPE_CHECKING:
    from magnetar.core.commit import Run
    from magnetar.core.topic import Topic
    from magnetar.ports.log import RecoveredState

__all__ = ["STAMPS_KEY", "Stamps"]

STAMPS_KEY: Final = b"X"
_COUNT = struct.Struct("<Q")


class Stamps:
    """What a topic knows of its stamped entries; ``any`` says whether there are some."""

    def __init__(self, with_time: bool, with_index: bool) -> None:
        self.with_time: bool = with_time
        self.with_index: bool = with_index
        self.on: bool = with_time or with_index
        self.any: bool = self.on
        self.next: int = 0
        """The index of the next message."""
        self.durable: int = 0

    def restore(self, state: RecoveredState) -> None:
        """Take over how far the count has come."""
        self.any = True
        for data in ([state.value] if state.value is not None else []) + state.merges:
            self.durable = max(self.durable, _COUNT.unpack(data)[0])
        self.next = self.durable

    def encode(self) -> bytes:
        return _COUNT.pack(self.durable)

    def put_on(self, topic: Topic, run: Run) -> None:
        """Write it before each entry of the run."""
        now_ms = topic.broker.now_ms if self.with_time else -1
        stamped: list[bytes] = []
        for entry, count in zip(run.entries, run.counts, strict=True):
            self.next += count & COUNT
            stamped.append(stamp(strip_broker_metadata(entry), now_ms, self.next - 1 if self.with_index else -1))
        run.size_bytes = sum(map(len, stamped))
        run.entries = stamped
        topic.broker.commit.records.append(Merge(topic.stream, STAMPS_KEY, _COUNT.pack(self.next)))
