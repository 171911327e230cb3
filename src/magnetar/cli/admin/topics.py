"""``magnetar topics``: what pulsar-admin does with topics. Policies are verbs of this group as well.

The commands are spread over modules by what they deal with; importing them puts them into the group.
"""

from __future__ import annotations

import click

from magnetar.cli.admin import topic_lookup, topic_messages, topic_permissions, topic_stats, topic_subscriptions
from magnetar.cli.admin.command import (
    FORCE,
    NAMESPACE,
    TOPIC,
    V2,
    Broker,
    Namespace,
    Topic,
    pairs,
    verbs,
)
from magnetar.cli.admin.output import say
from magnetar.cli.admin.policygroup import PolicyGroup
from magnetar.cli.admin.policytable import TOPIC_POLICIES

__all__ = ["command"]

_DOMAINS = ("persistent", "non-persistent")
_PARTITIONS = click.option(
    "-p", "--partitions", required=True, type=click.IntRange(1), metavar="N", help="How many partitions."
)
_METADATA = click.option("-m", "--metadata", multiple=True, metavar="NAME=VALUE", help="A property of the topic.")


@click.group("topics", cls=PolicyGroup, policies=TOPIC_POLICIES, target=TOPIC)
def command() -> None:
    """Topics: list, create, delete, look into, change; TOPIC is 'orders' or a full name."""


verb = verbs(command)


@verb("list")
@NAMESPACE
@click.option("-td", "--topic-domain", "domain", type=click.Choice(_DOMAINS), help="Only topics of this kind.")
@click.option("-ist", "--include-system-topic", "system", is_flag=True, help="Also those that Pulsar keeps for itself.")
def _list(broker: Broker, namespace: Namespace, domain: str | None, system: bool) -> None:
    """List the topics of NAMESPACE; of partitioned ones every partition."""
    query = {"mode": "ALL", "includeSystemTopic": True if system else None}
    names = broker.get(f"{namespace.path}/topics", query) or []
    wanted = [name for name in sorted(names) if domain is None or name.startswith(f"{domain}://")]
    broker.show_names(wanted, f"topics in {namespace}")


@verb("list-partitioned-topics")
@NAMESPACE
def _list_partitioned(broker: Broker, namespace: Namespace) -> None:
    """List the partitioned topics of NAMESPACE."""
    found = broker.get(f"{V2}/persistent/{namespace}/partitioned") or []
    broker.show_names(sorted(found), f"partitioned topics in {namespace}")


@verb("create")
@TOPIC
@_METADATA
def _create(broker: Broker, topic: Topic, metadata: tuple[str, ...]) -> None:
    """Create TOPIC, without partitions."""
    broker.put(topic.path, pairs(metadata, "-m"))
    say(f"{topic} is created")


@verb("create-partitioned-topic")
@TOPIC
@_PARTITIONS
@_METADATA
def _create_partitioned(broker: Broker, topic: Topic, partitions: int, metadata: tuple[str, ...]) -> None:
    """Create TOPIC with partitions."""
    if metadata:
        body = {"partitions": partitions, "properties": pairs(metadata, "-m")}
        kind = "application/vnd.partitioned-topic-metadata+json"
        broker.request("PUT", f"{topic.path}/partitions", body=body, content_type=kind)
    else:
        broker.put(f"{topic.path}/partitions", partitions)
    say(f"{topic} is created with {partitions} partitions")


@verb("update-partitioned-topic")
@TOPIC
@_PARTITIONS
@click.option("-f", "--force", is_flag=True, help="Skip the check for topics named like the new partitions.")
def _update_partitioned(broker: Broker, topic: Topic, partitions: int, force: bool) -> None:
    """Give TOPIC more partitions; there can never be fewer."""
    broker.post(f"{topic.path}/partitions", partitions, {"force": force or None})
    say(f"{topic} has {partitions} partitions")


@verb("get-partitioned-topic-metadata")
@TOPIC
def _partitions(broker: Broker, topic: Topic) -> None:
    """Say how many partitions TOPIC has; 0: it is not partitioned."""
    broker.show(broker.get(f"{topic.path}/partitions"))


@verb("create-missed-partitions")
@TOPIC
def _missed(broker: Broker, topic: Topic) -> None:
    """Create those partitions of TOPIC that are missing."""
    broker.post(f"{topic.path}/createMissedPartitions")
    say(f"{topic} has all of its partitions")


@verb("delete-partitioned-topic")
@TOPIC
@FORCE
def _delete_partitioned(broker: Broker, topic: Topic, force: bool) -> None:
    """Delete the partitioned TOPIC with everything in it."""
    broker.delete(f"{topic.path}/partitions", {"force": force or None})
    say(f"{topic} is deleted with all of its partitions")


@verb("delete")
@TOPIC
@FORCE
def _delete(broker: Broker, topic: Topic, force: bool) -> None:
    """Delete TOPIC with everything in it."""
    broker.delete(topic.path, {"force": force or None})
    say(f"{topic} is deleted")


@verb("truncate")
@TOPIC
def _truncate(broker: Broker, topic: Topic) -> None:
    """Delete the messages of TOPIC, whether they are acknowledged or not; subscriptions stay."""
    broker.delete(f"{topic.path}/truncate")
    say(f"{topic} is empty")


@verb("unload")
@TOPIC
def _unload(broker: Broker, topic: Topic) -> None:
    """Disconnect everybody from TOPIC; they come back by themselves."""
    broker.put(f"{topic.path}/unload")
    say(f"{topic} is unloaded")


@verb("terminate")
@TOPIC
def _terminate(broker: Broker, topic: Topic) -> None:
    """End TOPIC: nothing more can be published. Prints the id of the last message."""
    broker.show(broker.post(f"{topic.path}/terminate"))


@verb("partitioned-terminate")
@TOPIC
def _terminate_partitions(broker: Broker, topic: Topic) -> None:
    """End every partition of TOPIC. Prints the id of the last message of each."""
    broker.show(broker.post(f"{topic.path}/terminate/partitions"))


@verb("compact")
@TOPIC
def _compact(broker: Broker, topic: Topic) -> None:
    """Start a compaction of TOPIC; 'compaction-status' says how it went."""
    broker.put(f"{topic.path}/compaction")
    say(f"the compaction of {topic} has begun")


@verb("compaction-status")
@TOPIC
def _compaction_status(broker: Broker, topic: Topic) -> None:
    """Say how the last compaction of TOPIC went."""
    broker.show(broker.get(f"{topic.path}/compaction"))


@verb("get-properties")
@TOPIC
def _properties(broker: Broker, topic: Topic) -> None:
    """Print the properties of TOPIC."""
    broker.show(broker.get(f"{topic.path}/properties") or {})


@verb("update-properties")
@TOPIC
@click.option("-p", "--property", "properties", multiple=True, required=True, metavar="NAME=VALUE", help="One of them.")
def _update_properties(broker: Broker, topic: Topic, properties: tuple[str, ...]) -> None:
    """Set some properties of TOPIC; the others stay."""
    broker.put(f"{topic.path}/properties", pairs(properties, "-p"))
    say(f"the properties of {topic} are set")


@verb("remove-properties")
@TOPIC
@click.option("-k", "--key", required=True, metavar="NAME", help="The property.")
def _remove_properties(broker: Broker, topic: Topic, key: str) -> None:
    """Take a property of TOPIC away."""
    broker.delete(f"{topic.path}/properties", {"key": key})
    say(f"{topic} has no property '{key}'")


for _module in (topic_lookup, topic_messages, topic_permissions, topic_stats, topic_subscriptions):
    _module.add(command)
