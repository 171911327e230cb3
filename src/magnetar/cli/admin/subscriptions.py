"""``magnetar subscriptions``: what ``magnetar topics`` does with subscriptions, by shorter names."""

from __future__ import annotations

from typing import Any

import click

from magnetar.cli.admin.command import SUBSCRIPTION, TOPIC, Broker, Topic, verbs
from magnetar.cli.admin.output import columns
from magnetar.cli.admin.topic_stats import consumers, subscriptions
from magnetar.cli.admin.topics import command as topics

__all__ = ["command"]

_SAME = {
    "list": "subscriptions",
    "create": "create-subscription",
    "delete": "unsubscribe",
    "skip": "skip",
    "clear-backlog": "clear-backlog",
    "expire-messages": "expire-messages",
    "reset-cursor": "reset-cursor",
    "peek-messages": "peek-messages",
    "analyze-backlog": "analyze-backlog",
    "get-properties": "get-subscription-properties",
    "update-properties": "update-subscription-properties",
}


@click.group("subscriptions")
def command() -> None:
    """Subscriptions: the same as under 'topics', by shorter names, and what their consumers hold."""


verb = verbs(command)
for _name, _there in _SAME.items():
    command.add_command(topics.commands[_there], _name)


@verb("stats")
@TOPIC
@click.option("-s", "--subscription", "sub", metavar="NAME", help="Only this one.")
def _stats(broker: Broker, topic: Topic, sub: str | None) -> None:
    """Show backlogs, rates and consumers of the subscriptions of TOPIC."""
    found = broker.get(f"{topic.path}/stats").get("subscriptions", {})
    if sub is not None:
        if sub not in found:
            raise click.BadParameter(f"{topic} has no subscription '{sub}'", param_hint="-s")
        found = {sub: found[sub]}
    broker.show(found, lambda subs: [*subscriptions(subs), *consumers(subs)])


@verb("pending-acks")
@TOPIC
@SUBSCRIPTION
@click.option("-n", "--limit", default=100, show_default=True, type=click.IntRange(1), help="How many at most.")
def _pending(broker: Broker, topic: Topic, sub: str, limit: int) -> None:
    """List what consumers hold unacknowledged (Magnetar only)."""
    found = broker.get(f"{topic.sub(sub)}/pendingAcks", {"limit": limit})
    broker.show(found, _pending_lines)


def _pending_lines(answer: dict[str, Any]) -> list[str]:
    header = ("MESSAGE", "CONSUMER", "KEY", "AGE S", "DELIVERIES")
    rows = [
        (one["messageId"], one["consumerName"], one.get("key"), one.get("ageMillis", 0) / 1000, one["deliveryCount"])
        for one in answer["pendingAcks"]
    ]
    more = ["there are more: give a larger --limit"] if "next" in answer else []
    return [*columns(header, rows), *more] if rows else ["nothing is held"]
