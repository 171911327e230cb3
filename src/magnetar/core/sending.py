"""SENDs of one read, collected by producer, so that a topic gets them in few batches.

Producers that take turns on a connection still give their topics whole batches. Only where two of them publish to the
same topic does the one's batch end when the other's begins: a topic's entries keep the order in which they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.core.producer import Producer

__all__ = ["SendBatch", "Sending"]


class SendBatch:
    """Consecutive SENDs of one producer."""

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.counts: list[int] = []
        self.sequences: list[int] = []
        self.highest: list[int] = []
        self.size_bytes: int = 0


class Sending:
    """The open batches of one pass over what a connection has received."""

    def __init__(self) -> None:
        self.open: list[Producer] = []

    def batch(self, producer: Producer) -> SendBatch:
        """The producer's open batch."""
        batch = producer.batch
        if batch is None:
            other = producer.topic.sending
            if other is not None:
                self.open.remove(other)
                self._publish(other)
            batch = producer.batch = SendBatch()
            producer.topic.sending = producer
            self.open.append(producer)
        return batch

    def flush(self) -> None:
        """Hand all batches to their topics."""
        if self.open:
            producers = self.open
            self.open = []
            for producer in producers:
                self._publish(producer)

    def _publish(self, producer: Producer) -> None:
        batch = producer.batch
        producer.batch = None
        producer.topic.sending = None
        if batch is not None:
            producer.topic.publish(producer, batch)
