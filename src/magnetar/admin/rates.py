"""Rates per second over the last window, out of counters that only rise.

Every window the sampler walks over all topics, in slices so that the loop is never held up, and notes for each topic,
producer, subscription and consumer how much its counters have risen. What has counted nothing so far is not kept, so
idle topics cost nothing. What is asked for between two walks is the result of the last one. Of topics that are
measured (``core/measure``) it keeps what each bucket has counted in the window.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from magnetar.core.broker import Broker
from magnetar.core.consumer import Consumer
from magnetar.core.nonpersistent.subscription import NonPersistentSubscription
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.producer import Producer
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic

__all__ = ["Rate", "Sampler", "bytes_out", "topic_out"]

SLICE_TOPICS = 100
"""Topics that are looked at in one turn of the loop."""

Meter = Topic | Producer | Subscription | Consumer
Counters = tuple[int, int, int, int, int, int, int]


@dataclass(slots=True, frozen=True)
class Rate:
    """Events per second. Which two of them a thing has besides messages and bytes depends on its kind."""

    messages: float = 0.0
    bytes: float = 0.0
    third: float = 0.0
    """A topic's messages out; what a subscription or a consumer was sent again."""
    fourth: float = 0.0
    """A topic's bytes out; what was acknowledged on a subscription or by a consumer."""
    fifth: float = 0.0
    """Entries stored in a topic; what expired on a subscription."""
    sixth: float = 0.0
    """Entries of a topic that were read from the log."""
    dropped: float = 0.0
    """What a non-persistent topic, or a subscription or a producer of one, has dropped."""

    @property
    def size(self) -> float:
        """The average size of a message."""
        return self.bytes / self.messages if self.messages else 0.0


_NONE = Rate()
_NOTHING: Counters = (0, 0, 0, 0, 0, 0, 0)


def bytes_out(sub: Subscription) -> int:
    """Bytes sent to consumers, those that have left included."""
    return sub.bytes_out + sum(consumer.bytes_out for consumer in sub.consumers)


def topic_out(topic: Topic) -> tuple[int, int]:
    """Messages and bytes sent to consumers over all subscriptions, those that are gone included."""
    messages, size = topic.messages_out_gone, topic.bytes_out_gone
    for sub in topic.subscriptions.values():
        messages += sub.messages_out
        size += bytes_out(sub)
    return messages, size


class Sampler:
    """See the module's text."""

    def __init__(self, core: Broker, window_s: int) -> None:
        self.core: Broker = core
        self.window_s: int = window_s
        self._counted: dict[Meter, Counters] = {}
        self._rates: dict[Meter, Rate] = {}
        self._figures: dict[Topic, list[int]] = {}
        self._windows: dict[Topic, list[int]] = {}
        self._task: asyncio.Task[None] | None = None

    def rate(self, meter: Meter) -> Rate:
        """What the last window saw of it."""
        return self._rates.get(meter, _NONE)

    def window(self, topic: Topic) -> list[int] | None:
        """What the topic's buckets counted in the last window, None while it is not measured."""
        if topic.measure is None:
            return None
        return self._windows.get(topic) or [0] * len(topic.measure.figures())

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(self.window_s)
            now = loop.time()
            await self.walk(now - last)
            last = now

    async def walk(self, seconds: float) -> None:
        """Look at everything once; the last look was ``seconds`` ago."""
        counted: dict[Meter, Counters] = {}
        rates: dict[Meter, Rate] = {}
        figures: dict[Topic, list[int]] = {}
        windows: dict[Topic, list[int]] = {}
        topics = list(self.core.topics.values())
        for start in range(0, len(topics), SLICE_TOPICS):
            for topic in topics[start : start + SLICE_TOPICS]:
                if topic.measure is not None:
                    row = figures[topic] = topic.measure.figures()
                    start_row = self._figures.get(topic) or [0] * len(row)
                    windows[topic] = [now - then for now, then in zip(row, start_row, strict=True)]
                for meter, counters in _counters(topic):
                    if not any(counters):
                        continue
                    counted[meter] = counters
                    before = self._counted.get(meter, _NOTHING)
                    if counters != before:
                        risen = [max(now - then, 0) / seconds for now, then in zip(counters, before, strict=True)]
                        rates[meter] = Rate(*risen)
            await asyncio.sleep(0)
        self._counted = counted
        self._rates = rates
        self._figures, self._windows = figures, windows


def _counters(topic: Topic) -> list[tuple[Meter, Counters]]:
    messages, size = topic_out(topic)
    dropped = topic.dropped if isinstance(topic, NonPersistentTopic) else 0
    own = topic.messages_in, topic.bytes_in, messages, size, topic.entries_in, topic.entries_read, dropped
    found: list[tuple[Meter, Counters]] = [(topic, own)]
    found.extend((p, (p.messages_in, p.bytes_in, 0, 0, 0, 0, p.dropped)) for p in topic.producers.values())
    for sub in topic.subscriptions.values():
        dropped = sub.dropped if isinstance(sub, NonPersistentSubscription) else 0
        sent = sub.messages_out, bytes_out(sub), sub.redelivered_count, sub.acked_count
        found.append((sub, (*sent, sub.expired_count, 0, dropped)))
        found.extend((c, (c.messages_out, c.bytes_out, c.redelivered, c.acked, 0, 0, 0)) for c in sub.consumers)
    return found
