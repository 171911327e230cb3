"""Bundles: the ranges of hashes that a namespace is cut into. One broker serves them all, so they are a matter of form;
but what Pulsar does by the bundle (unload, clear, unsubscribe, split) can be done by the bundle here as well.
"""

from __future__ import annotations

import zlib
from functools import partial
from itertools import pairwise

from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.bundles import BUNDLES_MAX, boundaries, broker_id, within
from magnetar.admin.call import Call
from magnetar.core.catalog import NAMESPACES, Row
from magnetar.core.names import PERSISTENT
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.core.topic_ops import delete_subscription
from magnetar.core.topic_ops import skip as skip_entries
from magnetar.core.topic_ops import unload as disconnect_all
from magnetar.errors import InvalidValue, NotFound

__all__ = [
    "bundles",
    "clear",
    "delete",
    "hash_positions",
    "split",
    "unload",
    "unsubscribe",
]


async def bundles(call: Call) -> web.Response:
    bounds = boundaries(call.core, call.namespace())
    return json_answer({"boundaries": bounds, "numBundles": len(bounds) - 1})


def _namespace(call: Call) -> str:
    name = f"{call.part('t')}/{call.part('n')}"
    if name not in call.core.catalog.namespaces:
        raise Refusal(404, "Namespace not found")
    return name


def _bundle(call: Call, namespace: str) -> str:
    """The range of the path; empty for the whole namespace."""
    if "bundle" not in call.request.match_info:
        return ""
    found = call.part("bundle")
    if found not in [f"{low}_{high}" for low, high in pairwise(boundaries(call.core, namespace))]:
        raise Refusal(412, f"Cannot find bundle {namespace}/{found} in the bundles list")
    return found


def _topics(call: Call) -> list[Topic]:
    """Topics of the namespace and the range of the path, as far as they have been used."""
    namespace = _namespace(call)
    bundle = _bundle(call, namespace)
    found = [topic for topic in call.core.topics.values() if topic.name.namespace == namespace]
    return [topic for topic in found if not bundle or within(bundle, str(topic.name))]


async def unload(call: Call) -> web.Response:
    """Everybody is disconnected from the topics, and comes back."""
    _namespace(call)
    target = call.request.query.get("destinationBroker")
    if target is not None and target != broker_id(call.core):
        raise Refusal(409, "Not allowed unload namespace bundle to inactive destination broker")
    topics = _topics(call)

    def turn() -> None:
        for topic in topics:
            disconnect_all(topic)

    call.bridge.pump.run(turn)
    return no_content()


def _subscriptions(call: Call) -> list[Subscription]:
    """The subscriptions that the path is about: of its name, or all durable ones."""
    topics = [topic for topic in _topics(call) if topic.name.domain == PERSISTENT]
    if "sub" not in call.request.match_info:
        return [sub for topic in topics for sub in topic.subscriptions.values() if sub.durable]
    found = [call.found_sub(topic) for topic in topics]
    return [sub for sub in found if sub is not None]


async def clear(call: Call) -> web.Response:
    """Acknowledge the backlog, of all subscriptions or of those with one name."""
    for sub in _subscriptions(call):
        if not sub.deleted:
            await call.bridge.change(partial(skip_entries, sub, -1))
    return no_content()


async def unsubscribe(call: Call) -> web.Response:
    """Delete the subscription on every topic that has it, unless somebody is connected to one of them."""
    found = _subscriptions(call)
    if any(sub.consumers for sub in found):
        raise Refusal(412, "Subscription has active connected consumers")
    for sub in found:
        if not sub.deleted:
            await call.bridge.change(partial(delete_subscription, sub))
    return no_content()


async def split(call: Call) -> web.Response:
    """Cut a range in two halves."""
    namespace = _namespace(call)
    low, _, high = _bundle(call, namespace).partition("_")

    def changed(row: Row | None) -> Row:
        if row is None:
            raise NotFound("Namespace does not exist")
        bounds = boundaries(call.core, namespace)
        if len(bounds) > BUNDLES_MAX or int(high, 16) - int(low, 16) < 2:
            raise InvalidValue(f"the range cannot be split: it is too small, or there are {BUNDLES_MAX} already")
        if low in bounds and high in bounds:
            bounds.insert(bounds.index(low) + 1, f"0x{(int(low, 16) + int(high, 16) + 1) // 2:08x}")
        return {**row, "bundles": {"boundaries": bounds, "numBundles": len(bounds) - 1}}

    await call.bridge.change_row(NAMESPACES + namespace, changed)
    return no_content()


async def delete(call: Call) -> web.Response:
    """A range goes with its namespace and not before; what can be said is whether it is empty."""
    if _topics(call):
        raise Refusal(409, "Cannot delete non empty bundle")
    return no_content()


async def hash_positions(call: Call) -> web.Response:
    """Where the topics of the range lie in it."""
    namespace = _namespace(call)
    bundle = _bundle(call, namespace)
    asked = call.request.query.get("topics")
    names = asked.split(",") if asked else [str(topic.name) for topic in _topics(call)]
    found: Fields = {name: zlib.crc32(name.encode()) for name in names if within(bundle, name)}
    return json_answer({"namespace": namespace, "bundle": bundle, "topicHashPositions": found})
