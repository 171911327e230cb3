"""Which topic is compacted when: on demand, or because what was not compacted has become large; one at a time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from magnetar.core.compaction.job import Job
from magnetar.core.compaction.state import COMPACTED_KEY, COMPACTION_CURSOR, ERROR, RUNNING, SUCCESS
from magnetar.core.requests.opening import create_cursor
from magnetar.errors import MagnetarError
from magnetar.ports.log import Drop, DropStream

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.topic import Topic

__all__ = ["AlreadyCompactingError", "Compactions", "bytes_behind", "forget"]


class AlreadyCompactingError(MagnetarError):
    """The topic is being compacted, or waits for its turn."""

    status = 409


class Compactions:
    """The compactions of a broker: one is under way, the others wait."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self.waiting: deque[Topic] = deque()
        self.busy: bool = False

    def watch(self) -> None:
        """Look every now and then which topics have reached their threshold."""
        broker = self.broker
        broker.timers.at(broker.now_ms + broker.options.compaction_check_ms, self._check)

    def _check(self) -> None:
        self.watch()
        for topic in list(self.broker.topics.values()):
            limit = topic.policies.compaction_threshold
            if limit > 0 and topic.compaction.status != RUNNING and bytes_behind(topic) > limit:
                self.start(topic)

    def start(self, topic: Topic) -> None:
        """Compact the topic when its turn has come."""
        if topic.compaction.status == RUNNING:
            raise AlreadyCompactingError("Compaction already in progress")
        if COMPACTION_CURSOR not in topic.subscriptions:
            view = topic.compaction.view
            create_cursor(topic, COMPACTION_CURSOR, max(view.horizon if view else 0, topic.first_offset), True)
        topic.compaction.status, topic.compaction.error = RUNNING, ""
        self.waiting.append(topic)
        self._next()

    def _next(self) -> None:
        while self.waiting and not self.busy:
            topic = self.waiting.popleft()
            if topic.deleted:
                continue
            self.busy = True
            self._run(topic)

    def _run(self, topic: Topic) -> None:
        state, began_ms = topic.compaction, self.broker.now_ms

        def done(error: Exception | None) -> None:
            now_ms = self.broker.now_ms
            self.busy, state.job = False, None
            if error is None:
                state.status, state.succeeded_ms, state.took_ms = SUCCESS, now_ms, now_ms - began_ms
                state.succeeded += 1
                state.removed = job.latest.messages - job.latest.left
            else:
                state.status, state.error, state.failed_ms = ERROR, str(error), now_ms
                state.failed += 1
            self._next()

        job = state.job = Job(topic, done)
        job.start()


def bytes_behind(topic: Topic) -> int:
    """About how many bytes of the topic were not compacted yet."""
    ledgers, view = topic.ledgers, topic.compaction.view
    horizon = max(view.horizon if view is not None else 0, topic.first_offset)
    found = 0
    for row, base in enumerate(ledgers.bases):
        end = ledgers.bases[row + 1] if row + 1 < len(ledgers.bases) else topic.tail.end
        if end > horizon:
            found += ledgers.sizes[row] * (end - max(base, horizon)) // max(end - base, 1)
    return found


def forget(topic: Topic) -> None:
    """The view goes, and what is being made of a new one."""
    state, records = topic.compaction, topic.broker.commit.records
    if state.job is not None:
        state.job.fail(MagnetarError("the compaction was given up"))
    if state.view is not None:
        if not topic.deleted:
            records.append(Drop(topic.stream, COMPACTED_KEY))
        records.append(DropStream(state.view.stream))
        state.view = None
