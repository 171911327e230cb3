"""Partitioned topics and what the client discovers about topics."""

from __future__ import annotations

import re
from collections import Counter

import pulsar
import pytest

from tests.interop.helpers import (
    EARLIEST,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    drain,
    numbered,
    payloads,
    read_all,
    receive,
    receive_all,
    send_all,
    together,
)
from tests.support.broker import Broker, eventually


@pytest.fixture
def partitioned(broker: Broker, topic: str) -> str:
    """A topic of four partitions."""
    broker.topic_rest("PUT", topic, "partitions", 4)
    return topic


def test_the_partitions_are_listed(client: pulsar.Client, partitioned: str) -> None:
    assert client.get_topic_partitions(partitioned) == [f"{partitioned}-partition-{index}" for index in range(4)]


def test_a_topic_without_partitions_lists_itself(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic)
    assert client.get_topic_partitions(topic) == [topic]


def test_the_number_of_partitions_over_rest(broker: Broker, partitioned: str) -> None:
    answer = broker.topic_rest("GET", partitioned, "partitions")
    assert isinstance(answer, dict)
    assert answer["partitions"] == 4


def test_a_partitioned_topic_cannot_be_created_twice(broker: Broker, partitioned: str) -> None:
    path = partitioned.replace("://", "/")
    assert broker.rest("PUT", f"{path}/partitions", 4)[0] == 409


