"""Acknowledgement and redelivery through the client: what is settled stays away, what is not comes again."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.helpers import (
    EARLIEST,
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    assert_silent,
    batching_producer,
    drain,
    numbered,
    payloads,
    receive,
    receive_all,
    send_all,
    send_batch,
)
from tests.support.broker import eventually

ALL_TYPES = pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED], ids=lambda each: str(each.name))
MANY_CONSUMER_TYPES = pytest.mark.parametrize("kind", [SHARED, KEY_SHARED], ids=lambda each: str(each.name))
ONE_CONSUMER_TYPES = pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER], ids=lambda each: str(each.name))


@ALL_TYPES
def test_individual_acknowledgements_leave_the_gaps(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    send_all(client.create_producer(topic), numbered(10))
    for message in receive_all(consumer, 10)[::2]:
        consumer.acknowledge(message)
    consumer.close()
    again = client.subscribe(topic, "s", kind)
    assert payloads(receive_all(again, 5, ack=True)) == numbered(10)[1::2]
    assert_silent(again)


@ONE_CONSUMER_TYPES
def test_a_cumulative_acknowledgement_settles_all_before_it(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    send_all(client.create_producer(topic), numbered(10))
    consumer.acknowledge_cumulative(receive_all(consumer, 10)[6])
    consumer.close()
    assert payloads(receive_all(client.subscribe(topic, "s", kind), 3)) == numbered(3, 7)


@MANY_CONSUMER_TYPES
def test_a_cumulative_acknowledgement_is_not_for_many_consumers(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    client.create_producer(topic).send(b"x")
    with pytest.raises(pulsar.CumulativeAcknowledgementNotAllowedError):
        consumer.acknowledge_cumulative(receive(consumer))


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, KEY_SHARED], ids=lambda each: str(each.name))
def test_a_batch_without_index_acknowledgement_comes_again_whole(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    send_batch(batching_producer(client, topic), numbered(10))
    for message in receive_all(consumer, 10)[:9]:
        consumer.acknowledge(message)
    consumer.close()
    again = client.subscribe(topic, "s", kind)
    assert payloads(receive_all(again, 10, ack=True)) == numbered(10)
    again.close()
    assert_silent(client.subscribe(topic, "s", kind))


def test_a_cumulative_acknowledgement_inside_a_batch(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = batching_producer(client, topic)
    send_batch(producer, numbered(10))
    send_batch(producer, numbered(10, 10))
    consumer.acknowledge_cumulative(receive_all(consumer, 20)[14])
    consumer.close()
    assert payloads(receive_all(client.subscribe(topic, "s"), 10)) == numbered(10, 10)


@ALL_TYPES
def test_redeliver_all_brings_back_what_is_not_acknowledged(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    send_all(client.create_producer(topic), numbered(10))
    for message in receive_all(consumer, 10)[:5]:
        consumer.acknowledge(message)
    consumer.redeliver_unacknowledged_messages()
    assert payloads(receive_all(consumer, 5)) == numbered(5, 5)


@MANY_CONSUMER_TYPES
def test_a_negative_acknowledgement_counts_the_redelivery(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind, negative_ack_redelivery_delay_ms=50)
    send_all(client.create_producer(topic), numbered(2))
    for message in receive_all(consumer, 2):
        if message.data() == b"m-0":
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)
    counts = []
    for _ in range(3):
        message = receive(consumer)
        assert message.data() == b"m-0"
        counts.append(message.redelivery_count())
        consumer.negative_acknowledge(message)
    assert counts == [1, 2, 3]
    consumer.acknowledge(receive(consumer))
    assert_silent(consumer)


@ONE_CONSUMER_TYPES
def test_a_negative_acknowledgement_rewinds_a_single_consumer(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind, negative_ack_redelivery_delay_ms=50)
    send_all(client.create_producer(topic), numbered(3))
    held = receive_all(consumer, 3)
    consumer.negative_acknowledge(held[1])
    eventually(lambda: receive(consumer).data() == b"m-1")


def test_a_negative_acknowledgement_may_go_to_another_consumer(client: pulsar.Client, topic: str) -> None:
    refuser = client.subscribe(topic, "s", SHARED, negative_ack_redelivery_delay_ms=50, receiver_queue_size=1)
    client.create_producer(topic).send(b"x")
    refused = receive(refuser)
    helper = client.subscribe(topic, "s", SHARED)
    refuser.negative_acknowledge(refused)
    by_refuser, by_helper = drain([refuser, helper], 1, ack=True)
    assert [message.redelivery_count() for message in by_refuser + by_helper] == [1]


def test_an_acknowledgement_time_out_redelivers(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, unacked_messages_timeout_ms=10_000)
    send_all(client.create_producer(topic), numbered(3))
    for message in receive_all(consumer, 3)[:2]:
        consumer.acknowledge(message)
    again = consumer.receive(30_000)
    assert (again.data(), again.redelivery_count()) == (b"m-2", 1)


def test_redelivery_counts_end_with_the_acknowledgement(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, negative_ack_redelivery_delay_ms=50)
    producer = client.create_producer(topic)
    producer.send(b"a")
    consumer.negative_acknowledge(receive(consumer))
    consumer.acknowledge(receive(consumer))
    producer.send(b"b")
    assert receive(consumer).redelivery_count() == 0


def test_an_acknowledged_id_of_a_closed_consumer_can_be_given_by_its_successor(
    client: pulsar.Client, topic: str
) -> None:
    first = client.subscribe(topic, "s", SHARED)
    client.create_producer(topic).send(b"x")
    kept = receive(first).message_id().serialize()
    first.close()
    second = client.subscribe(topic, "s", SHARED)
    receive(second)
    second.acknowledge(pulsar.MessageId.deserialize(kept))
    second.close()
    assert_silent(client.subscribe(topic, "s", SHARED))


def test_one_subscription_does_not_settle_for_another(client: pulsar.Client, topic: str) -> None:
    one = client.subscribe(topic, "one")
    other = client.subscribe(topic, "other")
    send_all(client.create_producer(topic), numbered(3))
    receive_all(one, 3, ack=True)
    assert payloads(receive_all(other, 3)) == numbered(3)


def test_acknowledged_messages_stay_for_slower_subscriptions(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "slow").close()
    fast = client.subscribe(topic, "fast")
    send_all(client.create_producer(topic), numbered(100))
    receive_all(fast, 100, ack=True)
    slow = client.subscribe(topic, "slow", initial_position=EARLIEST)
    assert payloads(receive_all(slow, 100)) == numbered(100)
