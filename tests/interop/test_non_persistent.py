"""Non-persistent topics through the official client: every subscription type, partitions, restarts of consumers."""

from __future__ import annotations

import secrets

import pulsar
import pytest

from tests.interop.helpers import (
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    assert_silent,
    drain,
    numbered,
    payloads,
    receive,
    receive_all,
    send_all,
    send_batch,
    together,
)
from tests.support.broker import Broker


@pytest.fixture
def passing() -> str:
    """A non-persistent topic that nobody else uses."""
    return f"non-persistent://public/default/np-{secrets.token_hex(4)}"


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_who_is_there_gets_what_is_published_and_nothing_else(
    client: pulsar.Client, passing: str, kind: pulsar.ConsumerType
) -> None:
    producer = client.create_producer(passing)
    producer.send(b"before")
    consumer = client.subscribe(passing, "s", kind)
    ids = send_all(producer, numbered(20))
    assert {(one.ledger_id(), one.entry_id()) for one in ids} == {(0, 0)}
    messages = receive_all(consumer, 20, ack=True)
    assert payloads(messages) == numbered(20)
    assert {(m.message_id().ledger_id(), m.message_id().entry_id()) for m in messages} == {(0, 0)}
    consumer.close()
    producer.send(b"between")
    again = client.subscribe(passing, "s", kind)
    producer.send(b"after")
    assert receive(again).data() == b"after"
    assert_silent(again)


def test_shared_consumers_share_and_subscriptions_do_not(client: pulsar.Client, passing: str) -> None:
    shared = [client.subscribe(passing, "s", SHARED) for _ in range(3)]
    alone = client.subscribe(passing, "other")
    producer = client.create_producer(passing)
    send_all(producer, numbered(30))
    got = drain(shared, 30)
    assert together(got) == sorted(numbered(30))
    assert [len(mine) for mine in got] == [10, 10, 10]
    assert payloads(receive_all(alone, 30)) == numbered(30)


def test_a_key_stays_with_its_consumer(client: pulsar.Client, passing: str) -> None:
    consumers = [client.subscribe(passing, "s", KEY_SHARED) for _ in range(3)]
    producer = client.create_producer(passing, batching_enabled=False)
    for number in range(300):
        producer.send(b"%d" % number, partition_key=f"key-{number % 30}")
    got = drain(consumers, 300)
    owners: dict[str, set[int]] = {}
    for at, mine in enumerate(got):
        for message in mine:
            owners.setdefault(message.partition_key(), set()).add(at)
        numbers = [int(message.data()) for message in mine]
        assert numbers == sorted(numbers)
    assert len(owners) == 30
    assert all(len(who) == 1 for who in owners.values())


def test_when_the_active_consumer_goes_another_takes_over(client: pulsar.Client, passing: str) -> None:
    first = client.subscribe(passing, "s", FAILOVER, consumer_name="a")
    second = client.subscribe(passing, "s", FAILOVER, consumer_name="b")
    producer = client.create_producer(passing)
    producer.send(b"1")
    active, waiting = _active(first, second)
    active.close()
    producer.send(b"2")
    assert receive(waiting).data() == b"2"


def _active(first: pulsar.Consumer, second: pulsar.Consumer) -> tuple[pulsar.Consumer, pulsar.Consumer]:
    """The consumer that got the message, and the other one."""
    got = drain([first, second], 1)
    return (first, second) if got[0] else (second, first)


def test_an_exclusive_subscription_has_one_consumer(client: pulsar.Client, passing: str) -> None:
    client.subscribe(passing, "s")
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(passing, "s")


def test_batches_and_compression_pass_through(client: pulsar.Client, passing: str) -> None:
    consumer = client.subscribe(passing, "s")
    producer = client.create_producer(
        passing,
        batching_enabled=True,
        batching_max_publish_delay_ms=60_000,
        compression_type=pulsar.CompressionType.LZ4,
    )
    send_batch(producer, numbered(50))
    assert payloads(receive_all(consumer, 50)) == numbered(50)


def test_a_full_receiver_loses_messages_and_the_broker_counts_them(
    client: pulsar.Client, broker: Broker, passing: str
) -> None:
    consumer = client.subscribe(passing, "s", SHARED, receiver_queue_size=1)
    producer = client.create_producer(passing, batching_enabled=False)
    send_all(producer, numbered(10))
    stats = broker.rest("GET", f"{passing.replace('://', '/')}/stats")[1]
    assert isinstance(stats, dict)
    assert (stats["msgInCounter"], stats["msgOutCounter"], stats["subscriptions"]["s"]["msgBacklog"]) == (10, 1, 0)
    assert payloads(receive_all(consumer, 1)) == [b"m-0"]


def test_partitions_spread_messages(client: pulsar.Client, broker: Broker, passing: str) -> None:
    broker.topic_rest("PUT", passing, "partitions", 3)
    consumer = client.subscribe(passing, "s", SHARED)
    producer = client.create_producer(
        passing, message_routing_mode=pulsar.PartitionsRoutingMode.RoundRobinDistribution, batching_enabled=False
    )
    send_all(producer, numbered(9))
    messages = receive_all(consumer, 9)
    assert sorted(payloads(messages)) == numbered(9)
    assert {message.message_id().partition() for message in messages} == {0, 1, 2}


def test_the_persistent_topic_of_the_same_name_is_another(client: pulsar.Client, passing: str) -> None:
    persistent = passing.replace("non-persistent", "persistent")
    kept, lost = client.subscribe(persistent, "s"), client.subscribe(passing, "s")
    client.create_producer(persistent).send(b"kept")
    client.create_producer(passing).send(b"passed on")
    assert receive(kept).data() == b"kept"
    assert receive(lost).data() == b"passed on"


def test_an_unloaded_topic_is_found_again(client: pulsar.Client, broker: Broker, passing: str) -> None:
    consumer = client.subscribe(passing, "s", SHARED)
    producer = client.create_producer(passing)
    producer.send(b"1")
    assert receive(consumer).data() == b"1"
    assert broker.rest("PUT", f"{passing.replace('://', '/')}/unload")[0] == 204
    # Both come back by themselves, in any order; what is published before the consumer is there is nobody's.
    got: list[bytes] = []
    for _ in range(100):
        producer.send(b"2")
        try:
            got.append(consumer.receive(200).data())
            break
        except pulsar.Timeout:
            continue
    assert got == [b"2"]


def test_a_reader_sees_what_comes_while_it_reads(client: pulsar.Client, passing: str) -> None:
    reader = client.create_reader(passing, pulsar.MessageId.earliest)
    client.create_producer(passing).send(b"x")
    assert reader.read_next(10_000).data() == b"x"
