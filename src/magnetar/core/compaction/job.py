"""One compaction of one topic, step by step.

Everything from the former view and from the topic behind it is read twice, a portion at a time: once to find out what
is the latest of each key, and once to write what is left into a new stream. Reading is the log's, looking into entries
is work outside of the loop, and each portion waits until it is durable. So publishing goes on all the while.

The view is changed by one record at the end. Until that is durable the new stream belongs to nobody, and a broker that
starts finds it and drops it; after that the old stream does. So a crash leaves the old view or the new one. The cursor
that holds what is not compacted follows last, so retention never takes what no view has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from magnetar.core.compaction.scan import Latest, Work, look, sift
from magnetar.core.compaction.state import COMPACTED_KEY, COMPACTION_CURSOR, Compacted, Kept, pack, unpack
from magnetar.errors import LogFailed, TopicNotFound
from magnetar.ports.log import Append, DropStream, Put, ReadDone

if TYPE_CHECKING:
    from magnetar.core.topic import Topic

__all__ = ["Job"]

Done = Callable[[Exception | None], None]


class Job:
    """See the module's text. ``done`` hears how it ended; ``latest`` has the figures."""

    def __init__(self, topic: Topic, done: Done) -> None:
        self.topic: Topic = topic
        self.done: Done = done
        self.latest: Latest = Latest(topic.broker.options.compaction_retain_null_key)
        before = topic.compaction.view
        self.before: Compacted | None = before
        self.end: int = topic.tail.end
        self.stream: int = 0
        self.entries: int = 0
        self.size_bytes: int = 0
        self.writing: bool = False
        self.of_view: bool = before is not None
        """Whether the former view is being read, and not yet the topic."""
        self.next: int = 0
        self.over: bool = False

    def start(self) -> None:
        """Begin the first pass."""
        self._pass()

    def _pass(self) -> None:
        self.of_view = self.before is not None
        self.next = 0 if self.of_view else self.topic.first_offset
        self._read()

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Ask for the next portion, or go on to what comes after the last."""
        topic = self.topic
        if topic.deleted:
            self.fail(TopicNotFound(f"{topic.name} was deleted while it was compacted"))
            return
        if self.of_view and self.before is not None and self.next >= self.before.entries:
            self.of_view = False
            self.next = max(self.before.horizon, topic.first_offset)
        limit, stream = self.end, topic.stream
        if self.of_view and self.before is not None:
            limit, stream = self.before.entries, self.before.stream
        if self.next < limit:
            options = topic.broker.options
            count = min(options.read_batch_entries, limit - self.next)
            topic.broker.read(stream, self.next, count, options.read_batch_bytes, self._arrived)
        elif not self.writing:
            self.writing = True
            self.stream = topic.broker.next_stream
            topic.broker.next_stream += 1
            self._pass()
        else:
            self._install()

    def _arrived(self, ticket: int, wanted: int, answer: ReadDone) -> None:
        if self.over:
            return
        if answer.error is not None:
            self.fail(answer.error)
            return
        portion: list[Kept] = []
        for offset, entry in enumerate(answer.entries, answer.offset):
            if entry is not None and self.of_view:
                portion.append(unpack(entry))
            elif entry is not None and self.topic.first_offset <= offset < self.end:
                portion.append(Kept(offset, *self.topic.ledgers.position(offset), -1, entry))
        # What lies before the answer is gone from the log; an empty answer means that one entry cannot be had.
        self.next = max(answer.offset + len(answer.entries), wanted + 1)
        if not self.writing:
            self._work(partial(look, self.latest, portion), self._read)
            return
        found: list[bytes] = []

        def run() -> None:
            found.extend(map(pack, sift(self.latest, portion)))

        self._work(run, lambda: self._write(found))

    def _work(self, run: Callable[[], None], then: Callable[[], None]) -> None:
        def done(error: Exception | None) -> None:
            if self.over:
                return
            if error is not None:
                self.fail(error)
            else:
                then()

        self.topic.broker.works.append(Work(run, done))

    # -- writing -----------------------------------------------------------------------------------------------------

    def _write(self, entries: list[bytes]) -> None:
        if not entries:
            self._read()
            return
        broker = self.topic.broker
        broker.commit.records.append(Append(self.stream, self.entries, entries))
        self.entries += len(entries)
        self.size_bytes += sum(map(len, entries))
        broker.when_durable(self._written)

    def _written(self, error: Exception | None) -> None:
        if self.over:
            return
        if error is not None:
            self.fail(error)
        else:
            self._read()

    def _install(self) -> None:
        topic, broker = self.topic, self.topic.broker
        view = Compacted(self.stream, broker.next_ledger(), self.entries, self.size_bytes, self.end)
        broker.commit.records.append(Put(topic.stream, COMPACTED_KEY, view.encode()))
        broker.note_topic(topic)

        def durable(error: Exception | None) -> None:
            if self.over:
                return
            if error is not None:
                self.fail(error)
                return
            self.over = True
            topic.compaction.view = view
            cursor = topic.subscriptions.get(COMPACTION_CURSOR)
            if cursor is not None:
                cursor.move_floor(view.horizon)
            if self.before is not None:
                broker.commit.records.append(DropStream(self.before.stream))
            topic.wake()
            self.done(None)

        broker.when_durable(durable)

    def fail(self, error: Exception) -> None:
        """Leave everything as it was, and nothing of the new stream."""
        if self.over:
            return
        self.over = True
        if self.entries:
            self.topic.broker.commit.records.append(DropStream(self.stream))
        self.done(error if isinstance(error, Exception) else LogFailed(str(error)))
