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
        self.middle: int = -1
        self.at: int = -1
        """The entry that is asked for its time: the middle one, or the first behind it that can be read."""

    def step(self) -> None:
        """Halve what is left until it is empty or an entry has to be read from the log."""
        tail = self.topic.tail
        while self.low < self.high:
            if self.at < 0:
                self.middle = self.at = (self.low + self.high) // 2
            if self.at < tail.base:
                self.topic.broker.read(self.topic.stream, self.at, 1, 1, self._arrived)
                return
            self._judge(tail.entries[self.at - tail.base + tail.gone])
        self.found(self.low)

    def _judge(self, entry: bytes | None) -> None:
        """An entry that cannot be read says nothing about those before it: the next one that can be read speaks for it,
        and where there is none it counts as new. It must not make all of them count as old."""
        try:
            old = peek_publish_time(entry) < self.time_ms if entry else None
        except WireError:
            old = None
        if old is None and self.at + 1 < self.high:
            self.at += 1
            return
        if old:
            self.low = self.at + 1
        else:
            self.high = self.middle
        self.at = -1

    def _arrived(self, ticket: int, wanted: int, answer: ReadDone) -> None:
        if answer.error is not None:
            broker = self.topic.broker
            broker.timers.at(broker.now_ms + READ_RETRY_MS, self.step)
            return
        if answer.offset > wanted:
            self.low = min(answer.offset, self.high)
            self.at = -1
        else:
            self._judge(answer.entries[0] if answer.entries else None)
        self.step()
