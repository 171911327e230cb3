"""Giving up what lies unacknowledged: skip, clear, expire. Each is durable before it is answered.

What a Key_Shared consumer holds stays held: its keys go to nobody else until it has acknowledged or is gone.
"""

from __future__ import annotations

from functools import partial

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, no_content
from magnetar.admin.call import Call
from magnetar.admin.handlers.subscriptions import U64, Position
from magnetar.core.subscription import Subscription
from magnetar.core.topic_ops import expire_before, expire_through
from magnetar.core.topic_ops import skip as skip_entries
from magnetar.errors import NothingToExpire

__all__ = ["clear", "expire", "expire_all", "expire_position", "skip"]

_ALL = -1
_INT32_MAX = (1 << 31) - 1
_POSITION: msgspec.json.Decoder[Position | None] = msgspec.json.Decoder(Position | None)


def _number(call: Call, name: str) -> int:
    text = call.part(name)
    if not (text.isascii() and text.isdigit() and int(text) <= _INT32_MAX):
        raise Refusal(404, f"{name} has to be a number from 0 to {_INT32_MAX}")
    return int(text)


async def skip(call: Call) -> web.Response:
    count = _number(call, "numMessages")
    if call.core.catalog.partitions(call.name()):
        raise Refusal(405, "Skip messages on a partitioned topic is not allowed")
    sub = await call.subscription()
    await call.bridge.change(partial(skip_entries, sub, count))
    return no_content()


async def clear(call: Call) -> web.Response:
    """The whole backlog; of a partitioned topic that of all partitions."""
    for sub in await call.subscriptions():
        await call.bridge.change(partial(skip_entries, sub, _ALL))
    return no_content()


async def expire(call: Call) -> web.Response:
    """What was published longer ago than the path says."""
    seconds = _number(call, "expireTimeInSeconds")
    return await _expire(call, await call.subscriptions(), seconds)


async def expire_all(call: Call) -> web.Response:
    """The same on every subscription."""
    seconds, name = _number(call, "expireTimeInSeconds"), call.name()
    topics = call.partitions(name) if call.core.catalog.partitions(name) else [await call.open(name)]
    subs = [sub for topic in topics for sub in topic.subscriptions.values() if sub.durable]
    return await _expire(call, subs, seconds)


async def _expire(call: Call, subs: list[Subscription], seconds: int) -> web.Response:
    """Expire on all of them; what could not be done on one of them is said at the end, as in Pulsar."""
    before_ms = call.now_ms() - seconds * 1000
    refused: NothingToExpire | None = None
    for sub in subs:
        try:
            await call.bridge.change(partial(expire_before, sub, before_ms))
        except NothingToExpire as error:
            refused = error
    if refused is not None:
        raise refused
    return no_content()


async def expire_position(call: Call) -> web.Response:
    """Everything up to the message of the body, with it unless the body excludes it."""
    where = await call.body(_POSITION, None)
    if where is None:
        raise Refusal(412, 'the body has to name a message: {"ledgerId": ..., "entryId": ...}')
    if call.core.catalog.partitions(call.name()):
        raise Refusal(405, "Expire message at position is not supported for partitioned-topic")
    sub = await call.subscription()
    ledger, entry = where.ledgerId & U64, where.entryId & U64
    end = sub.topic.tail.end
    offset = sub.topic.ledgers.offset_from(ledger, entry, end)
    if where.behind or sub.topic.ledgers.offset(ledger, entry) != offset < end:
        offset -= 1
    await call.bridge.change(partial(expire_through, sub, offset))
    return no_content()
