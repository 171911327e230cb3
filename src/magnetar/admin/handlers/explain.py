"""Why a subscription or a key does not move, what its consumers hold, and what happened to it lately."""

from __future__ import annotations

import binascii

from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer
from magnetar.admin.call import Call
from magnetar.admin.explain import event_fields, id_text, key_report_fields, pending_fields, report_fields
from magnetar.core.explain.key import explain_key
from magnetar.core.explain.pending import Wanted, pending_page
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.topic import Topic

__all__ = ["explain", "history", "pending_acks"]

PAGE_DEFAULT, PAGE_MAX = 100, 1000


def _key(call: Call) -> bytes | None:
    """The key that is asked for; an ordering key goes before a key, as in messages."""
    query = call.request.query
    for name in ("ordering", "key"):
        if name in query:
            return query[name].encode("utf-8", "surrogateescape")
    if "keyB64" not in query:
        return None
    try:
        # A plus sign that was not encoded has become a space on its way.
        return binascii.a2b_base64(query["keyB64"].replace(" ", "+").encode(), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise Refusal(412, f"keyB64 is not base64: {error}") from None


async def explain(call: Call) -> web.Response:
    """The subscription, and a key of it if one is named."""
    key = _key(call)
    sub = await call.subscription()
    report = explain_subscription(sub)
    report.at_ms = call.now_ms()
    found = report_fields(sub, report)
    if key is not None:
        found["key"] = key_report_fields(sub.topic, explain_key(sub, key))
    return json_answer(found)


async def pending_acks(call: Call) -> web.Response:
    """A page of what consumers hold unacknowledged; keys are read from the messages themselves."""
    limit = _number(call, "limit", PAGE_DEFAULT)
    slot = _number(call, "slot", -1)
    sub = await call.subscription()
    topic = sub.topic
    wanted = Wanted(
        _after(call, topic),
        min(max(limit, 1), PAGE_MAX),
        call.request.query.get("consumer"),
        slot if slot >= 0 else None,
    )
    rows, last = pending_page(sub, wanted)
    entries = await call.bridge.entries(topic, [row.offset for row in rows])
    now_ms = call.now_ms()
    answer: dict[str, object] = {
        "pendingAcks": [pending_fields(topic, row, entries.get(row.offset), now_ms) for row in rows]
    }
    if last >= 0:
        answer["next"] = id_text(topic, last)
    return json_answer(answer)


def _number(call: Call, name: str, absent: int) -> int:
    text = call.request.query.get(name)
    if text is None:
        return absent
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise Refusal(412, f"{name} has to be a number")
    return int(text)


def _after(call: Call, topic: Topic) -> int:
    """The offset behind which the page begins: that of the id which the page before gave as ``next``."""
    text = call.request.query.get("after")
    if text is None:
        return -1
    ledger, colon, entry = text.partition(":")
    if not colon or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in (ledger, entry)):
        raise Refusal(412, "after has to be a message id: ledger:entry, as in 'next' of the page before")
    offset = topic.ledgers.offset_from(int(ledger), int(entry), topic.tail.end)
    # What has been trimmed meanwhile lies before everything that is left.
    return offset if topic.ledgers.offset(int(ledger), int(entry)) == offset else offset - 1


async def history(call: Call) -> web.Response:
    """The latest changes of the assignment and drains, newest last."""
    sub = await call.subscription()
    kept = sub.history
    return json_answer(
        {
            "events": [event_fields(event) for event in kept.events],
            "changes": kept.changes,
            "eventsMax": kept.most,
        }
    )
