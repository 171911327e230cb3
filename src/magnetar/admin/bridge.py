"""From HTTP handlers to the core and back.

A handler runs in the same loop as the core, so it may read whatever it likes, as long as it does not await in between.
It changes something only through ``change``, which calls a function of the core in a turn of its own and waits until
the core reports how that ended: durable, or with an error, which is raised here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from magnetar.core.broker import Broker
from magnetar.core.catalog import Row
from magnetar.core.creating import with_topic
from magnetar.core.explain.entries import load_entries
from magnetar.core.names import TopicName
from magnetar.core.requests.cursors import with_last_entry
from magnetar.core.rows import Change
from magnetar.core.timesearch import search_time
from magnetar.core.topic import Topic
from magnetar.errors import MagnetarError, ServiceNotReady, TopicNotFound
from magnetar.server.pump import Pump

__all__ = ["CHANGE_WAIT_S", "Bridge", "Done"]

Done = Callable[[Exception | None], None]

CHANGE_WAIT_S = 30
"""How long a request waits for the log or the metadata store before it is answered that this takes too long."""


class Bridge:
    """See the module's text."""

    def __init__(self, pump: Pump) -> None:
        self.pump: Pump = pump
        self.core: Broker = pump.core

    async def change(self, start: Callable[[Done], None]) -> None:
        """Call ``start`` in a turn of the core; return when it calls its ``done``, or raise what it calls it with."""
        outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(error: Exception | None) -> None:
            if outcome.done():
                return
            if error is None:
                outcome.set_result(None)
            else:
                outcome.set_exception(error)

        def turn() -> None:
            try:
                start(done)
            except MagnetarError as error:
                done(error)

        self.pump.run(turn)
        try:
            async with asyncio.timeout(CHANGE_WAIT_S):
                await outcome
        except TimeoutError:
            raise ServiceNotReady(
                f"the broker could not complete this in {CHANGE_WAIT_S} s; it may still happen: look, then try again"
            ) from None

    async def meta(self, path: str, value: Row | None, create: bool) -> None:
        """Write one row of the catalogue."""
        await self.change(lambda done: self.core.meta_write(path, value, create, done))

    async def change_row(self, path: str, change: Change) -> None:
        """Make one row of the catalogue what ``change`` makes of it when its turn has come."""
        await self.change(lambda done: self.core.rows.change(path, change, False, done))

    async def open(self, name: TopicName, create: bool) -> Topic:
        """The topic, created first when it is missing and may be; raises what the core says otherwise."""
        found: list[Topic] = []

        def start(done: Done) -> None:
            def opened(topic: Topic | None, error: Exception | None) -> None:
                if topic is not None:
                    found.append(topic)
                done(error)

            with_topic(self.core, str(name), create, opened)

        await self.change(start)
        if not found:
            raise TopicNotFound(f"Topic {name} not found")
        return found[0]

    async def entries(self, topic: Topic, offsets: list[int]) -> dict[int, bytes]:
        """Entries by offset; those that cannot be read are left out."""
        found: dict[int, bytes] = {}

        def start(done: Done) -> None:
            def loaded(entries: dict[int, bytes]) -> None:
                found.update(entries)
                done(None)

            load_entries(topic, offsets, loaded)

        await self.change(start)
        return found

    async def offset_at(self, topic: Topic, time_ms: int) -> int:
        """The first offset that was published at the time or later; the topic's end when there is none."""
        found: list[int] = []

        def start(done: Done) -> None:
            def answer(offset: int) -> None:
                found.append(offset)
                done(None)

            search_time(topic, topic.first_offset, time_ms, answer)

        await self.change(start)
        return found[0]

    async def last_entry(self, topic: Topic) -> tuple[int, int]:
        """Offset of the topic's last entry and its last batch index; -1 for none."""
        found: list[tuple[int, int]] = []

        def start(done: Done) -> None:
            def answer(offset: int, batch_index: int) -> None:
                found.append((offset, batch_index))
                done(None)

            with_last_entry(topic, answer)

        await self.change(start)
        return found[0]
