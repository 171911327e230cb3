"""Acknowledgement inside a batch, which a broker must be told to keep."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.helpers import (
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    assert_silent,
    batching_producer,
    numbered,
    payloads,
    receive,
    receive_all,
    send_batch,
)

SETTINGS = {"acknowledgmentAtBatchIndexLevelEnabled": "true"}


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED], ids=lambda each: str(each.name))
def test_single_messages_of_a_batch_stay_acknowledged(
    own_client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = own_client.subscribe(topic, "s", kind, batch_index_ack_enabled=True)
    send_batch(batching_producer(own_client, topic), numbered(10))
    for message in receive_all(consumer, 10):
        if message.data() not in (b"m-3", b"m-8"):
            consumer.acknowledge(message)
    consumer.close()
    again = own_client.subscribe(topic, "s", kind, batch_index_ack_enabled=True)
    assert payloads(receive_all(again, 2, ack=True)) == [b"m-3", b"m-8"]
    assert_silent(again)


def test_a_cumulative_acknowledgement_ends_inside_a_batch(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", batch_index_ack_enabled=True)
    send_batch(batching_producer(own_client, topic), numbered(10))
    consumer.acknowledge_cumulative(receive_all(consumer, 10)[5])
    consumer.close()
    again = own_client.subscribe(topic, "s", batch_index_ack_enabled=True)
    assert payloads(receive_all(again, 4)) == numbered(4, 6)


def test_a_refused_message_of_a_batch_comes_alone(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(
        topic, "s", SHARED, batch_index_ack_enabled=True, negative_ack_redelivery_delay_ms=100
    )
    send_batch(batching_producer(own_client, topic), numbered(5))
    held = receive_all(consumer, 5)
    for message in held[:4]:
        consumer.acknowledge(message)
    consumer.negative_acknowledge(held[4])
    again = receive(consumer)
    assert (again.data(), again.redelivery_count()) == (b"m-4", 1)
    consumer.acknowledge(again)
    assert_silent(consumer)


def test_permits_of_half_acknowledged_batches_come_back(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED, batch_index_ack_enabled=True, receiver_queue_size=10)
    producer = batching_producer(own_client, topic)
    for batch in range(30):
        send_batch(producer, numbered(10, 10 * batch))
    seen: set[bytes] = set()
    while len(seen) < 300:
        message = receive(consumer)
        seen.add(message.data())
        consumer.acknowledge(message)
        if len(seen) % 45 == 0:
            consumer.redeliver_unacknowledged_messages()
    assert seen == set(numbered(300))