def test_round_robin_reaches_every_partition(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s")
    send_all(client.create_producer(partitioned), numbered(40))
    messages = receive_all(consumer, 40, ack=True)
    assert sorted(payloads(messages)) == sorted(numbered(40))
    assert Counter(message.message_id().partition() for message in messages) == dict.fromkeys(range(4), 10)
    assert {message.topic_name() for message in messages} == set(client.get_topic_partitions(partitioned))


def test_a_key_stays_in_its_partition(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned)
    for number in range(60):
        producer.send(b"%d" % number, partition_key=f"k{number % 6}")
    partitions: dict[str, set[int]] = {}
    numbers: dict[str, list[int]] = {}
    for message in receive_all(consumer, 60):
        partitions.setdefault(message.partition_key(), set()).add(message.message_id().partition())
        numbers.setdefault(message.partition_key(), []).append(int(message.data()))
    assert all(len(each) == 1 for each in partitions.values())
    assert all(each == sorted(each) for each in numbers.values())


def test_a_single_partition_may_be_used_like_a_topic(client: pulsar.Client, partitioned: str) -> None:
    everything = client.subscribe(partitioned, "s")
    one = f"{partitioned}-partition-2"
    consumer = client.subscribe(one, "single")
    client.create_producer(one).send(b"x")
    assert receive(consumer).data() == b"x"
    message = receive(everything)
    assert (message.data(), message.message_id().partition()) == (b"x", 2)


def test_single_partition_routing_keeps_the_order(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned, message_routing_mode=pulsar.PartitionsRoutingMode.UseSinglePartition)
    send_all(producer, numbered(20))
    assert payloads(receive_all(consumer, 20)) == numbered(20)


def test_an_own_router_chooses_the_partition(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(
        partitioned,
        message_routing_mode=pulsar.PartitionsRoutingMode.CustomPartition,
        message_router=lambda message, count: int(message.data()) % count,
    )
    for number in range(12):
        producer.send(b"%d" % number)
    for message in receive_all(consumer, 12):
        assert message.message_id().partition() == int(message.data()) % 4


def test_shared_consumers_share_all_partitions(client: pulsar.Client, partitioned: str) -> None:
    consumers = [client.subscribe(partitioned, "s", SHARED) for _ in range(2)]
    send_all(client.create_producer(partitioned), numbered(80))
    got = drain(consumers, 80, ack=True)
    assert together(got) == sorted(numbered(80))
    assert all(got)


def test_failover_spreads_partitions_over_consumers(client: pulsar.Client, partitioned: str) -> None:
    consumers = [client.subscribe(partitioned, "s", FAILOVER, consumer_name=name) for name in ("a", "b")]
    send_all(client.create_producer(partitioned), numbered(40))
    got = drain(consumers, 40, ack=True)
    assert together(got) == sorted(numbered(40))
    held = [{message.message_id().partition() for message in messages} for messages in got]
    assert held == [{0, 2}, {1, 3}]


def test_key_shared_over_partitions_gives_a_key_to_one_consumer(client: pulsar.Client, partitioned: str) -> None:
    consumers = [client.subscribe(partitioned, "s", KEY_SHARED, consumer_name=name) for name in "abc"]
    producer = client.create_producer(partitioned)
    for number in range(90):
        producer.send(b"%d" % number, partition_key=f"k{number % 9}")
    owners: dict[str, set[int]] = {}
    for owner, messages in enumerate(drain(consumers, 90, ack=True)):
        for message in messages:
            owners.setdefault(message.partition_key(), set()).add(owner)
    assert all(len(each) == 1 for each in owners.values())


def test_acknowledgements_on_partitions_last(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s", SHARED)
    send_all(client.create_producer(partitioned), numbered(20))
    settled = payloads(receive_all(consumer, 12, ack=True))
    consumer.close()
    rest = payloads(receive_all(client.subscribe(partitioned, "s", SHARED), 8))
    assert sorted(settled + rest) == sorted(numbered(20))


def test_a_reader_reads_all_partitions(client: pulsar.Client, partitioned: str) -> None:
    send_all(client.create_producer(partitioned), numbered(20))
    reader = client.create_reader(partitioned, pulsar.MessageId.earliest)
    assert sorted(payloads(read_all(reader))) == sorted(numbered(20))


def test_seek_by_time_moves_all_partitions(client: pulsar.Client, partitioned: str) -> None:
    client.subscribe(partitioned, "keeper")
    consumer = client.subscribe(partitioned, "s")
    send_all(client.create_producer(partitioned), numbered(20))
    receive_all(consumer, 20, ack=True)
    consumer.seek(1)
    assert sorted(payloads(receive_all(consumer, 20))) == sorted(numbered(20))


def test_unsubscribe_from_all_partitions(client: pulsar.Client, broker: Broker, partitioned: str) -> None:
    client.subscribe(partitioned, "s").unsubscribe()
    for index in range(4):
        stats = broker.topic_rest("GET", f"{partitioned}-partition-{index}", "stats")
        assert isinstance(stats, dict)
        assert stats["subscriptions"] == {}


def test_an_unknown_topic_is_made_by_its_first_user(client: pulsar.Client, broker: Broker, topic: str) -> None:
    path = topic.replace("://", "/")
    assert broker.rest("GET", f"{path}/stats")[0] == 404
    client.subscribe(topic, "s")
    status, stats = broker.rest("GET", f"{path}/stats")
    assert status == 200
    assert isinstance(stats, dict)
    assert set(stats["subscriptions"]) == {"s"}


def test_a_pattern_finds_the_topics_that_are_there(client: pulsar.Client, topic: str) -> None:
    topics = [f"{topic}-{name}" for name in ("one", "two")]
    producers = [client.create_producer(each) for each in topics]
    consumer = client.subscribe(re.compile(f"{topic}-.*"), "s", SHARED, initial_position=EARLIEST)
    for producer in producers:
        producer.send(producer.topic().encode())
    assert {message.topic_name() for message in receive_all(consumer, 2, ack=True)} == set(topics)


def test_statistics_show_who_is_there(client: pulsar.Client, broker: Broker, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, consumer_name="eater")
    producer = client.create_producer(topic, producer_name="cook")
    send_all(producer, numbered(5))
    receive_all(consumer, 2, ack=True)

    def shown() -> bool:
        stats = broker.topic_rest("GET", topic, "stats")
        assert isinstance(stats, dict)
        subscription = stats["subscriptions"]["s"]
        return (
            [each["producerName"] for each in stats["publishers"]] == ["cook"]
            and [each["consumerName"] for each in subscription["consumers"]] == ["eater"]
            and (stats["msgInCounter"], subscription["type"]) == (5, "Shared")
            and (subscription["msgBacklog"], subscription["unackedMessages"]) == (3, 3)
        )

    eventually(shown)
