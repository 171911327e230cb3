"""What else the official client offers, option by option, as far as a broker has a part in it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pulsar
import pytest

from tests.interop.helpers import (
    EARLIEST,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    assert_silent,
    batching_producer,
    drain,
    numbered,
    payloads,
    read_all,
    receive,
    receive_all,
    send_all,
    send_batch,
    together,
)
from tests.support.broker import Broker, eventually

KIB = 1024
QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)


@pytest.fixture
def partitioned(broker: Broker, topic: str) -> str:
    """A topic with four partitions."""
    broker.topic_rest("PUT", topic, "partitions", 4)
    return topic


def stats(broker: Broker, topic: str) -> dict[str, dict[str, object]]:
    found = broker.topic_rest("GET", topic, "stats")
    assert isinstance(found, dict)
    return found


def test_a_table_view_over_partitions_follows_what_comes(client: pulsar.Client, partitioned: str) -> None:
    producer = client.create_producer(partitioned)
    send_keyed(producer, {f"k{number}": b"old" for number in range(20)})
    view = client.create_table_view(partitioned)
    assert len(view) == 20
    seen: dict[str, bytes] = {}
    view.for_each_and_listen(seen.__setitem__)
    assert seen == {f"k{number}": b"old" for number in range(20)}
    send_keyed(producer, {"k3": b"new", "k99": b"first"})
    eventually(lambda: (seen.get("k3"), seen.get("k99"), len(view)) == (b"new", b"first", 21))
    view.close()


def send_keyed(producer: pulsar.Producer, values: dict[str, bytes]) -> None:
    for key, value in values.items():
        producer.send(value, partition_key=key)


def test_a_table_view_forgets_a_key_whose_value_is_empty(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    send_keyed(producer, {"stays": b"1", "goes": b"2"})
    view = client.create_table_view(topic)
    producer.send(b"", partition_key="goes")
    eventually(lambda: len(view) == 1)
    assert view.get("goes") is None
    view.close()


def test_two_table_views_see_the_same_and_leave_no_subscription(
    client: pulsar.Client, broker: Broker, topic: str
) -> None:
    send_keyed(client.create_producer(topic), {"a": b"1", "b": b"2"})
    views = [client.create_table_view(topic) for _ in range(2)]
    assert [view.get("b") for view in views] == [b"2", b"2"]
    for view in views:
        view.close()
    eventually(lambda: not stats(broker, topic)["subscriptions"])


def test_a_batch_receive_ends_by_time_with_what_there_is(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", batch_receive_policy=pulsar.ConsumerBatchReceivePolicy(100, -1, 300))
    send_all(client.create_producer(topic), numbered(3))
    got: list[bytes] = []
    while len(got) < 3:
        got += payloads(consumer.batch_receive())
    assert got == numbered(3)
    assert len(consumer.batch_receive()) == 0


def test_a_batch_receive_ends_by_size(client: pulsar.Client, topic: str) -> None:
    policy = pulsar.ConsumerBatchReceivePolicy(-1, 3 * KIB, 10_000)
    consumer = client.subscribe(topic, "s", SHARED, batch_receive_policy=policy)
    send_all(client.create_producer(topic), [os.urandom(KIB) for _ in range(6)])
    first, second = consumer.batch_receive(), consumer.batch_receive()
    assert (len(first), len(second)) == (3, 3)
    for message in [*first, *second]:
        consumer.acknowledge(message)
    consumer.close()
    assert_silent(client.subscribe(topic, "s", SHARED))


def test_a_batch_receive_over_partitions_and_topics(client: pulsar.Client, partitioned: str) -> None:
    single = f"{partitioned}-single"
    policy = pulsar.ConsumerBatchReceivePolicy(10, -1, 10_000)
    consumer = client.subscribe([partitioned, single], "s", SHARED, batch_receive_policy=policy)
    send_all(client.create_producer(partitioned), numbered(8))
    send_all(client.create_producer(single), numbered(2, 8))
    assert sorted(payloads(consumer.batch_receive())) == numbered(10)


@pytest.mark.parametrize("kind", [SHARED, FAILOVER, KEY_SHARED], ids=lambda each: str(each.name))
def test_a_batch_is_settled_when_each_of_its_messages_is(
    client: pulsar.Client, broker: Broker, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    send_batch(batching_producer(client, topic), numbered(10))
    messages = receive_all(consumer, 10)
    for message in reversed(messages):
        consumer.acknowledge(message)
    consumer.close()
    eventually(lambda: stats(broker, topic)["subscriptions"]["s"]["msgBacklog"] == 0)
    assert_silent(client.subscribe(topic, "s", kind))


def test_several_refusals_come_back_together_and_only_they(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, negative_ack_redelivery_delay_ms=100)
    send_all(client.create_producer(topic), numbered(20))
    for number, message in enumerate(receive_all(consumer, 20)):
        if number % 2:
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)
    again = receive_all(consumer, 10, ack=True)
    assert sorted(payloads(again)) == sorted(b"m-%d" % number for number in range(1, 20, 2))
    assert {message.redelivery_count() for message in again} == {1}
    assert_silent(consumer)


def test_a_refused_message_of_a_partition_comes_from_there(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s", SHARED, negative_ack_redelivery_delay_ms=50)
    send_all(client.create_producer(partitioned), numbered(8))
    refused = {message.data(): message.message_id().partition() for message in receive_all(consumer, 8)}
    consumer.redeliver_unacknowledged_messages()
    again = receive_all(consumer, 8, ack=True)
    assert {message.data(): message.message_id().partition() for message in again} == refused
    assert len(set(refused.values())) == 4


@pytest.mark.parametrize("acknowledged", [True, False], ids=["acknowledged", "refused"])
def test_large_messages_without_an_end_do_not_hold_up_what_follows(
    client: pulsar.Client, topic: str, acknowledged: bool
) -> None:
    consumer = client.subscribe(
        topic,
        "s",
        SHARED,
        max_pending_chunked_message=1,
        auto_ack_oldest_chunked_message_on_queue_full=acknowledged,
    )
    producers = [
        client.create_producer(topic, chunking_enabled=True, batching_enabled=False, max_pending_messages=1_000)
        for _ in range(2)
    ]
    bodies = [bytes([number]) * 11 * KIB * KIB for number in range(2)]
    sent: list[pulsar.Result] = []
    for producer, body in zip(producers, bodies, strict=True):
        producer.send_async(body, lambda result, _: sent.append(result))
    eventually(lambda: sent == [pulsar.Result.Ok] * 2, 60)
    producers[0].send(b"after")
    got = []
    while b"after" not in got:
        message = receive(consumer)
        got.append(message.data())
        consumer.acknowledge(message)
    assert set(got) <= {*bodies, b"after"}


def test_a_lazy_producer_opens_the_partitions_it_uses(client: pulsar.Client, broker: Broker, partitioned: str) -> None:
    producer = client.create_producer(
        partitioned,
        lazy_start_partitioned_producers=True,
        message_routing_mode=pulsar.PartitionsRoutingMode.UseSinglePartition,
    )
    send_all(producer, numbered(5))
    open_ones = []
    for index in range(4):
        status, found = broker.rest("GET", f"{partitioned.replace('://', '/')}-partition-{index}/stats")
        if status == 200 and isinstance(found, dict) and found["publishers"]:
            open_ones.append(index)
    assert len(open_ones) == 1
    consumer = client.subscribe(partitioned, "s", initial_position=EARLIEST)
    assert payloads(receive_all(consumer, 5)) == numbered(5)


def test_a_producer_over_partitions_keeps_to_its_pending_limit(client: pulsar.Client, partitioned: str) -> None:
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(
        partitioned, max_pending_messages=10, max_pending_messages_across_partitions=20, block_if_queue_full=True
    )
    results: list[pulsar.Result] = []
    for body in numbered(500):
        producer.send_async(body, lambda result, _: results.append(result))
    producer.flush()
    assert results == [pulsar.Result.Ok] * 500
    assert sorted(payloads(receive_all(consumer, 500))) == sorted(numbered(500))


def test_names_and_properties_of_clients_are_in_the_statistics(
    client: pulsar.Client, broker: Broker, topic: str
) -> None:
    client.create_producer(topic, "writer", properties={"team": "red"})
    client.subscribe(topic, "s", consumer_name="eater", properties={"team": "blue"})
    client.create_reader(topic, pulsar.MessageId.earliest, reader_name="peeker", subscription_role_prefix="role")
    found = stats(broker, topic)
    (publisher,) = found["publishers"]
    assert (publisher["producerName"], publisher["metadata"]["team"]) == ("writer", "red")
    (consumer,) = found["subscriptions"]["s"]["consumers"]
    assert (consumer["consumerName"], consumer["metadata"]["team"]) == ("eater", "blue")
    (reader,) = (sub for name, sub in found["subscriptions"].items() if name.startswith("role"))
    assert not reader["isDurable"]
    assert [each["consumerName"] for each in reader["consumers"]] == ["peeker"]


def test_a_queue_over_partitions_is_shared_out(client: pulsar.Client, broker: Broker, partitioned: str) -> None:
    client.subscribe(partitioned, "s", SHARED, max_total_receiver_queue_size_across_partitions=40).close()
    send_all(client.create_producer(partitioned), numbered(100))
    greedy = client.subscribe(partitioned, "s", SHARED, max_total_receiver_queue_size_across_partitions=40)
    other = client.subscribe(partitioned, "s", SHARED)
    mine, theirs = drain([greedy, other], 100, ack=True)
    assert together([mine, theirs]) == sorted(numbered(100))
    assert theirs


@pytest.mark.parametrize("back", [False, True], ids=["to-the-end", "to-the-beginning"])
def test_a_seek_from_inside_a_listener(client: pulsar.Client, topic: str, back: bool) -> None:
    where = pulsar.MessageId.earliest if back else pulsar.MessageId.latest
    send_all(client.create_producer(topic), numbered(5))
    heard: list[bytes] = []
    sought: list[bytes] = []

    def listen(consumer: pulsar.Consumer, message: pulsar.Message) -> None:
        heard.append(message.data())
        consumer.acknowledge(message)

    consumer = client.subscribe(topic, "s", message_listener=listen, initial_position=EARLIEST)
    eventually(lambda: len(heard) == 5)
    consumer.seek(where)
    sought += numbered(5) if back else []
    client.create_producer(topic).send(b"last")
    eventually(lambda: heard[5:] == [*sought, b"last"])


def test_many_seeks_in_a_row_end_at_the_last(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", receiver_queue_size=3)
    ids = send_all(client.create_producer(topic), numbered(30))
    receive_all(consumer, 5, ack=True)
    for place in (ids[20], pulsar.MessageId.earliest, ids[10], ids[25], ids[3]):
        consumer.seek(place)
    assert payloads(receive_all(consumer, 26, ack=True)) == numbered(26, 4)


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_reader_with_any_queue_reads_what_is_there_and_what_comes(
    client: pulsar.Client, topic: str, size: int
) -> None:
    producer = client.create_producer(topic)
    send_all(producer, numbered(20))
    reader = client.create_reader(topic, pulsar.MessageId.earliest, receiver_queue_size=size)
    assert payloads(read_all(reader)) == numbered(20)
    send_all(producer, numbered(20, 20))
    assert payloads(read_all(reader)) == numbered(20, 20)


def test_a_tenant_and_a_namespace_of_ones_own(client: pulsar.Client, broker: Broker, topic: str) -> None:
    name = topic.rpartition("/")[2]
    tenant = f"t-{name[-8:]}"
    assert broker.rest("PUT", f"tenants/{tenant}", {"allowedClusters": ["standalone"]})[0] == 204
    assert broker.rest("PUT", f"namespaces/{tenant}/ns")[0] == 204
    mine = f"persistent://{tenant}/ns/{name}"
    consumer = client.subscribe(mine, "s")
    client.create_producer(mine).send(b"x")
    assert receive(consumer).topic_name() == mine
    broker.topic_rest("PUT", f"persistent://{tenant}/ns/parts", "partitions", 3)
    assert len(client.get_topic_partitions(f"persistent://{tenant}/ns/parts")) == 3
    everything = sorted([mine, *(f"persistent://{tenant}/ns/parts-partition-{index}" for index in range(3))])
    status, listed = broker.rest("GET", f"persistent/{tenant}/ns")
    assert status == 200
    assert isinstance(listed, list)
    assert sorted(listed) == everything
    with broker.wire() as wire:
        assert sorted(wire.topics(f"{tenant}/ns")) == everything


def test_many_clients_with_the_same_ids(broker: Broker, new_client: Callable[[str], pulsar.Client], topic: str) -> None:
    """Every client counts its producers and consumers from 0: the broker tells them apart by connection."""
    leaving = [pulsar.Client(broker.service_url, logger=QUIET) for _ in range(2)]
    clients = [*leaving, *(new_client(broker.service_url) for _ in range(6))]
    consumers = [client.subscribe(topic, "s", SHARED, receiver_queue_size=5) for client in clients]
    producers = [client.create_producer(topic) for client in clients]
    for number, producer in enumerate(producers):
        send_all(producer, numbered(10, 10 * number))
    leaving[0].close()
    leaving[1].shutdown()
    got = drain(consumers[2:], 80, ack=True)
    assert together(got) == sorted(numbered(80))
