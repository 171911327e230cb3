"""Partitioned topics: how many partitions, more of them, none any more."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.admin.handlers.permissions import forget_topic
from magnetar.admin.handlers.properties import check_size
from magnetar.admin.handlers.topics import check_new, refuse_busy
from magnetar.core.creating import create_partitioned, delete_partitioned
from magnetar.core.names import TopicName
from magnetar.core.requests.lookups import partitions_of
from magnetar.core.topic_ops import grow_partitions
from magnetar.errors import TopicNotFound
from magnetar.ports.metadata import VersionConflict

__all__ = ["PARTITIONS_MAX", "create", "delete", "get", "grow", "partition_names"]

PARTITIONS_MAX = 100_000
"""More than anybody can mean, where no setting says less: a number above it is a mistake in writing."""


class PartitionedMetadata(msgspec.Struct):
    """The body of the Go client, which always sends properties along."""

    partitions: int
    properties: dict[str, str] | None = None


_WANTED: msgspec.json.Decoder[int | PartitionedMetadata] = msgspec.json.Decoder(int | PartitionedMetadata)


def partition_names(call: Call, name: TopicName) -> list[TopicName]:
    """The partitions of the topic; empty when it is not partitioned."""
    return [name.with_partition(index) for index in range(call.core.catalog.partitions(name))]


def _most(call: Call) -> int:
    return call.core.options.max_partitions or PARTITIONS_MAX


async def _wanted(call: Call) -> PartitionedMetadata:
    """The body: a number, or an object with a number in it."""
    body = await call.given(_WANTED)
    if isinstance(body, int):
        return PartitionedMetadata(body)
    return body


async def create(call: Call) -> web.Response:
    name = call.name()
    given = await _wanted(call)
    wanted, properties = given.partitions, check_size(given.properties or {})
    check_new(call, name)
    if wanted <= 0:
        raise Refusal(406, "Number of partitions should be more than 0")
    if wanted > _most(call):
        raise Refusal(406, f"Number of partitions should be less than or equal to {_most(call)}")
    if name.partition >= 0:
        raise Refusal(412, "Partitioned Topic Name should not contain '-partition-'")
    try:
        await call.bridge.change(lambda done: create_partitioned(call.core, name, wanted, True, done, properties))
    except VersionConflict:
        raise Refusal(409, "This topic already exists") from None
    return no_content()


async def get(call: Call) -> web.Response:
    """How many; with ``checkAllowAutoCreation`` a topic that does not exist yet comes into being, as by its use."""
    name = call.name()
    catalog = call.core.catalog
    if str(name) not in call.core.topics and not catalog.partitions(name):
        may = call.flag("checkAllowAutoCreation")
        try:
            partitions = partitions_of(call.core, name, may)
        except TopicNotFound:
            raise Refusal(404, f"Topic {name} not found") from None
        if partitions:
            with suppress(VersionConflict):  # somebody else was quicker, which is as good
                await call.bridge.change(lambda done: create_partitioned(call.core, name, partitions, True, done))
        else:
            await call.bridge.open(name, may)
    found: Fields = {"partitions": catalog.partitions(name), "deleted": False}
    row = catalog.partitioned.get(str(name))
    if row is not None and row.get("properties"):
        found["properties"] = row["properties"]
    return json_answer(found)


async def grow(call: Call) -> web.Response:
    """More partitions; there can never be fewer."""
    name = call.name()
    now = call.core.catalog.partitions(name)
    if not now:
        raise Refusal(409, f"Topic {name} is not the partitioned topic.")
    wanted = (await _wanted(call)).partitions
    if wanted < now:
        raise Refusal(422, f"Desired partitions {wanted} can't be less than the current partitions {now}.")
    if wanted == now:
        raise Refusal(422, f"Desired partitions {wanted} can't be equal to the current partitions {now}.")
    if wanted > _most(call):
        raise Refusal(
            422, f"Desired partitions {wanted} can't be greater than the maximum partitions per topic {_most(call)}."
        )
    await call.bridge.change(lambda done: grow_partitions(call.core, name, wanted, done))
    return no_content()


async def delete(call: Call) -> web.Response:
    name = call.name()
    names = partition_names(call, name)
    if not names:
        raise Refusal(404, f"Topic {name} not found.")
    if not call.flag("force"):
        for partition in names:
            topic = call.core.topics.get(str(partition))
            if topic is not None:
                refuse_busy(topic)
    await call.bridge.change(lambda done: delete_partitioned(call.core, name, done))
    await forget_topic(call, name)
    return no_content()
