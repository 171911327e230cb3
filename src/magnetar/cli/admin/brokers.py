"""``magnetar brokers``: what pulsar-admin does with brokers and their settings."""

from __future__ import annotations

import click

from magnetar.cli.admin.command import V2, Broker, segment, verbs
from magnetar.cli.admin.output import columns, say

__all__ = ["command"]

_BROKERS = f"{V2}/brokers"
_CONFIG = click.option("--config", "name", required=True, metavar="NAME", help="The setting.")


@click.group("brokers")
def command() -> None:
    """Brokers: whether they serve, and settings that change while they run."""


verb = verbs(command)


def _settings(answer: dict[str, object]) -> list[str]:
    return columns(("SETTING", "VALUE"), sorted(answer.items())) if answer else []


@verb("list")
@click.argument("cluster", required=False)
def _list(broker: Broker, cluster: str | None) -> None:
    """List the brokers of CLUSTER, of the one that answers unless given."""
    found = broker.get(f"{_BROKERS}/{segment(cluster)}" if cluster else _BROKERS)
    broker.show_names(found, "brokers")


@verb("leader-broker")
def _leader(broker: Broker) -> None:
    """Show the broker that leads."""
    broker.show(broker.get(f"{_BROKERS}/leaderBroker"))


@verb("healthcheck")
def _health(broker: Broker) -> None:
    """Say 'ok' when messages can be stored."""
    broker.show(broker.get(f"{_BROKERS}/health"))


@verb("ready")
def _ready(broker: Broker) -> None:
    """Say 'ok' when clients are served."""
    broker.show(broker.get(f"{_BROKERS}/ready"))


@verb("version")
def _version(broker: Broker) -> None:
    """Print the broker's version."""
    broker.show(broker.request("GET", f"{_BROKERS}/version").data.decode(errors="replace").strip())


@verb("namespaces")
@click.argument("cluster")
@click.option("--url", "name", required=True, metavar="HOST:PORT", help="The broker, as 'list' names it.")
def _namespaces(broker: Broker, cluster: str, name: str) -> None:
    """Show the namespaces that a broker of CLUSTER owns."""
    broker.show(broker.get(f"{_BROKERS}/{segment(cluster)}/{segment(name)}/ownedNamespaces"))


@verb("list-dynamic-config")
def _names(broker: Broker) -> None:
    """List the settings that can be changed while the broker runs."""
    broker.show_names(sorted(broker.get(f"{_BROKERS}/configuration") or []), "such settings")


@verb("get-all-dynamic-config")
def _values(broker: Broker) -> None:
    """Show the settings that were changed while the broker ran."""
    found = broker.get(f"{_BROKERS}/configuration/values") or {}
    if not found and not broker.as_json:
        say("none was changed")
    broker.show(found, _settings)


@verb("get-runtime-config")
def _runtime(broker: Broker) -> None:
    """Show all settings as they are in force."""
    broker.show(broker.get(f"{_BROKERS}/configuration/runtime"), _settings)


@verb("get-internal-config")
def _internal(broker: Broker) -> None:
    """Show where the broker keeps its metadata."""
    broker.show(broker.get(f"{_BROKERS}/internal-configuration"))


@verb("update-dynamic-config")
@_CONFIG
@click.option("--value", required=True, metavar="TEXT", help="Its value.")
def _update(broker: Broker, name: str, value: str) -> None:
    """Change a setting; it is in force at once and at every start."""
    broker.post(f"{_BROKERS}/configuration/{segment(name)}/{segment(value)}")
    say(f"{name} is {value}")


@verb("delete-dynamic-config")
@_CONFIG
def _delete(broker: Broker, name: str) -> None:
    """Take back a change of a setting."""
    broker.delete(f"{_BROKERS}/configuration/{segment(name)}")
    say(f"{name} is as the broker was started with")


@verb("backlog-quota-check")
def _quota(broker: Broker) -> None:
    """Look at the backlog quotas now."""
    broker.get(f"{_BROKERS}/backlog-quota-check")
    say("the quotas were looked at")
