"""Where a subscription stands: moved to a time or a message, and its backlog counted."""

from __future__ import annotations

from functools import partial
from typing import Literal

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.admin.explain import id_text
from magnetar.admin.handlers.subscriptions import U64, Position
from magnetar.core.entryinfo import COUNT, entry_count
from magnetar.core.resetting import reset, reset_to_time
from magnetar.core.subscription import Subscription

__all__ = ["analyze", "replicated", "reset_to_message", "reset_to_timestamp", "set_replicated"]

ANALYZED_ENTRIES_MAX = 10_000
"""Entries that one analysis reads; what lies behind them is left out, and the answer says so."""
_SLICE_ENTRIES = 500


class ResetPosition(Position):
    """A message, or one message within a batch."""

    batchIndex: int = -1  # noqa: N815


_Where = Literal["earliest", "latest"] | ResetPosition | None
_WHERE: msgspec.json.Decoder[_Where] = msgspec.json.Decoder(_Where)
_FLAG: msgspec.json.Decoder[bool] = msgspec.json.Decoder(bool)


async def reset_to_timestamp(call: Call) -> web.Response:
    """To the first message that was published then or later; of a partitioned topic on every partition."""
    time_ms = call.number("timestamp")
    for sub in await call.subscriptions():
        await call.bridge.change(partial(reset_to_time, sub, max(time_ms, 0)))
    return no_content()


async def reset_to_message(call: Call) -> web.Response:
    """To the message of the body, or behind it where the body excludes it."""
    where = await call.body(_WHERE, None)
    if where is None:
        raise Refusal(400, 'the body has to say where to: {"ledgerId": ..., "entryId": ...}, "earliest" or "latest"')
    if call.core.catalog.partitions(call.name()):
        raise Refusal(405, "Reset-cursor at position is not allowed for partitioned-topic")
    sub = await call.subscription()
    offset, left = await _place(call, sub, where)
    await call.bridge.change(partial(reset, sub, offset, left))
    return no_content()


async def _place(
    call: Call, sub: Subscription, where: Literal["earliest", "latest"] | ResetPosition
) -> tuple[int, int]:
    """The offset, and what is open of the batch there (-1: all)."""
    topic = sub.topic
    end = topic.tail.end
    if not isinstance(where, ResetPosition):
        return (topic.first_offset if where == "earliest" else end), -1
    ledger, entry = where.ledgerId & U64, where.entryId & U64
    offset = topic.ledgers.offset_from(ledger, entry, end)
    exact = bool(topic.ledgers.ids) and topic.ledgers.offset(ledger, entry) == offset < end
    if not exact:
        return offset, -1
    first = where.batchIndex + where.behind
    if where.batchIndex < 0:
        return offset + where.behind, -1
    found = (await call.bridge.entries(topic, [offset])).get(offset)
    size = entry_count(found) & COUNT if found else 1
    if first >= size:
        return offset + 1, -1
    return offset, ((1 << size) - 1) >> first << first if first else -1


async def analyze(call: Call) -> web.Response:
    """Count what lies in the backlog, by reading it."""
    if call.core.catalog.partitions(call.name()):
        raise Refusal(
            405,
            "Analyze backlog on a partitioned topic is not allowed, please try do it on specific topic partition",
        )
    sub = await call.subscription()
    topic = sub.topic
    entries = messages = 0
    first = last = -1
    at, end = max(sub.acks.floor, topic.first_offset), topic.tail.end
    while at < end and entries < ANALYZED_ENTRIES_MAX:
        stop = min(at + _SLICE_ENTRIES, end)
        wanted = [offset for offset in range(at, stop) if not sub.acks.contains(offset)]
        for offset, entry in sorted((await call.bridge.entries(topic, wanted)).items()):
            entries += 1
            left = sub.acks.part(offset)
            messages += left.bit_count() if left > 0 else entry_count(entry) & COUNT
            first, last = (offset if first < 0 else first), offset
        at = stop
    found: Fields = {
        "entries": entries,
        "messages": messages,
        "markerMessages": 0,
        "filterRejectedEntries": 0,
        "filterAcceptedEntries": entries,
        "filterRescheduledEntries": 0,
        "filterRejectedMessages": 0,
        "filterAcceptedMessages": messages,
        "filterRescheduledMessages": 0,
        "aborted": at < end,
    }
    if first >= 0:
        found |= {"firstMessageId": id_text(topic, first), "lastMessageId": id_text(topic, last)}
    return json_answer(found)


async def replicated(call: Call) -> web.Response:
    """Nothing is replicated to other clusters, and so no subscription is."""
    return json_answer({str(sub.topic.name): False for sub in await call.subscriptions()})


async def set_replicated(call: Call) -> web.Response:
    """Taken where it asks for what is so anyway."""
    wanted = await call.given(_FLAG)
    await call.subscriptions()
    if wanted:
        raise Refusal(412, "nothing is replicated to other clusters here, so a subscription cannot be")
    return no_content()
