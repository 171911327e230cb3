"""Limits on what may be unacknowledged: they stop delivery at the limit and let it go on at half of it."""

from __future__ import annotations

import pulsar

from tests.interop.helpers import (
    EXCLUSIVE,
    KEY_SHARED,
    SHARED,
    assert_silent,
    drain,
    numbered,
    payloads,
    read_all,
    receive_all,
    send_all,
    together,
)
from tests.support.broker import StartedBroker, eventually

SETTINGS = {
    "maxUnackedMessagesPerConsumer": "10",
    "maxUnackedMessagesPerSubscription": "30",
    "maxMessageSize": "100000",
}


def test_a_consumer_gets_no_more_than_its_limit(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED)
    send_all(own_client.create_producer(topic), numbered(30))
    assert payloads(receive_all(consumer, 10)) == numbered(10)
    assert_silent(consumer)


def test_a_blocked_consumer_goes_on_at_half_its_limit(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED)
    send_all(own_client.create_producer(topic), numbered(30))
    held = receive_all(consumer, 10)
    for message in held[:4]:
        consumer.acknowledge(message)
    assert_silent(consumer)
    consumer.acknowledge(held[4])
    assert payloads(receive_all(consumer, 5)) == numbered(5, 10)
    for message in held[5:]:
        consumer.acknowledge(message)
    assert payloads(receive_all(consumer, 15, ack=True)) == numbered(15, 15)


def test_a_blocked_consumer_does_not_block_another(own_client: pulsar.Client, topic: str) -> None:
    holder, worker = (own_client.subscribe(topic, "s", SHARED, receiver_queue_size=20) for _ in range(2))
    send_all(own_client.create_producer(topic), numbered(60))
    done = receive_all(worker, 50, ack=True)
    held = receive_all(holder, 10)
    assert together([done, held]) == sorted(numbered(60))


def fill_to_the_limit(client: pulsar.Client, topic: str) -> tuple[list[pulsar.Consumer], list[list[pulsar.Message]]]:
    """Five consumers with room for ten each, of which the subscription allows some thirty together, of eighty."""
    consumers = [client.subscribe(topic, "s", SHARED) for _ in range(5)]
    send_all(client.create_producer(topic), numbered(80))
    held = drain(consumers, 30)
    for consumer in consumers:
        assert_silent(consumer)
    assert sum(map(len, held)) < 50
    return consumers, held


def test_a_subscription_gets_no_more_than_its_limit(own_client: pulsar.Client, topic: str) -> None:
    consumers, held = fill_to_the_limit(own_client, topic)
    for consumer, messages in zip(consumers, held, strict=True):
        for message in messages:
            consumer.acknowledge(message)
    rest = drain(consumers, 80 - sum(map(len, held)), ack=True)
    assert together([*held, *rest]) == sorted(numbered(80))


def test_a_consumer_that_leaves_releases_the_subscription(own_client: pulsar.Client, topic: str) -> None:
    holders, _ = fill_to_the_limit(own_client, topic)
    worker = own_client.subscribe(topic, "s", SHARED)
    assert_silent(worker)
    for holder in holders:
        holder.close()
    assert sorted(payloads(receive_all(worker, 80, ack=True))) == sorted(numbered(80))


def test_the_limit_holds_for_key_shared(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", KEY_SHARED)
    producer = own_client.create_producer(topic)
    for number in range(30):
        producer.send(b"%d" % number, partition_key=f"k{number % 5}")
    held = receive_all(consumer, 10)
    assert_silent(consumer)
    for message in held:
        consumer.acknowledge(message)
    receive_all(consumer, 20, ack=True)


def test_a_single_consumer_has_no_limit(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", EXCLUSIVE)
    send_all(own_client.create_producer(topic), numbered(50))
    assert payloads(receive_all(consumer, 50)) == numbered(50)


def test_a_reader_has_no_limit(own_client: pulsar.Client, topic: str) -> None:
    send_all(own_client.create_producer(topic), numbered(50))
    assert payloads(read_all(own_client.create_reader(topic, pulsar.MessageId.earliest))) == numbered(50)


def test_the_statistics_say_who_is_blocked(own_client: pulsar.Client, own_broker: StartedBroker, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED)
    send_all(own_client.create_producer(topic), numbered(20))
    held = receive_all(consumer, 10)

    def blocked(expected: bool, unacked: int) -> bool:
        stats = own_broker.topic_rest("GET", topic, "stats")
        assert isinstance(stats, dict)
        shown = stats["subscriptions"]["s"]["consumers"][0]
        return (shown["blockedConsumerOnUnackedMsgs"], shown["unackedMessages"]) == (expected, unacked)

    eventually(lambda: blocked(True, 10))
    for message in [*held, *receive_all_after(consumer, held)]:
        consumer.acknowledge(message)
    eventually(lambda: blocked(False, 0))


def receive_all_after(consumer: pulsar.Consumer, held: list[pulsar.Message]) -> list[pulsar.Message]:
    """Settle what is held and take the ten messages that were waiting behind it."""
    for message in held:
        consumer.acknowledge(message)
    return receive_all(consumer, 10)


def test_the_broker_tells_the_client_its_size_limit(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s")
    producer = own_client.create_producer(topic)
    large = bytes(150_000)
    try:
        producer.send(large)
    except pulsar.MessageTooBig:
        producer.send(b"small")
        assert payloads(receive_all(consumer, 1)) == [b"small"]
    else:
        raise AssertionError("a message above the limit was taken")
    chunking = own_client.create_producer(topic, chunking_enabled=True, batching_enabled=False)
    chunking.send(large)
    assert payloads(receive_all(consumer, 1)) == [large]
