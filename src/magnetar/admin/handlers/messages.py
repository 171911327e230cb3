"""Messages one by one: by id, by their place in a backlog or a topic, and which id a time or a place has."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer
from magnetar.admin.call import Call
from magnetar.admin.handlers.subscriptions import U64, Position
from magnetar.admin.handlers.topics import message_id
from magnetar.admin.messages import message_answer
from magnetar.core.backlog import backlog_bytes
from magnetar.core.topic import Topic

__all__ = ["backlog_size", "by_id", "by_time", "examine", "last", "peek"]

_POSITION: msgspec.json.Decoder[Position | None] = msgspec.json.Decoder(Position | None)


async def last(call: Call) -> web.Response:
    """The id of the last message; its index within the batch when it is in one."""
    topic = await call.topic()
    offset, batch_index = await call.bridge.last_entry(topic)
    found = message_id(topic, offset, batch_index)
    if batch_index >= 0:
        found |= {"outstandingAcksInSameBatch": 0, "originalBatchSize": 0}
    return json_answer(found)


async def by_id(call: Call) -> web.Response:
    ledger, entry = call.number("ledgerId"), call.number("entryId")
    if call.core.catalog.partitions(call.name()):
        raise Refusal(405, "GetMessageById is not allowed on partitioned-topic")
    topic = await call.topic()
    offset = topic.ledgers.offset(ledger, entry) if topic.ledgers.ids and ledger >= 0 and entry >= 0 else -1
    if not topic.first_offset <= offset < topic.tail.end:
        raise Refusal(404, "Message id not found")
    return await _message(call, topic, offset, "Message id not found")


async def _message(call: Call, topic: Topic, offset: int, missing: str) -> web.Response:
    entry = (await call.bridge.entries(topic, [offset])).get(offset)
    if entry is None:
        raise Refusal(404, missing)
    ledger, number = topic.ledgers.position(offset)
    # Unpacking a large payload takes a while, and the loop has other things to do.
    return await asyncio.to_thread(message_answer, entry, ledger, number)


async def examine(call: Call) -> web.Response:
    """The message at a place counted from either end, the first and the last one being number 1."""
    if call.core.catalog.partitions(call.name()):
        raise Refusal(
            405,
            "Examine messages on a partitioned topic is not allowed, please try examine message on specific "
            "topic partition",
        )
    place = call.query_number("messagePosition", 1)
    topic = await call.topic()
    first, end = topic.first_offset, topic.tail.end
    if first >= end:
        raise Refusal(412, "Could not examine messages due to the total message is zero")
    place = min(max(place, 1), end - first)
    earliest = call.request.query.get("initialPosition") == "earliest"
    offset = first + place - 1 if earliest else end - place
    return await _message(call, topic, offset, "Message not found")


async def peek(call: Call) -> web.Response:
    """The message at a place in the backlog of a subscription, counted from 1. It stays where it is."""
    place = call.number("messagePosition")
    if call.core.catalog.partitions(call.name()):
        raise Refusal(405, "Peek messages on a partitioned topic is not allowed")
    sub = await call.subscription()
    if place < 1:
        raise Refusal(412, "messagePosition has to be 1 or more")
    offset = sub.acks.behind(place) - 1
    if not sub.topic.first_offset <= offset < sub.topic.tail.end:
        raise Refusal(404, "Message not found")
    return await _message(call, sub.topic, offset, "Message not found")


async def by_time(call: Call) -> web.Response:
    """The id of the first message that was published at the time or later; as in Pulsar -1:-1 for the time 0."""
    time_ms = call.number("timestamp")
    if call.core.catalog.partitions(call.name()):
        raise Refusal(
            405,
            "Get message ID by timestamp on a partitioned topic is not allowed, please try do it on specific "
            "topic partition",
        )
    topic = await call.topic()
    offset = await call.bridge.offset_at(topic, time_ms)
    ledger, entry = -1, -1
    if topic.ledgers.ids and (offset > topic.first_offset or (time_ms and offset < topic.tail.end)):
        ledger, entry = topic.ledgers.position(offset)
    return json_answer(
        {
            "ledgerId": ledger,
            "entryId": entry,
            "partitionIndex": topic.name.partition,
            "batchIndex": -1,
            "batchSize": 0,
        }
    )


async def backlog_size(call: Call) -> web.Response:
    """About how many bytes lie behind a message."""
    where = await call.body(_POSITION, None) or Position()
    topic = await call.topic()
    if not topic.ledgers.ids:
        return json_answer(0)
    end = topic.tail.end
    offset = topic.ledgers.offset_from(where.ledgerId & U64, where.entryId & U64, end)
    if topic.ledgers.offset(where.ledgerId & U64, where.entryId & U64) == offset:
        offset += 1
    return json_answer(backlog_bytes(topic, max(offset, topic.first_offset)))
