"""Compaction on demand, and how it stands."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from magnetar.admin.answers import json_answer, no_content
from magnetar.admin.call import Call
from magnetar.core.topic import Topic

__all__ = ["compact", "status"]


async def compact(call: Call) -> web.Response:
    """Begin; of a partitioned topic with all partitions that have been used. The answer does not wait for the end."""
    name = call.name()
    topics = call.partitions(name) if call.core.catalog.partitions(name) else [await call.open(name)]
    for topic in topics:
        await call.bridge.change(_starter(call, topic))
    return no_content()


def _starter(call: Call, topic: Topic) -> Callable[[Callable[[Exception | None], None]], None]:
    def start(done: Callable[[Exception | None], None]) -> None:
        call.core.compactions.start(topic)
        done(None)

    return start


async def status(call: Call) -> web.Response:
    state = (await call.topic()).compaction
    return json_answer({"status": state.status, "lastError": state.error})
