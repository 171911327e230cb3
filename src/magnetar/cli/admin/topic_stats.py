"""Statistics of topics: a screen for people, the whole answer for programs."""

from __future__ import annotations

from typing import Any

import click

from magnetar.cli.admin.command import TOPIC, Broker, Topic, verbs
from magnetar.cli.admin.output import columns, outline

__all__ = ["add", "consumers", "subscriptions", "topic_screen"]

Stats = dict[str, Any]

_FLAGS = (
    click.option("-gpb", "--get-precise-backlog", "precise", is_flag=True, help="Count the backlog exactly."),
    click.option("-sbs", "--get-subscription-backlog-size", "sizes", is_flag=True, help="Add backlogs in bytes."),
    click.option("-etb", "--get-earliest-time-in-backlog", "earliest", is_flag=True, help="Add the age of backlogs."),
)


def subscriptions(found: dict[str, Stats]) -> list[str]:
    """Subscriptions as a table."""
    header = ("SUBSCRIPTION", "TYPE", "BACKLOG", "UNACKED", "REPLAY", "MSG/S", "BYTES/S", "CONSUMERS", "BLOCKED")
    rows = [
        (
            name,
            sub.get("type", ""),
            sub.get("msgBacklog", 0),
            sub.get("unackedMessages", 0),
            sub.get("msgInReplay", 0),
            sub.get("msgRateOut", 0.0),
            sub.get("msgThroughputOut", 0.0),
            len(sub.get("consumers", [])),
            bool(sub.get("blockedSubscriptionOnUnackedMsgs")),
        )
        for name, sub in sorted(found.items())
    ]
    return columns(header, rows) if rows else ["no subscriptions"]


def consumers(found: dict[str, Stats]) -> list[str]:
    """The consumers of all subscriptions as a table, nothing where there are none."""
    header = ("CONSUMER", "SUBSCRIPTION", "UNACKED", "PERMITS", "MSG/S", "BYTES/S", "BLOCKED", "ADDRESS")
    rows = [
        (
            one.get("consumerName", ""),
            name,
            one.get("unackedMessages", 0),
            one.get("availablePermits", 0),
            one.get("msgRateOut", 0.0),
            one.get("msgThroughputOut", 0.0),
            bool(one.get("blockedConsumerOnUnackedMsgs")),
            one.get("address", ""),
        )
        for name, sub in sorted(found.items())
        for one in sub.get("consumers", [])
    ]
    return ["", *columns(header, rows)] if rows else []


def _publishers(found: list[Stats]) -> list[str]:
    rows = [
        (one.get("producerName", ""), one["msgRateIn"], one["msgThroughputIn"], one.get("address", "")) for one in found
    ]
    return ["", *columns(("PRODUCER", "MSG/S", "BYTES/S", "ADDRESS"), rows)] if rows else []


def topic_screen(stats: Stats) -> list[str]:
    """One screen: the topic's figures, its subscriptions, consumers and producers."""
    figures = [
        ("in", f"{stats['msgRateIn']:.1f} msg/s, {stats['msgThroughputIn']:.0f} bytes/s"),
        ("out", f"{stats['msgRateOut']:.1f} msg/s, {stats['msgThroughputOut']:.0f} bytes/s"),
        ("in since start", f"{stats.get('msgInCounter', 0)} messages, {stats.get('bytesInCounter', 0)} bytes"),
        ("out since start", f"{stats.get('msgOutCounter', 0)} messages, {stats.get('bytesOutCounter', 0)} bytes"),
        ("stored", f"{stats.get('storageSize', 0)} bytes, of these {stats.get('backlogSize', 0)} in backlogs"),
    ]
    if "partitions" in stats.get("metadata", {}):
        figures.insert(0, ("partitions", str(stats["metadata"]["partitions"])))
    subs = stats.get("subscriptions", {})
    found = [f"{name:<16}{text}" for name, text in figures]
    return [*found, "", *subscriptions(subs), *consumers(subs), *_publishers(stats.get("publishers", []))]


def _partitioned_screen(stats: Stats) -> list[str]:
    found = topic_screen(stats)
    rows = [
        (name, one["msgRateIn"], one["msgRateOut"], one.get("storageSize", 0), one.get("backlogSize", 0))
        for name, one in sorted(stats.get("partitions", {}).items())
    ]
    header = ("PARTITION", "IN MSG/S", "OUT MSG/S", "STORED", "BACKLOG BYTES")
    return [*found, "", *columns(header, rows)] if rows else found


def add(group: click.Group) -> None:
    """Put the commands into ``magnetar topics``."""
    verb = verbs(group)

    @verb("stats")
    @TOPIC
    @_FLAGS[0]
    @_FLAGS[1]
    @_FLAGS[2]
    def _stats(broker: Broker, topic: Topic, precise: bool, sizes: bool, earliest: bool) -> None:
        """Show rates, backlogs, subscriptions, consumers and producers of TOPIC."""
        query = {"getPreciseBacklog": precise, "subscriptionBacklogSize": sizes, "getEarliestTimeInBacklog": earliest}
        broker.show(broker.get(f"{topic.path}/stats", query), topic_screen)

    @verb("partitioned-stats")
    @TOPIC
    @click.option("--per-partition", "each", is_flag=True, help="Show each partition as well.")
    def _partitioned(broker: Broker, topic: Topic, each: bool) -> None:
        """Show the same for the partitioned TOPIC, summed up."""
        broker.show(broker.get(f"{topic.path}/partitioned-stats", {"perPartition": each}), _partitioned_screen)

    @verb("stats-internal", "internal-stats")
    @TOPIC
    @click.option("-m", "--metadata", is_flag=True, help="Add what is known of each ledger.")
    def _internal(broker: Broker, topic: Topic, metadata: bool) -> None:
        """Show the ledgers of TOPIC and where its cursors stand."""
        broker.show(broker.get(f"{topic.path}/internalStats", {"metadata": metadata or None}))

    @verb("partitioned-stats-internal")
    @TOPIC
    def _partitioned_internal(broker: Broker, topic: Topic) -> None:
        """Show the same for every partition of TOPIC."""
        broker.show(broker.get(f"{topic.path}/partitioned-internalStats"))

    @verb("info-internal")
    @TOPIC
    def _info(broker: Broker, topic: Topic) -> None:
        """Show how the ledgers of TOPIC stand in the metadata."""
        broker.show(broker.get(f"{topic.path}/internal-info"))

    @verb("get-backlog-size")
    @TOPIC
    @click.option("-m", "--messageId", "at", default="0:0", show_default=True, metavar="LEDGER:ENTRY", help="Since it.")
    def _backlog_size(broker: Broker, topic: Topic, at: str) -> None:
        """Print the bytes that lie in TOPIC from a message on."""
        from magnetar.cli.admin.messageids import parse_id

        found = broker.put(f"{topic.path}/backlogSize", parse_id(at, "-m"))
        broker.show(found, outline)
