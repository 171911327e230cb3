"""The broker itself, and the one cluster it stands for."""

from __future__ import annotations

from aiohttp import web

from magnetar import __version__
from magnetar.admin.answers import Refusal, json_answer, no_content, text_answer
from magnetar.admin.bridge import Done
from magnetar.admin.call import Call
from magnetar.core.broker import Broker
from magnetar.core.quota import check_quotas

__all__ = [
    "active",
    "broker_id",
    "check_quotas_now",
    "cluster",
    "clusters",
    "health",
    "leader",
    "status_page",
    "version",
]


def broker_id(core: Broker) -> str:
    """Host and port of the HTTP side, which is how Pulsar names a broker."""
    return core.options.http_url.partition("://")[2]


def _check(core: Broker) -> None:
    if core.log_error:
        raise Refusal(503, f"the log cannot be written: {core.log_error}")


async def health(call: Call) -> web.Response:
    """ok, unless the last commit failed."""
    _check(call.core)
    return text_answer("ok")


async def check_quotas_now(call: Call) -> web.Response:
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
    if "cluster" in call.request.match_info:
        _known(call)
    return json_answer([broker_id(call.core)])


async def leader(call: Call) -> web.Response:
    return json_answer({"serviceUrl": call.core.options.http_url, "brokerId": broker_id(call.core)})


async def clusters(call: Call) -> web.Response:
    return json_answer([call.core.options.cluster])


async def cluster(call: Call) -> web.Response:
    _known(call)
    options = call.core.options
    return json_answer(
        {
            "serviceUrl": options.http_url,
            "brokerServiceUrl": options.broker_url,
            "brokerClientTlsEnabled": False,
            "tlsAllowInsecureConnection": False,
            "brokerClientTlsEnabledWithKeyStore": False,
            "brokerClientTlsTrustStoreType": "JKS",
            "brokerClientTlsKeyStoreType": "JKS",
            "brokerClientSslFactoryPlugin": "org.apache.pulsar.common.util.DefaultPulsarSslFactory",
        }
    )


def _known(call: Call) -> None:
    if call.part("cluster") != call.core.options.cluster:
        raise Refusal(404, "Cluster does not exist")


async def status_page(call: Call) -> web.Response:
    """For load balancers that want a page."""
    _check(call.core)
    return text_answer("OK", "text/plain")
