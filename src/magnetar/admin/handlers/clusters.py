"""Clusters: the one that this broker is, and entries for others, which are kept and returned and do nothing."""

from __future__ import annotations

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.core.catalog import CLUSTERS, Row
from magnetar.core.names import valid_part
from magnetar.errors import NotFound
from magnetar.ports.metadata import VersionConflict

__all__ = ["CLUSTERS_MAX", "create", "delete", "get", "known", "names", "peers", "set_peers", "update"]

CLUSTERS_MAX = 1000

_SCHEMES = ("http://", "https://", "pulsar://", "pulsar+ssl://")


class ClusterData(msgspec.Struct, omit_defaults=True):
    """The body of a cluster. Names in it are Pulsar's."""

    serviceUrl: str | None = None  # noqa: N815
    serviceUrlTls: str | None = None  # noqa: N815
    brokerServiceUrl: str | None = None  # noqa: N815
    brokerServiceUrlTls: str | None = None  # noqa: N815
    proxyServiceUrl: str | None = None  # noqa: N815
    proxyProtocol: str | None = None  # noqa: N815
    authenticationPlugin: str | None = None  # noqa: N815
    listenerName: str | None = None  # noqa: N815
    peerClusterNames: list[str] | None = None  # noqa: N815


_DATA: msgspec.json.Decoder[ClusterData | None] = msgspec.json.Decoder(ClusterData | None)
_NAMES: msgspec.json.Decoder[list[str] | None] = msgspec.json.Decoder(list[str] | None)

_TLS: Fields = {
    "brokerClientTlsEnabled": False,
    "tlsAllowInsecureConnection": False,
    "brokerClientTlsEnabledWithKeyStore": False,
}


def known(call: Call) -> list[str]:
    """All clusters, this one first."""
    here = call.core.options.cluster
    return [here, *sorted(name for name in call.core.catalog.clusters if name != here)]


def _cluster(call: Call) -> str:
    name = call.part("cluster")
    if name not in known(call):
        raise Refusal(404, "Cluster does not exist")
    return name


async def names(call: Call) -> web.Response:
    return json_answer(known(call))


async def get(call: Call) -> web.Response:
    """The addresses; of this cluster those where it really listens, unless others were given for it."""
    name = _cluster(call)
    options = call.core.options
    row = call.core.catalog.clusters.get(name, {})
    if name != options.cluster:
        return json_answer({**row, **_TLS})
    return json_answer(
        {
            "serviceUrl": options.http_url,
            "brokerServiceUrl": options.broker_url,
            **row,
            **_TLS,
            "brokerClientTlsTrustStoreType": "JKS",
            "brokerClientTlsKeyStoreType": "JKS",
            "brokerClientSslFactoryPlugin": "org.apache.pulsar.common.util.DefaultPulsarSslFactory",
        }
    )


async def _row(call: Call) -> Row:
    data = await call.body(_DATA, None)
    if data is None:
        raise Refusal(400, "cluster data is required")
    for kind, url in (("service", data.serviceUrl), ("service", data.serviceUrlTls),
                      ("broker", data.brokerServiceUrl), ("broker", data.brokerServiceUrlTls)):  # fmt: skip
        if url and not url.startswith(_SCHEMES[:2] if kind == "service" else _SCHEMES[2:]):
            example = "http://pulsar.example.com:8080" if kind == "service" else "pulsar://pulsar.example.com:6650"
            raise Refusal(400, f"Illegal {kind} url, example: {example}")
    row: Row = msgspec.to_builtins(data)
    return row


async def create(call: Call) -> web.Response:
    name, row = call.part("cluster"), await _row(call)
    if not valid_part(name):
        raise Refusal(412, "Cluster name is not valid")
    if name in known(call):
        raise Refusal(409, "Cluster already exists")
    if len(call.core.catalog.clusters) >= CLUSTERS_MAX:
        raise Refusal(412, f"there are {CLUSTERS_MAX} clusters, which is as many as can be kept")
    try:
        await call.bridge.meta(CLUSTERS + name, row, True)
    except VersionConflict:
        raise Refusal(409, "Cluster already exists") from None
    return no_content()


async def update(call: Call) -> web.Response:
    row = await _row(call)
    await call.bridge.meta(CLUSTERS + _cluster(call), row, False)
    return no_content()


async def delete(call: Call) -> web.Response:
    """This cluster itself stays, and so do those that a tenant still names."""
    name = _cluster(call)
    tenants = call.core.catalog.tenants.values()
    if name == call.core.options.cluster or any(name in row.get("allowedClusters", []) for row in tenants):
        raise Refusal(412, "Cluster not empty")
    await call.bridge.meta(CLUSTERS + name, None, False)
    return no_content()


async def peers(call: Call) -> web.Response:
    found = call.core.catalog.clusters.get(_cluster(call), {}).get("peerClusterNames")
    return no_content() if found is None else json_answer(found)


async def set_peers(call: Call) -> web.Response:
    name = _cluster(call)
    given: list[str] | None = await call.body(_NAMES, None)
    wanted = sorted(set(given or []))
    for peer in wanted:
        if peer == name:
            raise Refusal(412, f"{name} itself can't be part of peer-list")
        if peer not in known(call):
            raise Refusal(412, f"Peer cluster {peer} does not exist")

    def changed(row: Row | None) -> Row:
        if row is None and name != call.core.options.cluster:
            raise NotFound("Cluster does not exist")
        return {**(row or {}), "peerClusterNames": wanted}

    await call.bridge.change_row(CLUSTERS + name, changed)
    return no_content()
