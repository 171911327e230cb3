"""What is in a namespace: its topics, and their backlogs and subscriptions all at once."""

from __future__ import annotations

import click

from magnetar.cli.admin.command import NAMESPACE, Broker, Namespace, segment, verbs
from magnetar.cli.admin.output import say

__all__ = ["add"]

_BUNDLE = click.option("-b", "--bundle", metavar="RANGE", help="Only topics of this range of hashes.")


def add(group: click.Group) -> None:
    """Put the commands into ``magnetar namespaces``."""
    verb = verbs(group)

    @verb("topics")
    @NAMESPACE
    @click.option("-m", "--mode", type=click.Choice(["PERSISTENT", "NON_PERSISTENT", "ALL"], False), help="Which kind.")
    @click.option("-ist", "--include-system-topic", "system", is_flag=True, help="Also those that Pulsar keeps.")
    def _topics(broker: Broker, namespace: Namespace, mode: str | None, system: bool) -> None:
        """List the topics of NAMESPACE; of partitioned ones every partition."""
        found = broker.get(f"{namespace.path}/topics", {"mode": mode, "includeSystemTopic": system or None}) or []
        broker.show_names(sorted(found), f"topics in {namespace}")

    @verb("clear-backlog")
    @NAMESPACE
    @click.option("-s", "--sub", metavar="NAME", help="Only of this subscription.")
    @_BUNDLE
    @click.option("-f", "-force", "--force", is_flag=True, help="Do it.")
    def _clear(broker: Broker, namespace: Namespace, sub: str | None, bundle: str | None, force: bool) -> None:
        """Acknowledge the backlogs of all topics of NAMESPACE."""
        if not force:
            raise click.UsageError(f"this gives up every backlog in {namespace}: say --force if that is meant")
        path = f"{namespace.path}/{bundle}" if bundle else namespace.path
        broker.post(f"{path}/clearBacklog" + (f"/{segment(sub)}" if sub else ""))
        say(f"the backlogs of {namespace} are cleared")

    @verb("unsubscribe")
    @NAMESPACE
    @click.option("-s", "--sub", required=True, metavar="NAME", help="The subscription.")
    @_BUNDLE
    def _unsubscribe(broker: Broker, namespace: Namespace, sub: str, bundle: str | None) -> None:
        """Delete a subscription from all topics of NAMESPACE."""
        path = f"{namespace.path}/{bundle}" if bundle else namespace.path
        broker.post(f"{path}/unsubscribe/{segment(sub)}")
        say(f"{sub} is deleted from {namespace}")
