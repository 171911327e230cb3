"""Who may do what with a topic."""

from __future__ import annotations

import click

from magnetar.cli.admin.command import TOPIC, Broker, Topic, segment, verbs
from magnetar.cli.admin.output import columns, say

__all__ = ["ACTIONS", "ROLE", "add", "listed", "permissions"]

_ACTIONS = ("produce", "consume", "functions", "sources", "sinks", "packages")
ROLE = click.option("--role", required=True, metavar="NAME", help="Who.")
ACTIONS = click.option(
    "--actions", multiple=True, required=True, metavar="ACTION", help=f"{', '.join(_ACTIONS)}; may be a list."
)


def listed(given: tuple[str, ...]) -> list[str]:
    """Words of which each may be several, with commas."""
    return [one for word in given for one in word.split(",") if one]


def permissions(answer: dict[str, list[str]]) -> list[str]:
    """Who may do what, as a table."""
    rows = [(role, ", ".join(sorted(actions))) for role, actions in sorted(answer.items())]
    return columns(("ROLE", "MAY"), rows) if rows else ["nobody was granted anything"]


def add(group: click.Group) -> None:
    """Put the commands into ``magnetar topics``."""
    verb = verbs(group)

    @verb("permissions")
    @TOPIC
    def _permissions(broker: Broker, topic: Topic) -> None:
        """List who may do what with TOPIC."""
        broker.show(broker.get(f"{topic.path}/permissions") or {}, permissions)

    @verb("grant-permission", "grant-permissions")
    @TOPIC
    @ROLE
    @ACTIONS
    def _grant(broker: Broker, topic: Topic, role: str, actions: tuple[str, ...]) -> None:
        """Let a role do something with TOPIC."""
        broker.post(f"{topic.path}/permissions/{segment(role)}", listed(actions))
        say(f"{role} may {', '.join(listed(actions))} on {topic}")

    @verb("revoke-permission", "revoke-permissions")
    @TOPIC
    @ROLE
    def _revoke(broker: Broker, topic: Topic, role: str) -> None:
        """Take everything away that a role may do with TOPIC."""
        broker.delete(f"{topic.path}/permissions/{segment(role)}")
        say(f"{role} may nothing on {topic}")
