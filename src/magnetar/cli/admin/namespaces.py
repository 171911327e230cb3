"""``magnetar namespaces``: what pulsar-admin does with namespaces. Policies are verbs of this group as well."""

from __future__ import annotations

import itertools
from typing import Any

import click

from magnetar.cli.admin import namespace_contents
from magnetar.cli.admin.command import NAMESPACE, V2, Broker, Namespace, segment, verbs
from magnetar.cli.admin.output import columns, say
from magnetar.cli.admin.policygroup import PolicyGroup
from magnetar.cli.admin.policytable import NAMESPACE_POLICIES
from magnetar.cli.admin.topic_permissions import ACTIONS, ROLE, listed, permissions

__all__ = ["command"]


@click.group("namespaces", cls=PolicyGroup, policies=NAMESPACE_POLICIES, target=NAMESPACE)
def command() -> None:
    """Namespaces: list, create, delete, and their policies; NAMESPACE is tenant/namespace."""


verb = verbs(command)
namespace_contents.add(command)


@verb("list")
@click.argument("tenant")
def _list(broker: Broker, tenant: str) -> None:
    """List the namespaces of TENANT."""
    found = broker.get(f"{V2}/namespaces/{segment(tenant)}") or []
    broker.show_names(sorted(found), f"namespaces of {tenant}")


@verb("create")
@NAMESPACE
@click.option("-c", "--clusters", multiple=True, metavar="NAME", help="Clusters that it is replicated to.")
@click.option("-b", "--bundles", type=click.IntRange(1), metavar="N", help="How many ranges of hashes it has.")
def _create(broker: Broker, namespace: Namespace, clusters: tuple[str, ...], bundles: int | None) -> None:
    """Create NAMESPACE."""
    body: dict[str, Any] = {}
    if clusters:
        body["replication_clusters"] = listed(clusters)
    if bundles is not None:
        body["bundles"] = {"numBundles": bundles}
    broker.put(namespace.path, body or None)
    say(f"{namespace} is created")


@verb("delete")
@NAMESPACE
@click.option("-f", "--force", is_flag=True, help="Also when there are topics in it; they are deleted.")
def _delete(broker: Broker, namespace: Namespace, force: bool) -> None:
    """Delete NAMESPACE."""
    broker.delete(namespace.path, {"force": force or None})
    say(f"{namespace} is deleted")


@verb("policies")
@NAMESPACE
def _policies(broker: Broker, namespace: Namespace) -> None:
    """Show all policies of NAMESPACE."""
    broker.show(broker.get(namespace.path))


@verb("bundles")
@NAMESPACE
def _bundles(broker: Broker, namespace: Namespace) -> None:
    """Show the ranges of hashes of NAMESPACE."""
    found = broker.get(f"{namespace.path}/bundles")

    def lines(answer: dict[str, Any]) -> list[str]:
        bounds = answer["boundaries"]
        return [f"{low}_{high}" for low, high in itertools.pairwise(bounds)]

    broker.show(found, lines)


@verb("unload")
@NAMESPACE
@click.option("-b", "--bundle", metavar="RANGE", help="Only this range of hashes.")
def _unload(broker: Broker, namespace: Namespace, bundle: str | None) -> None:
    """Disconnect everybody from the topics of NAMESPACE; they come back by themselves."""
    broker.put(f"{namespace.path}/{bundle}/unload" if bundle else f"{namespace.path}/unload")
    say(f"{namespace} is unloaded")


@verb("permissions")
@NAMESPACE
def _permissions(broker: Broker, namespace: Namespace) -> None:
    """List who may do what in NAMESPACE."""
    broker.show(broker.get(f"{namespace.path}/permissions") or {}, permissions)


@verb("grant-permission")
@NAMESPACE
@ROLE
@ACTIONS
def _grant(broker: Broker, namespace: Namespace, role: str, actions: tuple[str, ...]) -> None:
    """Let a role do something in NAMESPACE."""
    broker.post(f"{namespace.path}/permissions/{segment(role)}", listed(actions))
    say(f"{role} may {', '.join(listed(actions))} in {namespace}")


@verb("revoke-permission")
@NAMESPACE
@ROLE
def _revoke(broker: Broker, namespace: Namespace, role: str) -> None:
    """Take everything away that a role may do in NAMESPACE."""
    broker.delete(f"{namespace.path}/permissions/{segment(role)}")
    say(f"{role} may nothing in {namespace}")


@verb("get-clusters")
@NAMESPACE
def _clusters(broker: Broker, namespace: Namespace) -> None:
    """List the clusters that NAMESPACE is replicated to."""
    broker.show_names(broker.get(f"{namespace.path}/replication") or [], f"clusters of {namespace}")


@verb("get-properties")
@NAMESPACE
def _properties(broker: Broker, namespace: Namespace) -> None:
    """Print the properties of NAMESPACE."""
    found = broker.get(f"{namespace.path}/properties") or {}
    broker.show(found, lambda answer: columns(("PROPERTY", "VALUE"), sorted(answer.items())) if answer else [])


@verb("set-property")
@NAMESPACE
@click.option("-k", "--key", required=True, metavar="NAME", help="The property.")
@click.option("-v", "--value", required=True, metavar="TEXT", help="Its value.")
def _set_property(broker: Broker, namespace: Namespace, key: str, value: str) -> None:
    """Set a property of NAMESPACE."""
    broker.put(f"{namespace.path}/property/{segment(key)}/{segment(value)}")
    say(f"{key} is set for {namespace}")


@verb("remove-property")
@NAMESPACE
@click.option("-k", "--key", required=True, metavar="NAME", help="The property.")
def _remove_property(broker: Broker, namespace: Namespace, key: str) -> None:
    """Take a property of NAMESPACE away."""
    broker.delete(f"{namespace.path}/property/{segment(key)}")
    say(f"{namespace} has no property '{key}'")
