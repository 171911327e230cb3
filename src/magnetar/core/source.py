"""Where a dispatcher gets its entries: the topic's tail, or a window read from the log.

``load(offset)`` makes ``entry`` and ``count`` those of the offset and says True, or asks the log for a stretch that
begins there and says False; when the stretch arrives the subscription is woken and loads again. One read is under way
at a time. Entries below what the log still holds, and damaged ones, come back as empty bytes: nobody can have them any
more, and the dispatcher acknowledges them so that nothing waits for ever. A read that failed is tried again later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.entryinfo import entry_count

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.subscription import Subscription
    from magnetar.core.tail import Tail
    from magnetar.ports.log import ReadDone

__all__ = ["READ_RETRY_MS", "Source"]

READ_RETRY_MS = 1_000


class Source:
    """The entries of one subscription's topic."""

    def __init__(self, broker: Broker, subscription: Subscription, stream: int, tail: Tail) -> None:
        self.broker: Broker = broker
        self.subscription: Subscription = subscription
        self.stream: int = stream
        self.tail: Tail = tail
        self.entry: bytes = b""
        self.count: int = 1
        self.base: int = 0
        self.window: list[bytes] = []
        self.reading: bool = False
        """Whether the offsets are those of the topic, and not of another stream of it."""
        self.wanted: int = 0
        self.error: str = ""
        """Why the log could not answer the last read; it is tried again."""
        self.ticket: int = 0

    def load(self, offset: int, ahead: int) -> bool:
        """See the module's text; ``ahead`` is how many entries from ``offset`` on are likely to be wanted."""
        tail = self.tail
        if offset >= tail.base:
            at = offset - tail.base + tail.gone
            self.entry = tail.entries[at]
            self.count = tail.counts[at]
            return True
        at = offset - self.base
        if 0 <= at < len(self.window):
            self.entry = self.window[at]
            self.count = entry_count(self.entry) if self.entry else 1
            return True
        if not self.reading:
            self.reading = True
            self.wanted = offset
            options = self.broker.options
            limit = min(ahead, options.read_batch_entries, tail.base - offset)
            self.ticket = self.broker.read(self.stream, offset, limit, options.read_batch_bytes, self._arrived)
        return False

    def _arrived(self, ticket: int, wanted: int, answer: ReadDone) -> None:
        """The log answered a read that began at ``wanted``."""
        if ticket != self.ticket:
            return
        if answer.error is not None or (not answer.entries and answer.offset <= wanted):
            self.error = str(answer.error or "the log answered without entries")
            self.broker.timers.at(self.broker.now_ms + READ_RETRY_MS, self._again)
            return
        self.reading = False
        self.error = ""
        lost = min(max(answer.offset - wanted, 0), self.broker.options.read_batch_entries)
        self.base = wanted
        self.window = [b""] * lost
        self.subscription.topic.entries_read += len(answer.entries)
        if answer.offset == wanted + lost:
            self.window.extend(b"" if entry is None else entry for entry in answer.entries)
        self.broker.wake(self.subscription)

    def _again(self) -> None:
        self.reading = False
        self.broker.wake(self.subscription)

    def forget(self) -> None:
        """Drop the window and ignore what is under way."""
        self.window = []
        self.reading = False
        self.error = ""
        self.ticket = 0
