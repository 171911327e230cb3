"""Delayed delivery through the official client."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pulsar
import pytest

from tests.interop.helpers import EARLIEST, EXCLUSIVE, KEY_SHARED, SHARED, receive, receive_all
from tests.support.broker import StartedBroker

AFTER = timedelta(seconds=2)
SETTINGS = {"delayedDeliveryTickTimeMillis": 100}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def stats_of(broker: StartedBroker, topic: str) -> dict[str, Any]:
    found = broker.topic_rest("GET", topic, "stats")
    assert isinstance(found, dict)
    stats: dict[str, Any] = found["subscriptions"]["s"]
    return stats


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_deliver_after_and_deliver_at(own_client: pulsar.Client, topic: str, kind: pulsar.ConsumerType) -> None:
    consumer = own_client.subscribe(topic, "s", kind, initial_position=EARLIEST)
    producer = own_client.create_producer(topic, batching_enabled=False)
    at = now_ms() + 1_000
    producer.send(b"after", deliver_after=AFTER)
    after = now_ms() + 2_000
    producer.send(b"at", deliver_at=at)
    producer.send(b"now")
    came = []
    for message in receive_all(consumer, 1):
        came.append((message.data(), now_ms()))
    for _ in range(2):
        came.append((receive(consumer).data(), now_ms()))
    assert [data for data, _ in came] == [b"now", b"at", b"after"]
    assert came[1][1] >= at, "too early"
    assert came[2][1] >= after - 50, "the client reckons from the moment at which it sends"


def test_a_consumer_alone_does_not_wait(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", EXCLUSIVE)
    own_client.create_producer(topic).send(b"x", deliver_after=timedelta(hours=1))
    assert receive(consumer).data() == b"x"


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_messages_of_one_key_mix_and_survive_a_crash(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = own_client.subscribe(topic, "s", kind, initial_position=EARLIEST)
    producer = own_client.create_producer(topic, batching_enabled=False)
    at = now_ms() + 3_000
    for number in range(20):
        producer.send(b"late-%d" % number, partition_key="k", deliver_at=at)
        producer.send(b"now-%d" % number, partition_key="k")
    for message in receive_all(consumer, 20):
        assert message.data().startswith(b"now-")
        consumer.acknowledge(message)
    stats = stats_of(own_broker, topic)
    assert (stats["msgDelayed"], stats["msgBacklogNoDelayed"]) == (20, stats["msgBacklog"] - 20)
    own_broker.restart(crash=True)
    missing = {b"late-%d" % number for number in range(20)}
    while missing:
        # Acknowledgements that were on their way are lost with the broker, and what they were for comes again.
        data = receive(consumer).data()
        assert data.startswith(b"now-") or now_ms() >= at, "too early"
        missing.discard(data)


def test_a_policy_ends_all_delays(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic)
    consumer = own_client.subscribe(topic, "s", SHARED)
    policy = {"tickTime": 100, "active": True, "maxDeliveryDelayInMillis": 60_000}
    own_broker.topic_rest("POST", topic, "delayedDelivery", policy)
    producer.send(b"later", deliver_after=timedelta(seconds=50))
    own_broker.topic_rest("POST", topic, "delayedDelivery", policy | {"active": False})
    assert receive(consumer).data() == b"later"
