"""Which broker serves a topic: always this one. Clients with an http:// service URL ask here."""

from __future__ import annotations

from aiohttp import web

from magnetar.admin.answers import json_answer, text_answer
from magnetar.admin.bundles import boundaries, bundle_of
from magnetar.admin.call import Call
from magnetar.core.requests.lookups import check_listener, partitions_of

__all__ = ["bundle", "topic"]


async def topic(call: Call) -> web.Response:
    """The addresses; 404 when the topic neither exists nor may come into being by its use."""
    query, header = call.request.query.get("listenerName", ""), call.request.headers.get("X-Pulsar-ListenerName", "")
    check_listener(query or header)
    name = call.name()
    if not call.core.catalog.partitions(name):
        partitions_of(call.core, name, True)
    options = call.core.options
    return json_answer(
        {
            "brokerUrl": options.broker_url,
            "httpUrl": options.http_url,
            "nativeUrl": options.broker_url,
            "brokerUrlSsl": "",
        }
    )


async def bundle(call: Call) -> web.Response:
    """The range of the namespace that the topic's name hashes into."""
    name = call.name()
    return text_answer(bundle_of(boundaries(call.core, name.namespace), str(name)))
