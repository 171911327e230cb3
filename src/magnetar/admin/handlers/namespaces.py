"""Tenants and namespaces."""

from __future__ import annotations

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.core.broker import Broker
from magnetar.core.catalog import NAMESPACES, TENANTS, Row
from magnetar.core.names import NON_PERSISTENT, PERSISTENT, valid_part
from magnetar.core.policies.table import POLICIES
from magnetar.ports.metadata import VersionConflict

__all__ = [
    "boundaries",
    "bundles",
    "create_namespace",
    "create_tenant",
    "delete_namespace",
    "delete_tenant",
    "namespace",
    "namespaces",
    "tenant",
    "tenants",
    "topics",
    "update_tenant",
]

BUNDLES = 4
"""How many ranges of hashes a namespace has. One broker serves them all, so it is a matter of form."""


_KEPT = ("auth_policies", "encryption_required", "properties", "subscription_auth_mode")
"""What a namespace may be created with and has kept for it without acting here."""


class TenantInfo(msgspec.Struct):
    """The body of a tenant. Names in it are Pulsar's."""

    adminRoles: list[str] | None = None  # noqa: N815
    allowedClusters: list[str] | None = None  # noqa: N815


_TENANT: msgspec.json.Decoder[TenantInfo | None] = msgspec.json.Decoder(TenantInfo | None)
_POLICIES: msgspec.json.Decoder[dict[str, object] | None] = msgspec.json.Decoder(dict[str, object] | None)


async def tenants(call: Call) -> web.Response:
    return json_answer(sorted(call.core.catalog.tenants))


async def tenant(call: Call) -> web.Response:
    row = call.core.catalog.tenants[_tenant(call)]
    return json_answer({"adminRoles": row.get("adminRoles", []), "allowedClusters": row.get("allowedClusters", [])})


def _tenant(call: Call) -> str:
    name = call.part("t")
    if name not in call.core.catalog.tenants:
        raise Refusal(404, "Tenant does not exist")
    return name


async def create_tenant(call: Call) -> web.Response:
    name = call.part("t")
    if not valid_part(name):
        raise Refusal(412, "Tenant name is not valid")
    row = await _tenant_row(call)
    if name in call.core.catalog.tenants:
        raise Refusal(409, "Tenant already exist")
    try:
        await call.bridge.meta(TENANTS + name, row, True)
    except VersionConflict:
        raise Refusal(409, "Tenant already exist") from None
    return no_content()


async def update_tenant(call: Call) -> web.Response:
    name = _tenant(call)
    await call.bridge.meta(TENANTS + name, await _tenant_row(call), False)
    return no_content()


async def _tenant_row(call: Call) -> Row:
    """The tenant of the body, checked, as it stands in the catalogue."""
    info = await call.body(_TENANT, None) or TenantInfo()
    clusters = sorted(set(info.allowedClusters or []))
    if not clusters or not all(cluster.strip() for cluster in clusters):
        raise Refusal(412, "Clusters can not be empty")
    if clusters != [call.core.options.cluster]:
        raise Refusal(412, "Clusters do not exist")
    return {"adminRoles": sorted(set(info.adminRoles or [])), "allowedClusters": clusters}


async def delete_tenant(call: Call) -> web.Response:
    name = _tenant(call)
    if any(known.startswith(f"{name}/") for known in call.core.catalog.namespaces):
        raise Refusal(409, "The tenant still has active namespaces")
    await call.bridge.meta(TENANTS + name, None, False)
    return no_content()


async def namespaces(call: Call) -> web.Response:
    prefix = f"{_tenant(call)}/"
    return json_answer(sorted(name for name in call.core.catalog.namespaces if name.startswith(prefix)))


def boundaries(core: Broker, name: str) -> list[str]:
    """The limits of the namespace's ranges of hashes, one more than there are ranges."""
    row = core.catalog.namespaces.get(name, {})
    stored = row.get("bundles")
    if isinstance(stored, dict) and isinstance(stored.get("boundaries"), list) and len(stored["boundaries"]) > 1:
        return [str(bound) for bound in stored["boundaries"]]
    step = (1 << 32) // BUNDLES
    return [f"0x{step * index:08x}" for index in range(BUNDLES)] + ["0xffffffff"]


