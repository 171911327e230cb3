"""Tenants and namespaces."""

from __future__ import annotations

from typing import Literal

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.bundles import BUNDLES_MAX, boundaries, even
from magnetar.admin.call import Call
from magnetar.admin.handlers.clusters import known
from magnetar.admin.handlers.policies import forget_policies
from magnetar.admin.handlers.properties import check_size
from magnetar.core.catalog import NAMESPACES, TENANTS, Row
from magnetar.core.names import NON_PERSISTENT, PERSISTENT, valid_part
from magnetar.core.policies.table import POLICIES
from magnetar.ports.metadata import VersionConflict

__all__ = [
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


class AuthPolicies(msgspec.Struct, omit_defaults=True):
    """Permissions in the body of a namespace."""

    namespace_auth: dict[str, list[str]] = {}
    destination_auth: dict[str, dict[str, list[str]]] = {}
    subscription_auth_roles: dict[str, list[str]] = {}


class Kept(msgspec.Struct, omit_defaults=True):
    """What a namespace may be created with and has kept for it without acting here."""

    auth_policies: AuthPolicies | None = None
    encryption_required: bool | None = None
    properties: dict[str, str] | None = None
    subscription_auth_mode: Literal["None", "Prefix"] | None = None


class TenantInfo(msgspec.Struct):
    """The body of a tenant. Names in it are Pulsar's."""

    adminRoles: list[str] | None = None  # noqa: N815
    allowedClusters: list[str] | None = None  # noqa: N815


class WantedBundles(msgspec.Struct):
    """How a namespace is to be cut: into so many ranges, or at these limits."""

    boundaries: list[str] | None = None
    numBundles: int = 0  # noqa: N815


_TENANT: msgspec.json.Decoder[TenantInfo | None] = msgspec.json.Decoder(TenantInfo | None)
_POLICIES: msgspec.json.Decoder[dict[str, object] | None] = msgspec.json.Decoder(dict[str, object] | None)


async def tenants(call: Call) -> web.Response:
    return json_answer(sorted(call.core.catalog.tenants))


async def tenant(call: Call) -> web.Response:
    row = call.core.catalog.tenants[_tenant(call)]
    return json_answer({"adminRoles": row.get("adminRoles", []), "allowedClusters": row.get("allowedClusters", [])})


def _tenant(call: Call, reason: str = "Tenant does not exist") -> str:
    name = call.part("t")
    if name not in call.core.catalog.tenants:
        raise Refusal(404, reason)
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
    name = _tenant(call, f"Tenant {call.part('t')} not found")
    await call.bridge.meta(TENANTS + name, await _tenant_row(call), False)
    return no_content()


async def _tenant_row(call: Call) -> Row:
    """The tenant of the body, checked, as it stands in the catalogue."""
    info = await call.body(_TENANT, None)
    if info is None:
        raise Refusal(412, "TenantInfo is null")
    clusters = sorted(set(info.allowedClusters or []))
    if not clusters or not all(cluster.strip() for cluster in clusters):
        raise Refusal(412, "Clusters cannot be empty or blank")
    if not set(clusters) <= set(known(call)):
        raise Refusal(412, "Clusters do not exist")
    return {"adminRoles": sorted(set(info.adminRoles or [])), "allowedClusters": clusters}


async def delete_tenant(call: Call) -> web.Response:
    name = _tenant(call, "Tenant doesn't exist")
    if any(known.startswith(f"{name}/") for known in call.core.catalog.namespaces):
        raise Refusal(409, "The tenant still has active namespaces")
    await call.bridge.meta(TENANTS + name, None, False)
    return no_content()


async def namespaces(call: Call) -> web.Response:
    prefix = f"{_tenant(call, 'Tenant not found')}/"
    return json_answer(sorted(name for name in call.core.catalog.namespaces if name.startswith(prefix)))


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
        if key == "auth_policies":
            policies[key] = {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}, **value}
        elif key != "bundles":
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
        among = f"the list of allowed clusters list for tenant [{tenant_name}]"
        raise Refusal(403, f"Cluster {_listed(clusters)} is not in {among}")
    name = f"{tenant_name}/{local}"
    if name in call.core.catalog.namespaces:
        raise Refusal(409, "Namespace already exists")
    row: Row = {"replication_clusters": here}
    bounds = _bounds(body.get("bundles"))
    if bounds:
        row["bundles"] = {"boundaries": bounds, "numBundles": len(bounds) - 1}
    try:
        kept = msgspec.convert(body, Kept)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"the body is not what was expected: {error}") from None
    check_size(kept.properties or {})
    row |= msgspec.to_builtins(kept)
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


def _listed(clusters: object) -> str:
    """As Pulsar writes lists into its reasons."""
    return f"[{', '.join(map(str, clusters))}]" if isinstance(clusters, list) else str(clusters)


def _bounds(wanted: object) -> list[str]:
    """The limits of ranges that the body wants; empty where it leaves that to the broker."""
    if wanted is None:
        return []
    try:
        found = msgspec.convert(wanted, WantedBundles)
        given = [int(bound, 16) for bound in found.boundaries or []]
    except (msgspec.ValidationError, ValueError) as error:
        raise Refusal(400, f"bundles are not what was expected: {error}") from None
    if given:
        if given != sorted(set(given)) or given[0] != 0 or given[-1] != 0xFFFFFFFF or len(given) > BUNDLES_MAX + 1:
            raise Refusal(412, "boundaries of bundles have to rise from 0x00000000 to 0xffffffff")
        return [f"0x{bound:08x}" for bound in given]
    if found.numBundles > BUNDLES_MAX:
        raise Refusal(
            412, f"Invalid number of bundles. Number of bundles has to be in the range of (0, {BUNDLES_MAX}]."
        )
    return even(found.numBundles) if found.numBundles > 0 else []


async def delete_namespace(call: Call) -> web.Response:
    name = call.namespace(f"Namespace {call.part('t')}/{call.part('n')} does not exist.")
    if call.flag("force"):
        raise Refusal(405, "Broker doesn't allow forced deletion of namespaces")
    if call.core.catalog.by_namespace.get(name) or call.core.catalog.live.get(name):
        raise Refusal(409, "Cannot delete non empty namespace")
    await forget_policies(call, name)
    await call.bridge.meta(NAMESPACES + name, None, False)
    return no_content()


async def topics(call: Call) -> web.Response:
    """The same as over the wire: full names, of partitioned topics every partition."""
    name = call.namespace()
    mode = call.request.query.get("mode", "PERSISTENT").upper()
    if mode not in ("PERSISTENT", "NON_PERSISTENT", "ALL"):
        raise Refusal(404, f"mode is PERSISTENT, NON_PERSISTENT or ALL, not '{mode}'")
    domain = {"PERSISTENT": PERSISTENT, "NON_PERSISTENT": NON_PERSISTENT}.get(mode, "")
    return json_answer(sorted(call.core.catalog.topic_names(name, domain, call.flag("includeSystemTopic"))))
