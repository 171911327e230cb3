"""Statistics of topics over HTTP."""

from __future__ import annotations

import asyncio

from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer
from magnetar.admin.bundles import broker_id
from magnetar.admin.call import Call
from magnetar.admin.stats.domains import internal_stats_of, stats_of, unused_topic
from magnetar.admin.stats.merge import merged
from magnetar.admin.stats.topic import View
from magnetar.core.backlog import backlog_floor, known_age_ms, with_age
from magnetar.core.names import TopicName
from magnetar.core.topic import Topic

__all__ = ["internal", "partitioned", "partitioned_internal", "single"]

SLICE_PARTITIONS = 20
"""Partitions that are described in one turn of the loop."""


def _view(call: Call) -> View:
    return View(
        call.rates,
        broker_id(call.core),
        not call.flag("excludePublishers"),
        not call.flag("excludeConsumers"),
        call.flag("getEarliestTimeInBacklog"),
    )


async def single(call: Call) -> web.Response:
    """Figures that cost Pulsar extra (precise backlog, size of backlog) are always given: here they cost nothing."""
    topic = await call.topic()
    await _read_age(call, topic)
    return json_answer(stats_of(topic, _view(call)))


async def _read_age(call: Call, topic: Topic) -> None:
    """The age of a backlog stands in its first entry, which may have to be read."""
    if known_age_ms(topic) < 0 and backlog_floor(topic) < topic.tail.end:
        await call.bridge.change(lambda done: with_age(topic, lambda age_ms: done(None)))


async def internal(call: Call) -> web.Response:
    return json_answer(internal_stats_of(await call.topic()))


def _partitions(call: Call) -> tuple[TopicName, int]:
    name = call.name()
    count = call.core.catalog.partitions(name)
    if not count:
        raise Refusal(404, f"Partitioned Topic {name} not found")
    return name, count


async def partitioned(call: Call) -> web.Response:
    """The sum over all partitions, and with ``perPartition`` (the default) each of them."""
    name, count = _partitions(call)
    view = _view(call)
    each: dict[str, Fields] = {}
    for index in range(count):
        topic = await _partition(call, name.with_partition(index), index)
        await _read_age(call, topic)
        each[str(topic.name)] = stats_of(topic, view)
    total = merged(list(each.values()))
    total["metadata"] = {"partitions": count, "deleted": False}
    total["partitions"] = each if call.flag("perPartition", True) else {}
    return json_answer(total)


async def partitioned_internal(call: Call) -> web.Response:
    name, count = _partitions(call)
    each: Fields = {}
    for index in range(count):
        topic = await _partition(call, name.with_partition(index), index)
        each[str(topic.name)] = internal_stats_of(topic)
    return json_answer({"metadata": {"partitions": count, "deleted": False}, "partitions": each})


async def _partition(call: Call, name: TopicName, index: int) -> Topic:
    """A partition, or an empty topic in place of one that nobody has used yet."""
    if index % SLICE_PARTITIONS == 0:
        await asyncio.sleep(0)
    topic = call.core.topics.get(str(name))
    return topic if topic is not None else unused_topic(call.core, name)
