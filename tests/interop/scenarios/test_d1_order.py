"""Known failures of Key_Shared, by number: the order of a key where clients do something about it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pulsar
import pytest

from tests.interop.helpers import EARLIEST, KEY_SHARED, assert_silent, drain, payloads, receive, receive_all
from tests.interop.scenarios.sight import configured, keys_of
from tests.support.broker import Broker, StartedBroker
from tests.support.keyworld import KeyWorld
from tests.support.wireclient import WireClient
from tests.support.wirecodec import SubType

SETTINGS = {"subscriptionKeySharedUseClassicPersistentImplementation": "true"}
GUIDE = Path(__file__).parents[3] / "docs/guides/key-shared.md"
SEEDS = range(20)


def test_d1_17_a_refused_message_comes_again_to_the_same_consumer(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    first, second = (
        client.subscribe(
            topic, "s", KEY_SHARED, consumer_name=name, negative_ack_redelivery_delay_ms=100, initial_position=EARLIEST
        )
        for name in ("first", "second")
    )
    (key,) = keys_of(broker, topic, "first")
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(6):
        producer.send(b"%d" % number, partition_key=key)
    for message in receive_all(first, 6):
        if message.data() == b"3":
            first.negative_acknowledge(message)
        else:
            first.acknowledge(message)
    again = receive(first)
    assert (again.data(), again.redelivery_count()) == (b"3", 1)
    first.acknowledge(again)
    assert_silent(second)


@pytest.mark.parametrize("ordered", [True, False])
def test_d1_17_with_nack_order_nothing_overtakes_what_was_refused(
    broker: Broker, wire: WireClient, topic: str, ordered: bool
) -> None:
    with configured(broker, keySharedNackOrder=ordered):
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED)
        wire.producer(topic)
        for number in range(6):
            wire.publish(b"%d" % number, number, key="k")
        wire.flow(1, 4)
        ids = {each.body: each.id for each in wire.messages(4)}
        wire.redeliver(1, [ids[b"1"], ids[b"2"]])
        wire.flow(1, 100)
        if not ordered:
            assert [each.body for each in wire.messages(4)] == [b"1", b"2", b"4", b"5"]
            return
        for number in (b"1", b"2"):
            assert wire.message().body == number
            assert list(wire.delivered()) == []
            wire.ack(1, [ids[number]], request=True)
        assert [each.body for each in wire.messages(2)] == [b"4", b"5"]


@pytest.mark.parametrize("seed", range(3))
def test_d1_17_nack_order_holds_while_workers_come_and_go(broker: Broker, topic: str, seed: int) -> None:
    with configured(broker, keySharedNackOrder=True):
        world = KeyWorld(broker, topic, 1700 + seed, permits=10, nack="ordered")
        world.churn(120)
        world.finish()
    assert world.violations == []


def test_d1_18_more_partitions_part_a_key_which_the_guide_says(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    """Each partition keeps the order of what it has; between two there is none, whatever a broker does."""
    broker.topic_rest("PUT", topic, "partitions", 2)
    keys = [f"k{number}" for number in range(20)]

    def publish(first: int) -> dict[str, str]:
        producer = client.create_producer(topic, batching_enabled=False)
        places = {}
        for number in range(first, first + 5):
            for key in keys:
                places[key] = str(producer.send(b"%d" % number, partition_key=key).partition())
        producer.close()
        return places

    before = publish(0)
    broker.topic_rest("POST", topic, "partitions", 5)
    after = publish(5)
    parted = {key for key in keys if before[key] != after[key]}
    assert parted
    consumers = [client.subscribe(topic, "s", KEY_SHARED, initial_position=EARLIEST) for _ in range(3)]
    met: dict[tuple[str, str], list[int]] = defaultdict(list)
    for mine in drain(consumers, 200, ack=True):
        for message in mine:
            met[message.partition_key(), message.topic_name()].append(int(message.data()))
    assert all(numbers == sorted(numbers) for numbers in met.values())
    assert {key for key, _ in met if sum(one == key for one, _ in met) > 1} == parted
    assert "**Order when the number of partitions changes.**" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize("queue", [1, 2, 3])
def test_d1_19_small_receiver_queues_keep_the_order(client: pulsar.Client, topic: str, queue: int) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    consumers = [
        client.subscribe(topic, "s", KEY_SHARED, receiver_queue_size=queue, initial_position=EARLIEST) for _ in range(4)
    ]
    for number in range(400):
        producer.send_async(b"%d" % number, None, partition_key=f"k{number % 23}")
    producer.flush()
    met: dict[str, list[int]] = defaultdict(list)
    for mine in drain(consumers, 400, ack=True):
        for message in mine:
            met[message.partition_key()].append(int(message.data()))
    assert met == {f"k{key}": list(range(key, 400, 23)) for key in range(23)}


def test_d1_23_the_classic_dispatcher_breaks_the_order(own_broker: StartedBroker, topic: str) -> None:
    """Which is why it is a way back and no more; the world that finds nothing with the default finds it here."""
    for seed in SEEDS:
        world = KeyWorld(own_broker, f"{topic}-{seed}", seed, keys=8, permits=5)
        world.publish(50)
        world.churn(60)
        world.finish()
        if world.violations:
            return
    raise AssertionError(f"no violation in {len(SEEDS)} seeds")


@pytest.mark.parametrize("kind", ["default", "by key"])
def test_d1_27_a_batch_goes_by_its_first_key_unless_it_is_made_by_key(
    broker: Broker, client: pulsar.Client, topic: str, kind: str
) -> None:
    by_key = kind == "by key"
    consumers = [client.subscribe(topic, "s", KEY_SHARED, consumer_name=name) for name in ("first", "second")]
    mine, theirs = (keys_of(broker, topic, name, 2) for name in ("first", "second"))
    producer = client.create_producer(
        topic,
        batching_enabled=True,
        batching_max_publish_delay_ms=60_000,
        batching_type=pulsar.BatchingType.KeyBased if by_key else pulsar.BatchingType.Default,
    )
    for key in (mine[0], theirs[0], mine[1], theirs[1]):
        producer.send_async(key.encode(), None, partition_key=key)
    producer.flush()
    got = [sorted(payloads(each)) for each in drain(consumers, 4, ack=True)]
    if by_key:
        assert got == [sorted(key.encode() for key in keys) for keys in (mine, theirs)]
    else:
        assert got == [sorted(key.encode() for key in mine + theirs), []]
    assert "producers that batch\nshould batch by key" in GUIDE.read_text(encoding="utf-8")