async def bundles(call: Call) -> web.Response:
    bounds = boundaries(call.core, call.namespace())
    return json_answer({"boundaries": bounds, "numBundles": len(bounds) - 1})


async def namespace(call: Call) -> web.Response:
    """The policies: Pulsar's for a new namespace, with what is stored for this one laid over them."""
    name = call.namespace()
    bounds = boundaries(call.core, name)
    policies: Fields = {
        "auth_policies": {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}},
        "replication_clusters": [call.core.options.cluster],
        "allowed_clusters": [],
        "bundles": {"boundaries": bounds, "numBundles": len(bounds) - 1},
        "backlog_quota_map": {},
        "clusterDispatchRate": {},
        "topicDispatchRate": {},
        "subscriptionDispatchRate": {},
        "replicatorDispatchRate": {},
        "clusterSubscribeRate": {},
        "publishMaxMessageRate": {},
        "latency_stats_sample_rate": {},
        "deleted": False,
        "encryption_required": False,
        "subscription_auth_mode": "None",
        "offload_threshold": -1,
        "offload_threshold_in_seconds": -1,
        "schema_compatibility_strategy": "UNDEFINED",
        "is_allow_auto_update_schema": True,
        "schema_validation_enforced": False,
        "subscription_types_enabled": [],
        "properties": {},
        "migrated": False,
    }
    for key, value in call.core.catalog.namespaces[name].items():
        if key != "bundles":
            policies[key] = value
    return json_answer(policies)


async def create_namespace(call: Call) -> web.Response:
    """A namespace, with the policies of the body."""
    tenant_name, local = call.part("t"), call.part("n")
    if not valid_part(tenant_name) or not valid_part(local):
        raise Refusal(412, "Namespace name is not valid")
    _tenant(call)
    body = await call.body(_POLICIES, None) or {}
    clusters = body.get("replication_clusters")
    here = [call.core.options.cluster]
    if clusters is not None and clusters not in (here, []):
        raise Refusal(403, f"Invalid cluster id: {clusters}")
    name = f"{tenant_name}/{local}"
    if name in call.core.catalog.namespaces:
        raise Refusal(409, "Namespace already exists")
    row: Row = {"replication_clusters": here}
    for key, value in body.items():
        if key in _KEPT:
            row[key] = value
    for line in POLICIES:
        given = body.get(line.name)
        if given and line.by_cluster and isinstance(given, dict):
            row[line.name] = {cluster: line.check(value) for cluster, value in given.items() if cluster in here}
        elif given is not None and not line.by_cluster:
            row[line.name] = line.check(given)
    try:
        await call.bridge.meta(NAMESPACES + name, row, True)
    except VersionConflict:
        raise Refusal(409, "Namespace already exists") from None
    return no_content()


async def delete_namespace(call: Call) -> web.Response:
    name = call.namespace()
    if call.flag("force"):
        raise Refusal(405, "Broker doesn't allow forced deletion of namespaces")
    if call.core.catalog.by_namespace.get(name) or call.core.catalog.live.get(name):
        raise Refusal(409, "Cannot delete non empty namespace")
    await call.bridge.meta(NAMESPACES + name, None, False)
    return no_content()


async def topics(call: Call) -> web.Response:
    """The same as over the wire: full names, of partitioned topics every partition."""
    name = call.namespace()
    mode = call.request.query.get("mode", "PERSISTENT").upper()
    if mode not in ("PERSISTENT", "NON_PERSISTENT", "ALL"):
        raise Refusal(400, f"mode is PERSISTENT, NON_PERSISTENT or ALL, not '{mode}'")
    domain = {"PERSISTENT": PERSISTENT, "NON_PERSISTENT": NON_PERSISTENT}.get(mode, "")
    return json_answer(sorted(call.core.catalog.topic_names(name, domain, call.flag("includeSystemTopic"))))
