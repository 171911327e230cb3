"""The broker itself: whether it is well, what it is called, what it serves."""

from __future__ import annotations

from aiohttp import web

from magnetar import __version__
from magnetar.admin.answers import Fields, Refusal, json_answer, no_content, text_answer
from magnetar.admin.bridge import Done
from magnetar.admin.bundles import boundaries, broker_id, bundle_of
from magnetar.admin.call import Call
from magnetar.core.broker import Broker
from magnetar.core.quota import check_quotas

__all__ = ["active", "health", "leader", "owned", "quota_check", "status_page", "version"]


def _check(core: Broker) -> None:
    if core.log_error:
        raise Refusal(503, f"the log cannot be written: {core.log_error}")


async def health(call: Call) -> web.Response:
    """ok, unless the last commit failed."""
    _check(call.core)
    return text_answer("ok")


async def quota_check(call: Call) -> web.Response:
    """Look at all backlog quotas now. Ages that have to be read from the log are judged a moment later."""

    def look(done: Done) -> None:
        for topic in list(call.core.topics.values()):
            check_quotas(topic)
        call.core.when_durable(done)

    await call.bridge.change(look)
    return no_content()


async def version(call: Call) -> web.Response:
    return text_answer(__version__)


async def active(call: Call) -> web.Response:
    """The brokers of a cluster: this one."""
    if call.request.match_info.get("cluster", call.core.options.cluster) != call.core.options.cluster:
        raise Refusal(404, "Cluster does not exist")
    return json_answer([broker_id(call.core)])


async def leader(call: Call) -> web.Response:
    return json_answer({"serviceUrl": call.core.options.http_url, "brokerId": broker_id(call.core)})


async def owned(call: Call) -> web.Response:
    """The ranges of namespaces that the broker serves: as it is the only one, those that have topics in use."""
    wanted = call.part("broker")
    if wanted != broker_id(call.core):
        raise Refusal(404, f"Broker id '{wanted}' not found in available brokers.")
    found: Fields = {}
    for topic in call.core.topics.values():
        namespace = topic.name.namespace
        bundle = bundle_of(boundaries(call.core, namespace), str(topic.name))
        found[f"{namespace}/{bundle}"] = {"broker_assignment": "shared", "is_controlled": False, "is_active": True}
    return json_answer(found)


async def status_page(call: Call) -> web.Response:
    """For load balancers that want a page."""
    _check(call.core)
    return text_answer("OK", "text/plain")
