"""One commit of the log as the core sees it: records, the publishes in it, and who waits for it to be durable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.ports.log import Record

if TYPE_CHECKING:
    from magnetar.core.producer import Producer
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic

__all__ = ["Commit", "Run"]


class Run:
    """Consecutive entries that one producer sent in one go."""

    def __init__(self, topic: Topic, producer: Producer, ledger: int, number: int, offset: int) -> None:
        self.topic: Topic = topic
        self.producer: Producer = producer
        self.ledger: int = ledger
        self.number: int = number
        self.offset: int = offset
        self.entries: list[bytes] = []
        self.counts: list[int] = []
        self.sequences: list[int] = []
        self.highest: list[int] = []
        self.size_bytes: int = 0
        self.top: int = -1
        """With deduplication, the highest sequence id of a whole message in the run."""
        self.began_us: int = topic.broker.meter.now_us
        self.refusal: bytes = b""
        """A run of nothing but the refusal of one SEND, which must not overtake the receipts before it."""


class Commit:
    """What is handed to the log at once. ``after`` is called with None when durable, with the error when void."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.runs: list[Run] = []
        self.cursors: list[Subscription] = []
        self.topics: list[Topic] = []
        """Topics whose state stands in ``records``; if the commit is void it is written again."""
        self.after: list[Callable[[Exception | None], None]] = []
        self.began_us: int = 0
        """When it was handed to the log."""

    def empty(self) -> bool:
        return not self.records and not self.runs and not self.after

    def tell(self, error: Exception | None) -> None:
        """Everybody who waits for the commit hears of it; a bug in one of them is raised when all have heard."""
        calls = self.after
        done = 0
        try:
            for call in calls:
                done += 1
                call(error)
        finally:
            if done < len(calls):
                self.after = calls[done:]
                self.tell(error)
