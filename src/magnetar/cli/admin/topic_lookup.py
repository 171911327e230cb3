"""Where a topic is served, and the policies of a topic as a whole."""

from __future__ import annotations

import click

from magnetar.cli.admin.command import TOPIC, Broker, Topic, verbs
from magnetar.cli.admin.output import columns, say

__all__ = ["add"]


def add(group: click.Group) -> None:
    """Put the commands into ``magnetar topics``."""
    verb = verbs(group)

    @verb("lookup")
    @TOPIC
    def _lookup(broker: Broker, topic: Topic) -> None:
        """Print the address of the broker that serves TOPIC."""
        found = broker.get(f"/lookup/v2/topic/{topic.domain}/{topic.rest}")
        broker.show(found, lambda answer: [answer["brokerUrl"]])

    @verb("partitioned-lookup")
    @TOPIC
    def _partitioned_lookup(broker: Broker, topic: Topic) -> None:
        """Print the address of the broker that serves each partition of TOPIC."""
        count = broker.get(f"{topic.path}/partitions")["partitions"]
        found = {}
        for index in range(count):
            name = f"{topic}-partition-{index}"
            found[name] = broker.get(f"/lookup/v2/topic/{topic.domain}/{topic.rest}-partition-{index}")["brokerUrl"]
        broker.show(found, lambda answer: columns(("PARTITION", "BROKER"), answer.items()))

    @verb("bundle-range")
    @TOPIC
    def _bundle(broker: Broker, topic: Topic) -> None:
        """Print the range of hashes that TOPIC falls into."""
        broker.show(broker.get(f"/lookup/v2/topic/{topic.domain}/{topic.rest}/bundle"))

    @verb("remove-all-policies")
    @TOPIC
    def _remove_policies(broker: Broker, topic: Topic) -> None:
        """Take away all policies that were set for TOPIC itself."""
        broker.delete(f"{topic.path}/policies")
        say(f"{topic} has the policies of its namespace")
