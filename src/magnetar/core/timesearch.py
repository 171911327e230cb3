"""Finding the first entry that was published at or after a given time: a binary search that reads as it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.source import READ_RETRY_MS
from magnetar.ports.log import ReadDone
from magnetar.wire.errors import WireError
from magnetar.wire.metadata import peek_publish_time

if TYPE_CHECKING:
    from magnetar.core.topic import Topic

__all__ = ["search_time"]


def search_time(topic: Topic, low: int, time_ms: int, found: Callable[[int], None]) -> None:
    """Call ``found`` with the lowest offset from ``low`` on whose publish time is not before ``time_ms``.

    Publish times come from producers and need not rise strictly; the answer is right wherever they do.
    """
    _Search(topic, low, topic.tail.end, time_ms, found).step()


class _Search:
    def __init__(self, topic: Topic, low: int, high: int, time_ms: int, found: Callable[[int], None]) -> None:
        self.topic: Topic = topic
        self.low: int = low
        self.high: int = high
        self.time_ms: int = time_ms
        self.found: Callable[[int], None] = found

    def step(self) -> None:
        """Halve what is left until it is empty or an entry has to be read from the log."""
        tail = self.topic.tail
        while self.low < self.high:
            middle = (self.low + self.high) // 2
            if middle < tail.base:
                self.topic.broker.read(self.topic.stream, middle, 1, 1, self._arrived)
                return
            self._judge(middle, tail.entries[middle - tail.base + tail.gone])
        self.found(self.low)

    def _judge(self, offset: int, entry: bytes | None) -> None:
        """An entry that cannot be read counts as old, so that the search goes on behind it."""
        try:
            old = not entry or peek_publish_time(entry) < self.time_ms
        except WireError:
            old = True
        if old:
            self.low = offset + 1
        else:
            self.high = offset

    def _arrived(self, ticket: int, wanted: int, answer: ReadDone) -> None:
        if answer.error is not None:
            broker = self.topic.broker
            broker.timers.at(broker.now_ms + READ_RETRY_MS, self.step)
            return
        if answer.offset > wanted:
            self.low = min(answer.offset, self.high)
        else:
            self._judge(wanted, answer.entries[0] if answer.entries else None)
        self.step()
