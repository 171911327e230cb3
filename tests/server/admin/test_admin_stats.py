"""Statistics have the fields and types of Pulsar's, and say what is so."""

from __future__ import annotations

from itertools import pairwise

from tests.server.admin import shapes
from tests.server.admin.conftest import Served, path
from tests.server.admin.shapes import shape
from tests.support.wireclient import Id, SubType, WireClient


def publish(wire: WireClient, topic: str, count: int, producer_id: int = 1) -> list[Id]:
    wire.producer(topic, producer_id)
    return [wire.publish(b"x" * 10, n, producer_id, key=f"k{n}") for n in range(count)]


def test_a_topic_with_a_shared_subscription(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED, name="one")
    wire.flow(1, 100)
    publish(wire, topic, 10)
    got = wire.messages(10)
    wire.ack(1, [message.id for message in got[:4]], request=True)
    answer = served.get(f"{path(topic)}/stats")
    assert (answer.status, answer.content_type) == (200, "application/json")
    stats = answer.json
    assert shape(stats) == shapes.WITH_BACKLOG
    (publisher,) = stats["publishers"]
    assert shape(publisher) == shapes.PUBLISHER
    sub = stats["subscriptions"]["s"]
    assert shape(sub) == shapes.SHARED
    (consumer,) = sub["consumers"]
    assert shape(consumer) == shapes.CONSUMER
    assert (stats["msgInCounter"], stats["msgOutCounter"]) == (10, 10)
    assert stats["bytesInCounter"] == stats["bytesOutCounter"] == stats["storageSize"] == sub["bytesOutCounter"]
    assert (sub["msgBacklog"], sub["unackedMessages"], sub["type"]) == (6, 6, "Shared")
    assert sub["backlogSize"] == stats["storageSize"] * 6 // 10
    assert (consumer["consumerName"], consumer["availablePermits"], consumer["unackedMessages"]) == ("one", 90, 6)
    assert stats["ownerBroker"] == f"127.0.0.1:{served.http_port}"


def test_key_shared_consumers_show_their_ranges_and_drains(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "k", 1, SubType.KEY_SHARED, name="first")
    wire.flow(1, 100)
    publish(wire, topic, 30)
    wire.messages(30)
    wire.subscribe(topic, "k", 2, SubType.KEY_SHARED, name="second")
    sub = served.get(f"{path(topic)}/stats").json["subscriptions"]["k"]
    assert shape({name: one for name, one in sub.items() if name != "keySharedSelector"}) == shapes.KEY_SHARED
    first, second = sub["consumers"]
    assert shape(first) == shape(second) == shapes.KEY_SHARED_CONSUMER
    assert sub["drainingHashesCount"] == first["drainingHashesCount"] == len(first["drainingHashes"]) > 0
    assert shape(first["drainingHashes"][0]) == shapes.DRAINING
    assert (second["drainingHashesCount"], second["drainingHashes"]) == (0, [])
    assert (sub["keySharedMode"], sub["allowOutOfOrderDelivery"]) == ("AUTO_SPLIT", False)
    ranges = sorted(first["keyHashRangeArrays"] + second["keyHashRangeArrays"])
    assert all(low == high + 1 for (_, high), (low, _) in pairwise(ranges))


