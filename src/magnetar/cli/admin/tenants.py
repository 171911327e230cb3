"""``magnetar tenants``: what pulsar-admin does with tenants."""

from __future__ import annotations

import click

from magnetar.cli.admin.command import V2, Broker, segment, verbs
from magnetar.cli.admin.output import say
from magnetar.cli.admin.topic_permissions import listed

__all__ = ["command"]

_ROLES = click.option("-r", "--admin-roles", "roles", multiple=True, metavar="NAME", help="Who administers it.")
_CLUSTERS = click.option("-c", "--allowed-clusters", "clusters", multiple=True, metavar="NAME", help="Where it may be.")
_TENANT = click.argument("tenant")


@click.group("tenants")
def command() -> None:
    """Tenants: list, create, change, delete."""


verb = verbs(command)


def _path(tenant: str) -> str:
    return f"{V2}/tenants/{segment(tenant)}"


@verb("list")
def _list(broker: Broker) -> None:
    """List the tenants."""
    broker.show_names(sorted(broker.get(f"{V2}/tenants") or []), "tenants")


@verb("get")
@_TENANT
def _get(broker: Broker, tenant: str) -> None:
    """Show who administers TENANT, and where it may be."""
    broker.show(broker.get(_path(tenant)))


@verb("create")
@_TENANT
@_ROLES
@_CLUSTERS
def _create(broker: Broker, tenant: str, roles: tuple[str, ...], clusters: tuple[str, ...]) -> None:
    """Create TENANT, in all clusters unless some are named."""
    where = listed(clusters) or broker.get(f"{V2}/clusters")
    broker.put(_path(tenant), {"adminRoles": listed(roles), "allowedClusters": where})
    say(f"{tenant} is created")


@verb("update")
@_TENANT
@_ROLES
@_CLUSTERS
def _update(broker: Broker, tenant: str, roles: tuple[str, ...], clusters: tuple[str, ...]) -> None:
    """Change TENANT; what is not given stays."""
    before = broker.get(_path(tenant))
    where = listed(clusters) or before.get("allowedClusters", [])
    broker.post(_path(tenant), {"adminRoles": listed(roles) or before.get("adminRoles", []), "allowedClusters": where})
    say(f"{tenant} is changed")


@verb("delete")
@_TENANT
@click.option("-f", "--force", is_flag=True, help="With its namespaces, where the broker allows that.")
def _delete(broker: Broker, tenant: str, force: bool) -> None:
    """Delete TENANT."""
    broker.delete(_path(tenant), {"force": force or None})
    say(f"{tenant} is deleted")
