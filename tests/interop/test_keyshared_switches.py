"""Settings of Key_Shared that are changed while the broker runs, and what the official client sees of it."""

from __future__ import annotations

from typing import Any

import pulsar

from tests.interop.helpers import KEY_SHARED, assert_silent, drain, payloads, receive, receive_all
from tests.interop.scenarios.sight import configured, consumers, keys_of, sub_stats
from tests.support.broker import Broker

CLASSIC = "subscriptionKeySharedUseClassicPersistentImplementation"
RING = "subscriptionKeySharedUseConsistentHashing"
POINTS = "subscriptionKeySharedConsistentHashingReplicaPoints"


def subscribe(client: pulsar.Client, topic: str, name: str, **options: object) -> pulsar.Consumer:
    return client.subscribe(topic, "s", KEY_SHARED, consumer_name=name, **options)


def works(client: pulsar.Client, topic: str, both: list[pulsar.Consumer], say: bytes) -> None:
    """Messages of twenty keys are met by the two consumers together, each of which gets some."""
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(20):
        producer.send(say, partition_key=f"k{number}")
    got = drain(both, 20, ack=True)
    assert all(got)
    assert {data for each in got for data in payloads(each)} == {say}
    producer.close()


def test_the_classic_dispatcher_comes_and_goes_when_nobody_is_connected(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    def is_classic() -> bool:
        return ["keyHashRanges" in each for each in sub_stats(broker, topic)["consumers"]] == [True, True]

    both = [subscribe(client, topic, name) for name in ("first", "second")]
    with configured(broker, **{CLASSIC: True}):
        works(client, topic, both, b"modern")
        assert not is_classic()
        for consumer in both:
            consumer.close()
        both = [subscribe(client, topic, name) for name in ("first", "second")]
        works(client, topic, both, b"classic")
        assert is_classic()
    works(client, topic, both, b"classic still")
    assert is_classic()
    for consumer in both:
        consumer.close()
    both = [subscribe(client, topic, name) for name in ("first", "second")]
    works(client, topic, both, b"modern again")
    assert not is_classic()


def test_ring_and_split_change_at_once_and_points_when_nobody_is_connected(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    def ranges() -> dict[str, Any]:
        return {name: each["keyHashRangeArrays"] for name, each in consumers(broker, topic).items()}

    both = [subscribe(client, topic, name) for name in ("first", "second")]
    on_the_ring = ranges()
    assert all(len(each) > 20 for each in on_the_ring.values())
    with configured(broker, **{RING: False}):
        works(client, topic, both, b"split")
        assert ranges() == {"first": [[32_769, 65_536]], "second": [[0, 32_768]]}
    works(client, topic, both, b"ring again")
    assert ranges() == on_the_ring
    with configured(broker, **{POINTS: 1}):
        works(client, topic, both, b"as many points as before")
        assert ranges() == on_the_ring
        for consumer in both:
            consumer.close()
        both = [subscribe(client, topic, name) for name in ("first", "second")]
        assert sum(map(len, ranges().values())) == 3
    for consumer in both:
        consumer.close()


def test_nack_order_is_switched_on_and_off(broker: Broker, client: pulsar.Client, topic: str) -> None:
    consumer = subscribe(client, topic, "c", negative_ack_redelivery_delay_ms=100)
    producer = client.create_producer(topic, batching_enabled=False)

    def refuse_two(first: int) -> list[pulsar.Message]:
        """Two of three messages are given back, and a fourth is published once they are on their way again."""
        for number in range(first, first + 3):
            producer.send(b"%d" % number, partition_key="k")
        held = receive_all(consumer, 3)
        consumer.negative_acknowledge(held[0])
        consumer.negative_acknowledge(held[1])
        again = receive(consumer)
        assert again.data() == b"%d" % first
        producer.send(b"%d" % (first + 3), partition_key="k")
        consumer.acknowledge(held[2])
        return [again]

    with configured(broker, keySharedNackOrder=True):
        (again,) = refuse_two(0)
        assert_silent(consumer)
        consumer.acknowledge(again)
        again = receive(consumer)
        assert again.data() == b"1"
        assert_silent(consumer)
        consumer.acknowledge(again)
        last = receive(consumer)
        assert last.data() == b"3"
        consumer.acknowledge(last)
    (again,) = refuse_two(4)
    assert payloads(receive_all(consumer, 2)) == [b"5", b"7"]


def moving_key(broker: Broker, client: pulsar.Client, topic: str) -> tuple[str, pulsar.Consumer]:
    """A key that is ``first``'s, and ``second``'s once that is there; ``first`` is."""
    first = subscribe(client, topic, "first")
    second = subscribe(client, topic, "second")
    (key,) = keys_of(broker, topic, "second")
    second.close()
    return key, first


def test_a_drain_lease_counts_for_a_drain_that_lasts_already(broker: Broker, client: pulsar.Client, topic: str) -> None:
    key, first = moving_key(broker, client, topic)
    producer = client.create_producer(topic, batching_enabled=False)
    producer.send(b"0", partition_key=key)
    assert receive(first).data() == b"0"
    second = subscribe(client, topic, "second")
    for number in range(1, 4):
        producer.send(b"%d" % number, partition_key=key)
    assert_silent(second)
    with configured(broker, keySharedDrainLeaseMs=200):
        assert payloads(receive_all(second, 4)) == [b"0", b"1", b"2", b"3"]


def test_the_interval_of_unblocking_is_changed(broker: Broker, client: pulsar.Client, topic: str) -> None:
    first = subscribe(client, topic, "first")
    second = subscribe(client, topic, "second")
    one, other = keys_of(broker, topic, "second", 2)
    second.close()
    producer = client.create_producer(topic, batching_enabled=False)
    for key in (one, other):
        producer.send(b"held", partition_key=key)
    held = receive_all(first, 2)
    second = subscribe(client, topic, "second")
    for key in (one, other):
        producer.send(key.encode(), partition_key=key)
    with configured(broker, keySharedUnblockingIntervalMs=3_600_000):
        first.acknowledge(held[0])
        assert_silent(second)
        answer = broker.topic_rest("GET", topic, f"subscription/s/explain?key={one}")
        assert isinstance(answer, dict)
        assert "UNBLOCKING" in str(answer["key"])
    with configured(broker, keySharedUnblockingIntervalMs=0):
        first.acknowledge(held[1])
        assert sorted(payloads(receive_all(second, 2))) == sorted([one.encode(), other.encode()])