def test_a_drain_is_counted_by_entries_as_in_pulsar_and_its_end_by_who_held_it(
    served: Served, wire: WireClient, topic: str
) -> None:
    """As in the recorded drain of a real Pulsar: 12 keys are held, 24 published, and what is blocked is in replay."""
    wire.subscribe(topic, "k", 1, SubType.KEY_SHARED, name="first")
    wire.flow(1, 1000)
    wire.producer(topic)
    for n in range(48):
        wire.publish(b"x" * 20, n * 2, key=f"order-{n % 12}", batch=2)
    held = wire.messages(48, 1)
    wire.subscribe(topic, "k", 2, SubType.KEY_SHARED, name="second")
    wire.flow(2, 1000)
    for n in range(48, 120):
        wire.publish(b"x" * 20, n * 2, key=f"order-{n % 24}", batch=2)
    sub = served.get(f"{path(topic)}/stats").json["subscriptions"]["k"]
    first, second = sub["consumers"]
    slots = sub["drainingHashesCount"]
    assert slots == first["drainingHashesCount"] == len(first["drainingHashes"]) > 0
    assert sub["drainingHashesUnackedMessages"] == first["drainingHashesUnackedMessages"] == 4 * slots
    assert {row["unackMsgs"] for row in first["drainingHashes"]} == {4}, "entries, not messages"
    assert {row["blockedAttempts"] for row in first["drainingHashes"]} == {3}
    assert sub["msgInReplay"] == 3 * slots
    assert sub["unackedMessages"] == first["unackedMessages"] + second["unackedMessages"] == 2 * (120 - 3 * slots)
    assert sub["drainingHashesClearedTotal"] == first["drainingHashesClearedTotal"] == 0
    wire.ack(1, [message.id for message in held], request=True)
    wire.messages(3 * slots + second["msgOutCounter"] // 2, 2)
    sub = served.get(f"{path(topic)}/stats").json["subscriptions"]["k"]
    first, second = sub["consumers"]
    assert (sub["drainingHashesCount"], first["drainingHashes"], sub["msgInReplay"]) == (0, [], 0)
    assert (first["drainingHashesClearedTotal"], second["drainingHashesClearedTotal"]) == (slots, 0)
    assert sub["drainingHashesClearedTotal"] == slots


def test_failover_names_the_active_consumer(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "f", 1, SubType.FAILOVER, name="a")
    wire.subscribe(topic, "f", 2, SubType.FAILOVER, name="b")
    sub = served.get(f"{path(topic)}/stats").json["subscriptions"]["f"]
    said = sub.pop("failover")
    assert shape(sub) == shapes.FAILOVER
    names = ["a", "b"]
    names.remove(sub["activeConsumerName"])
    assert (said["selector"], said["activeConsumerName"]) == ("modulo", sub["activeConsumerName"])
    assert said["nextConsumerName"] == names[0]
    assert said["activeSince"] > 0
    first = said["decisions"][0]
    assert (first["what"], first["consumerName"], first["why"], first["selector"]) == (
        "active",
        "a",
        "joined",
        "modulo",
    )
    assert said["switches"] == len(said["decisions"]) - 1
    assert said["repeatedEntries"] == 0
    report = served.get(f"{path(topic)}/subscription/f/explain").json
    assert report["failover"]["selector"] == "modulo"


def test_what_is_not_wanted_is_left_out(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1)
    publish(wire, topic, 1)
    stats = served.get(f"{path(topic)}/stats?excludePublishers=true&excludeConsumers=true").json
    assert stats["publishers"] == stats["subscriptions"]["s"]["consumers"] == []
    assert shape(stats) == shapes.WITH_BACKLOG


def test_totals_keep_what_went_to_readers_and_consumers_that_are_gone(
    served: Served, wire: WireClient, topic: str
) -> None:
    publish(wire, topic, 3)
    wire.subscribe(topic, "r", 1, durable=False)
    wire.flow(1, 10)
    wire.messages(3)
    wire.close_consumer(1)
    stats = served.get(f"{path(topic)}/stats").json
    assert stats["subscriptions"] == {}
    assert (stats["msgOutCounter"], stats["bytesOutCounter"]) == (3, stats["bytesInCounter"])


def test_internal_stats_name_ledgers_and_cursors(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.flow(1, 100)
    ids = publish(wire, topic, 8)
    wire.messages(8)
    wire.ack(1, [ids[0], ids[3], ids[4], ids[6]], request=True)
    stats = served.get(f"{path(topic)}/internalStats").json
    assert shape(stats) == shapes.INTERNAL
    (ledger,) = stats["ledgers"]
    cursor = stats["cursors"]["s"]
    assert shape(ledger) == shape(stats["compactedLedger"]) == shapes.LEDGER
    assert shape(cursor) == shapes.CURSOR
    number = ledger["ledgerId"]
    assert stats["lastConfirmedEntry"] == f"{number}:7"
    assert cursor["markDeletePosition"] == f"{number}:0"
    assert cursor["readPosition"] == f"{number}:8"
    assert cursor["individuallyDeletedMessages"] == f"[({number}:2..{number}:4],({number}:5..{number}:6]]"
    assert cursor["messagesConsumedCounter"] == 4


def test_partitions_are_added_up(served: Served, wire: WireClient, topic: str) -> None:
    assert served.put(f"{path(topic)}/partitions", 3).status == 204
    for index in range(2):  # nobody has used the last partition yet
        partition = f"{topic}-partition-{index}"
        wire.subscribe(partition, "s", 1 + index, SubType.SHARED, name="c")
        wire.flow(1 + index, 10)
        publish(wire, partition, 2, 1 + index)
        wire.messages(2, 1 + index)
    stats = served.get(f"{path(topic)}/partitioned-stats").json
    assert shape(stats) == shapes.PARTITIONED
    assert shape(stats["publishers"][0]) == shapes.PARTITIONED_PUBLISHER
    sub = stats["subscriptions"]["s"]
    assert shape(sub) == shapes.SHARED
    assert shape(sub["consumers"][0]) == shapes.PARTITIONED_CONSUMER
    assert (stats["msgInCounter"], sub["msgBacklog"], sub["consumers"][0]["availablePermits"]) == (4, 4, 16)
    assert stats["metadata"] == {"partitions": 3, "deleted": False}
    assert list(stats["partitions"]) == [f"{topic}-partition-{index}" for index in range(3)]
    each = [shape(partition) for partition in stats["partitions"].values()]
    assert each == [shapes.WITH_BACKLOG, shapes.WITH_BACKLOG, shapes.TOPIC]
    assert served.get(f"{path(topic)}/partitioned-stats?perPartition=false").json["partitions"] == {}
    inside = served.get(f"{path(topic)}/partitioned-internalStats").json
    assert all(shape(each) == shapes.INTERNAL for each in inside["partitions"].values())


def test_rates_are_those_of_the_last_window(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.flow(1, 100)
    publish(wire, topic, 20)
    wire.ack(1, [message.id for message in wire.messages(20)], request=True)
    served.run(served.admin.sampler.walk(10.0))
    stats = served.get(f"{path(topic)}/stats").json
    sub = stats["subscriptions"]["s"]
    figures = (stats["msgRateIn"], stats["msgRateOut"], sub["msgRateOut"], sub["messageAckRate"])
    assert figures == (2.0, 2.0, 2.0, 2.0)
    assert stats["averageMsgSize"] == stats["bytesInCounter"] / 20
    assert stats["msgThroughputOut"] == sub["msgThroughputOut"] == stats["msgThroughputIn"]
    served.run(served.admin.sampler.walk(10.0))
    assert served.get(f"{path(topic)}/stats").json["msgRateIn"] == 0.0


def test_backlog_and_last_message_id(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1)
    last = publish(wire, topic, 3)[-1]
    answer = served.get(f"{path(topic)}/lastMessageId").json
    assert shape(answer) == shapes.MESSAGE_ID
    assert (answer["ledgerId"], answer["entryId"], answer["partitionIndex"]) == (last.ledger, last.entry, -1)
    backlog = served.get(f"{path(topic)}/backlog").json
    assert shape(backlog) == shapes.BACKLOG
    assert (backlog["totalMessages"], backlog["messageBacklog"]) == (3, 3)
    assert served.get(f"{path(topic)}/subscriptions").json == ["s"]
