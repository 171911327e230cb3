"""Compaction and what reads it, through the official client."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.helpers import EARLIEST, EXCLUSIVE, read_all, receive_all
from tests.support.broker import StartedBroker, eventually

KINDS = pulsar.CompressionType


def compact(broker: StartedBroker, topic: str) -> None:
    broker.topic_rest("PUT", topic, "compaction")
    eventually(lambda: status(broker, topic) != "RUNNING", what="the end of the compaction")
    assert status(broker, topic) == "SUCCESS"


def status(broker: StartedBroker, topic: str) -> str:
    found = broker.topic_rest("GET", topic, "compaction")
    assert isinstance(found, dict)
    assert set(found) == {"status", "lastError"}
    return str(found["status"])


def publish(producer: pulsar.Producer, *messages: str) -> None:
    for message in messages:
        key, _, value = message.partition("=")
        producer.send(value.encode(), partition_key=key)


def said(messages: list[pulsar.Message]) -> list[str]:
    return [f"{message.partition_key()}={message.data().decode()}" for message in messages]


def compacted(client: pulsar.Client, topic: str) -> list[str]:
    reader = client.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)
    found = said(read_all(reader))
    reader.close()
    return found


def test_a_reader_of_the_compacted_topic(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    publish(producer, "a=1", "b=1", "a=2", "c=1", "b=")
    assert status(own_broker, topic) == "NOT_RUN"
    compact(own_broker, topic)
    assert compacted(own_client, topic) == ["a=2", "c=1"]
    plain = own_client.create_reader(topic, pulsar.MessageId.earliest)
    assert len(read_all(plain)) == 5
    publish(producer, "a=3", "c=")
    assert compacted(own_client, topic) == ["a=2", "c=1", "a=3", "c="]
    own_broker.restart(crash=True)
    assert status(own_broker, topic) == "NOT_RUN"
    assert compacted(own_client, topic) == ["a=2", "c=1", "a=3", "c="]
    compact(own_broker, topic)
    assert compacted(own_client, topic) == ["a=3"]


@pytest.mark.parametrize("kind", [KINDS.NONE, KINDS.LZ4, KINDS.ZLib, KINDS.SNAPPY])
def test_batches(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str, kind: pulsar.CompressionType
) -> None:
    producer = own_client.create_producer(
        topic, batching_enabled=True, batching_max_publish_delay_ms=60_000, compression_type=kind
    )
    text = "some text that is long enough, and repeats, and repeats, and repeats itself " * 20
    for round_ in range(3):
        for key in "abcd":
            value = "" if (key, round_) == ("d", 2) else f"{text}{key}{round_}"
            producer.send_async(value.encode(), lambda result, _: None, partition_key=key)
        producer.flush()
    compact(own_broker, topic)
    found = compacted(own_client, topic)
    assert [message.rpartition(" ")[2] for message in found] == ["a2", "b2", "c2"]


def test_nothing_is_left_and_the_reader_knows(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    publish(producer, "a=1", "a=")
    compact(own_broker, topic)
    assert compacted(own_client, topic) == []


def test_a_table_view(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    publish(producer, *(f"k{number % 10}={number}" for number in range(100)), "k0=")
    compact(own_broker, topic)
    publish(producer, "k1=new", "k10=new")
    view = own_client.create_table_view(topic)
    wanted = {f"k{number}": str(90 + number).encode() for number in range(2, 10)} | {"k1": b"new", "k10": b"new"}
    found: dict[str, bytes] = {}
    view.for_each(lambda key, value: found.update({key: bytes(value)}))
    assert found == wanted
    publish(producer, "k2=")
    eventually(lambda: view.get("k2") is None, what="the deletion")
    view.close()


def test_a_durable_consumer(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    publish(producer, "a=1", "b=1", "a=2", "c=1")
    compact(own_broker, topic)

    def consumer() -> pulsar.Consumer:
        return own_client.subscribe(topic, "s", EXCLUSIVE, initial_position=EARLIEST, is_read_compacted=True)

    first = consumer()
    messages = receive_all(first, 3)
    assert said(messages) == ["b=1", "a=2", "c=1"]
    first.acknowledge_cumulative(messages[1])
    first.close()
    second = consumer()
    assert said(receive_all(second, 1)) == ["c=1"]


def test_statistics(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    publish(producer, "a=1", "b=1", "a=2")
    compact(own_broker, topic)
    stats = own_broker.topic_rest("GET", topic, "stats")
    assert isinstance(stats, dict)
    assert stats["compaction"]["lastCompactionRemovedEventCount"] == 1
    assert stats["compaction"]["lastCompactionSucceedTimestamp"] > 0
    assert stats["subscriptions"]["__compaction"]["msgBacklog"] == 0
    internal = own_broker.topic_rest("GET", topic, "internalStats")
    assert isinstance(internal, dict)
    view = internal["compactedLedger"]
    assert (view["entries"], view["size"] > 0) == (2, True)
    assert internal["cursors"]["__compaction"]["properties"] == {"CompactedTopicLedger": view["ledgerId"]}


def test_a_crash_right_after_it_began(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=True, block_if_queue_full=True)
    for number in range(2_000):
        producer.send_async(b"%d" % number, lambda result, _: None, partition_key=f"k{number % 100}")
    producer.flush()
    wanted = {f"k{number % 100}": str(number) for number in range(1_900, 2_000)}
    for _ in range(3):
        own_broker.topic_rest("PUT", topic, "compaction")
        own_broker.restart(crash=True)
        found = dict(message.split("=") for message in compacted(own_client, topic))
        assert found == wanted
    compact(own_broker, topic)
    assert len(compacted(own_client, topic)) == 100


def test_a_threshold_of_the_topic(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    publish(producer, "a=1", "a=2", "a=3")
    own_broker.topic_rest("POST", topic, "compactionThreshold", 10)
    eventually(lambda: status(own_broker, topic) == "SUCCESS", what="the compaction")
    assert compacted(own_client, topic) == ["a=3"]


SETTINGS = {"brokerServiceCompactionMonitorIntervalInSeconds": 1}
