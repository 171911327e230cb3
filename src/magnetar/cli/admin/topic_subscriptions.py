"""The subscriptions of a topic: which there are, new ones, and moving their cursors."""

from __future__ import annotations

import click

from magnetar.cli.admin.command import FORCE, SUBSCRIPTION, TOPIC, Broker, Topic, pairs, verbs
from magnetar.cli.admin.messageids import position
from magnetar.cli.admin.output import say
from magnetar.cli.admin.units import MILLISECONDS, SECONDS

__all__ = ["add"]

_EXPIRE_TIME = click.option(
    "-t", "--expireTime", "seconds", type=SECONDS, metavar="TIME", help="What is older than this: 90s, 10m, 3h, 7d."
)
_EXCLUDE = click.option("-e", "--exclude-reset-position", "excluded", is_flag=True, help="Without that message itself.")
_PROPERTY = click.option("-p", "--property", "properties", multiple=True, metavar="NAME=VALUE", help="A property.")


def add(group: click.Group) -> None:
    """Put the commands into ``magnetar topics``."""
    _add_lives(group)
    _add_moves(group)
    _add_expiry(group)


def _add_lives(group: click.Group) -> None:
    verb = verbs(group)

    @verb("subscriptions")
    @TOPIC
    def _names(broker: Broker, topic: Topic) -> None:
        """List the subscriptions of TOPIC."""
        broker.show_names(sorted(broker.get(f"{topic.path}/subscriptions") or []), f"subscriptions on {topic}")

    @verb("create-subscription")
    @TOPIC
    @SUBSCRIPTION
    @click.option(
        "-m", "--messageId", "at", default="latest", show_default=True, help="latest, earliest, or LEDGER:ENTRY."
    )
    @click.option("-r", "--replicated", is_flag=True, help="Keep it in step with other clusters.")
    @_PROPERTY
    def _create(broker: Broker, topic: Topic, sub: str, at: str, replicated: bool, properties: tuple[str, ...]) -> None:
        """Create a subscription on TOPIC, on all partitions if it has any."""
        broker.put(topic.sub(sub), _place(at, pairs(properties, "-p")), {"replicated": replicated or None})
        say(f"{sub} is created on {topic}")

    @verb("unsubscribe")
    @TOPIC
    @SUBSCRIPTION
    @FORCE
    def _delete(broker: Broker, topic: Topic, sub: str, force: bool) -> None:
        """Delete a subscription of TOPIC."""
        broker.delete(topic.sub(sub), {"force": force or None})
        say(f"{sub} is deleted from {topic}")

    @verb("get-subscription-properties")
    @TOPIC
    @SUBSCRIPTION
    def _properties(broker: Broker, topic: Topic, sub: str) -> None:
        """Print the properties of a subscription."""
        broker.show(broker.get(f"{topic.sub(sub)}/properties") or {})

    @verb("update-subscription-properties")
    @TOPIC
    @SUBSCRIPTION
    @_PROPERTY
    @click.option("-c", "--clear", is_flag=True, help="Take all of them away.")
    def _update(broker: Broker, topic: Topic, sub: str, properties: tuple[str, ...], clear: bool) -> None:
        """Set the properties of a subscription; those that are not named are taken away."""
        if clear == bool(properties):
            raise click.UsageError("give -p, or --clear to take all properties away")
        broker.put(f"{topic.sub(sub)}/properties", pairs(properties, "-p"))
        say(f"the properties of {sub} are set")


def _place(at: str, properties: dict[str, str]) -> object:
    """Where a new cursor is to stand. Properties go along with a position only: Pulsar's ends of a topic."""
    if at not in ("latest", "earliest"):
        return position(at, "-m", False) | ({"properties": properties} if properties else {})
    if not properties:
        return at
    end = (1 << 63) - 1 if at == "latest" else -1
    return position(f"{end}:{end}", "-m", False) | {"properties": properties}


def _add_moves(group: click.Group) -> None:
    verb = verbs(group)

    @verb("skip")
    @TOPIC
    @SUBSCRIPTION
    @click.option("-n", "--count", required=True, type=click.IntRange(0), help="How many.")
    def _skip(broker: Broker, topic: Topic, sub: str, count: int) -> None:
        """Acknowledge the first messages of a backlog."""
        broker.post(f"{topic.sub(sub)}/skip/{count}")
        say(f"{count} messages are skipped on {sub}")

    @verb("clear-backlog", "skip-all")
    @TOPIC
    @SUBSCRIPTION
    def _clear(broker: Broker, topic: Topic, sub: str) -> None:
        """Acknowledge the whole backlog of a subscription."""
        broker.post(f"{topic.sub(sub)}/skip_all")
        say(f"the backlog of {sub} is cleared")

    @verb("reset-cursor")
    @TOPIC
    @SUBSCRIPTION
    @click.option("-t", "--time", "back_ms", type=MILLISECONDS, metavar="TIME", help="So far back: 90s, 10m, 3h, 7d.")
    @click.option("-m", "--messageId", "at", metavar="LEDGER:ENTRY", help="To this message.")
    @_EXCLUDE
    def _reset(broker: Broker, topic: Topic, sub: str, back_ms: int | None, at: str | None, excluded: bool) -> None:
        """Move a subscription to where it was some time ago, or to a message."""
        if (back_ms is None) == (at is None):
            raise click.UsageError("give --time or --messageId")
        if at is not None:
            broker.post(f"{topic.sub(sub)}/resetcursor", position(at, "-m", excluded))
        else:
            import time

            broker.post(f"{topic.sub(sub)}/resetcursor/{int(time.time() * 1000) - (back_ms or 0)}")
        say(f"{sub} is moved")

    @verb("analyze-backlog")
    @TOPIC
    @SUBSCRIPTION
    @click.option("-p", "--position", "at", metavar="LEDGER:ENTRY", help="From this message on.")
    def _analyze(broker: Broker, topic: Topic, sub: str, at: str | None) -> None:
        """Read the backlog of a subscription and count what is in it."""
        body = None if at is None else position(at, "-p", False)
        broker.show(broker.post(f"{topic.sub(sub)}/analyzeBacklog", body))


def _add_expiry(group: click.Group) -> None:
    verb = verbs(group)

    @verb("expire-messages")
    @TOPIC
    @SUBSCRIPTION
    @_EXPIRE_TIME
    @click.option("-p", "--position", "at", metavar="LEDGER:ENTRY", help="Everything up to this message.")
    @_EXCLUDE
    def _expire(broker: Broker, topic: Topic, sub: str, seconds: int | None, at: str | None, excluded: bool) -> None:
        """Acknowledge what is old in the backlog of a subscription."""
        if (seconds is None) == (at is None):
            raise click.UsageError("give --expireTime or --position")
        if at is not None:
            broker.post(f"{topic.sub(sub)}/expireMessages", position(at, "-p", excluded))
        else:
            broker.post(f"{topic.sub(sub)}/expireMessages/{seconds}")
        say(f"what is old is expired on {sub}")

    @verb("expire-messages-all-subscriptions")
    @TOPIC
    @_EXPIRE_TIME
    def _expire_all(broker: Broker, topic: Topic, seconds: int | None) -> None:
        """Acknowledge what is old on every subscription of TOPIC."""
        if seconds is None:
            raise click.UsageError("give --expireTime")
        broker.post(f"{topic.path}/all_subscription/expireMessages/{seconds}")
        say(f"what is old is expired on all subscriptions of {topic}")
