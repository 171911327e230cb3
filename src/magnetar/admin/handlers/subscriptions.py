"""Subscriptions: which there are, new ones, deleted ones, and disconnecting a consumer of one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.core.topic import Topic
from magnetar.core.topic_ops import create_subscription, delete_subscription
from magnetar.core.topic_ops import disconnect as disconnect_consumer

__all__ = ["U64", "Position", "check_properties", "create", "delete", "disconnect", "names"]

U64 = (1 << 64) - 1
_Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class Position(msgspec.Struct):
    """Where a cursor is to stand: at a message, or right behind it."""

    ledgerId: _Long = -1  # noqa: N815
    entryId: _Long = -1  # noqa: N815
    isExcluded: bool = False  # noqa: N815
    excluded: bool = False
    """The same: the official Java client calls it so."""
    properties: dict[str, str] | None = None

    @property
    def behind(self) -> bool:
        """Whether the place is behind the message."""
        return self.isExcluded or self.excluded


_Where = Literal["earliest", "latest"] | Position | None
_WHERE: msgspec.json.Decoder[_Where] = msgspec.json.Decoder(_Where)


async def names(call: Call) -> web.Response:
    """Of a partitioned topic the subscriptions of all its partitions."""
    name = call.name()
    partitions = call.core.catalog.partitions(name)
    if not partitions:
        return json_answer(list((await call.open(name)).subscriptions))
    found: dict[str, None] = {}
    for topic in call.partitions(name):
        found.update(dict.fromkeys(topic.subscriptions))
    return json_answer(list(found))


async def create(call: Call) -> web.Response:
    """A cursor at the end of the topic unless the body says otherwise; on every partition of a partitioned one."""
    name, sub = call.name(), call.sub()
    if not sub.strip():
        raise Refusal(412, "a subscription needs a name")
    where = await call.body(_WHERE, None)
    properties = (where.properties or {}) if isinstance(where, Position) else {}
    check_properties(call, properties)
    partitions = call.core.catalog.partitions(name)
    if not partitions:
        topic = await call.open(name, create=True)
        if sub in topic.subscriptions:
            raise Refusal(409, "Subscription already exists for topic")
        await _create(call, topic, sub, where, properties)
        return no_content()
    made = 0
    for index in range(partitions):
        topic = await call.open(name.with_partition(index))
        if sub not in topic.subscriptions:
            made += 1
            await _create(call, topic, sub, where, properties)
    if not made:
        raise Refusal(409, "Subscription already exists for topic")
    return no_content()


def check_properties(call: Call, properties: dict[str, str]) -> None:
    """Refuse more properties than a subscription may have, and those that cannot be kept."""
    most = call.core.options.subscription_metadata_bytes
    if sum(len(key) + len(value) for key, value in properties.items()) > most:
        raise Refusal(412, f"properties of a subscription may have {most} bytes at most")
    if any("\0" in text for pair in properties.items() for text in pair):
        raise Refusal(412, "properties of a subscription cannot hold the character with the number 0")


async def _create(call: Call, topic: Topic, sub: str, where: _Where, properties: dict[str, str]) -> None:
    offset = _offset(topic, where)
    await call.bridge.change(lambda done: create_subscription(topic, sub, offset, properties, done))


def _offset(topic: Topic, where: _Where) -> int:
    end = topic.tail.end
    if where == "earliest":
        return topic.first_offset
    if not isinstance(where, Position):
        return end
    ledger, entry = where.ledgerId & U64, where.entryId & U64
    offset = topic.ledgers.offset_from(ledger, entry, end)
    if where.behind and topic.ledgers.ids and topic.ledgers.offset(ledger, entry) == offset < end:
        offset += 1
    return offset


async def delete(call: Call) -> web.Response:
    """Without force only while nobody is connected."""
    found = await call.subscriptions()
    if not call.flag("force") and any(one.consumers for one in found):
        raise Refusal(412, "Subscription has active connected consumers")
    for one in found:
        if not one.deleted:
            await call.bridge.change(partial(delete_subscription, one))
    return no_content()


async def disconnect(call: Call) -> web.Response:
    """The consumers of this name are disconnected; what they hold goes to others, in order."""
    found, name = await call.subscriptions(), call.part("consumer")
    there = sum(consumer.name == name for sub in found for consumer in sub.consumers)
    if not there:
        raise Refusal(404, f"Consumer {name} is not connected to subscription {call.part('sub')} of {call.name()}")

    def turn() -> None:
        for sub in found:
            disconnect_consumer(sub, name)

    call.bridge.pump.run(turn)
    return no_content()
