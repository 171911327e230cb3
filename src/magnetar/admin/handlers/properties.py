"""Properties: texts under names that whoever runs the broker keeps with a topic, a namespace or a subscription."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer, no_content, text_answer
from magnetar.admin.call import Call
from magnetar.admin.handlers.subscriptions import check_properties
from magnetar.core.catalog import NAMESPACES, PARTITIONED, TOPICS, Row
from magnetar.core.resetting import set_properties
from magnetar.errors import InvalidValue, NotFound, TopicNotFound

__all__ = [
    "PROPERTIES_BYTES_MAX",
    "Texts",
    "check_size",
    "namespace_get",
    "namespace_one_delete",
    "namespace_one_get",
    "namespace_one_put",
    "namespace_put",
    "namespace_wipe",
    "subscription_get",
    "subscription_put",
    "topic_delete",
    "topic_get",
    "topic_put",
]

Texts = dict[str, str]
_TEXTS: msgspec.json.Decoder[Texts | None] = msgspec.json.Decoder(Texts | None)
PROPERTIES_BYTES_MAX = 64 << 10
"""All properties of a topic or of a namespace together."""


def check_size(properties: Texts) -> Texts:
    """The properties, unless they are too many."""
    if sum(len(key) + len(value) for key, value in properties.items()) > PROPERTIES_BYTES_MAX:
        raise InvalidValue(f"all properties together may have {PROPERTIES_BYTES_MAX} bytes at most")
    return properties


# -- topics ------------------------------------------------------------------------------------------------------------


async def _topic_row(call: Call) -> tuple[str, Row]:
    """Where the properties of the topic of the path are: in its own row, be it partitioned or not."""
    name = call.name()
    catalog = call.core.catalog
    if catalog.partitions(name):
        return PARTITIONED + name.path, catalog.partitioned[str(name)]
    await call.topic()
    return TOPICS + name.path, catalog.topics[str(name)]


async def topic_get(call: Call) -> web.Response:
    _, row = await _topic_row(call)
    return json_answer(row.get("properties") or {})


async def _change_topic(call: Call, change: Callable[[Texts], Texts]) -> None:
    path, _ = await _topic_row(call)

    def changed(row: Row | None) -> Row:
        if row is None:
            raise TopicNotFound("the topic was deleted a moment ago")
        return {**row, "properties": check_size(change(row.get("properties") or {}))}

    await call.bridge.change_row(path, changed)


async def topic_put(call: Call) -> web.Response:
    """The properties of the body are added to those that are there."""
    given = await call.body(_TEXTS, None) or {}
    await _change_topic(call, lambda before: before | given)
    return no_content()


async def topic_delete(call: Call) -> web.Response:
    """The property that ``key`` of the query names; all of them without it."""
    key = call.request.query.get("key")
    await _change_topic(
        call, lambda before: {} if key is None else {name: text for name, text in before.items() if name != key}
    )
    return no_content()


# -- namespaces --------------------------------------------------------------------------------------------------------


def _of_namespace(call: Call) -> Texts:
    found: Texts = call.core.catalog.namespaces[call.namespace()].get("properties") or {}
    return found


async def _change_namespace(call: Call, change: Callable[[Texts], Texts]) -> None:
    path = NAMESPACES + call.namespace()

    def changed(row: Row | None) -> Row:
        if row is None:
            raise NotFound("Namespace does not exist")
        return {**row, "properties": check_size(change(row.get("properties") or {}))}

    await call.bridge.change_row(path, changed)


async def namespace_get(call: Call) -> web.Response:
    return json_answer(_of_namespace(call))


async def namespace_put(call: Call) -> web.Response:
    """The properties of the body are added to those that are there."""
    call.namespace()
    given = await call.body(_TEXTS, None) or {}
    await _change_namespace(call, lambda before: before | given)
    return no_content()


async def namespace_wipe(call: Call) -> web.Response:
    await _change_namespace(call, lambda before: {})
    return no_content()


async def namespace_one_get(call: Call) -> web.Response:
    """One property, as bare text."""
    found = _of_namespace(call).get(call.part("key"))
    return no_content() if found is None else text_answer(found)


async def namespace_one_put(call: Call) -> web.Response:
    key, value = call.part("key"), call.part("value")
    await _change_namespace(call, lambda before: before | {key: value})
    return no_content()


async def namespace_one_delete(call: Call) -> web.Response:
    """The answer is what it was."""
    key = call.part("key")
    found = _of_namespace(call).get(key)
    await _change_namespace(call, lambda before: {name: text for name, text in before.items() if name != key})
    return no_content() if found is None else text_answer(found)


# -- subscriptions -----------------------------------------------------------------------------------------------------


async def subscription_get(call: Call) -> web.Response:
    """Of a partitioned topic those of all its partitions together."""
    found: Texts = {}
    for sub in await call.subscriptions():
        found |= sub.properties
    return json_answer(found)


async def subscription_put(call: Call) -> web.Response:
    """The properties of the body take the place of those that were there."""
    given = await call.body(_TEXTS, None) or {}
    check_properties(call, given)
    for sub in await call.subscriptions():
        if not sub.durable:
            raise Refusal(412, f"{sub.name} is a reader's subscription: it has no properties")
        await call.bridge.change(partial(set_properties, sub, given))
    return no_content()
