"""With deduplication on, what is sent again is received once, also when the broker restarts in between."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import (
    EARLIEST,
    assert_silent,
    batching_producer,
    numbered,
    payloads,
    read_all,
    receive_all,
    send_all,
    send_batch,
)
from tests.support.broker import StartedBroker

SETTINGS = {"brokerDeduplicationEnabled": "true"}


def send_numbered(client: pulsar.Client, topic: str, count: int, name: str = "p") -> list[pulsar.MessageId]:
    """Publish under a fixed name with the number as sequence id; from 1, since the wheel takes 0 for none given."""
    producer = client.create_producer(topic, producer_name=name)
    ids = [producer.send(payload, sequence_id=number) for number, payload in enumerate(numbered(count), 1)]
    producer.close()
    return ids


def test_a_sequence_id_sent_again_is_dropped(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s")
    send_numbered(own_client, topic, 5)
    again = send_numbered(own_client, topic, 8)
    assert payloads(receive_all(consumer, 8)) == numbered(8)
    assert_silent(consumer)
    assert [(each.ledger_id(), each.entry_id()) for each in again[:5]] == [(-1, -1)] * 5


def test_names_are_told_apart(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s")
    send_numbered(own_client, topic, 3, "one")
    send_numbered(own_client, topic, 3, "two")
    assert payloads(receive_all(consumer, 6)) == numbered(3) * 2


def test_a_batch_sent_again_is_dropped(own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s")
    for _ in range(2):
        producer = batching_producer(own_client, topic, producer_name="p", initial_sequence_id=100)
        for number, payload in enumerate(numbered(10)):
            producer.send_async(payload, lambda result, _: None, sequence_id=100 + number)
        producer.flush()
        producer.close()
    assert payloads(receive_all(consumer, 10)) == numbered(10)
    assert_silent(consumer)


def test_a_producer_that_comes_back_learns_its_last_sequence_id(own_client: pulsar.Client, topic: str) -> None:
    send_numbered(own_client, topic, 5)
    producer = own_client.create_producer(topic, producer_name="p")
    assert producer.last_sequence_id() == 5
    producer.send(b"next")
    assert producer.last_sequence_id() == 6


@pytest.mark.parametrize("crash", [False, True], ids=["sigterm", "sigkill"])
def test_a_restart_does_not_forget(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str, crash: bool
) -> None:
    before = new_client(own_broker.service_url)
    before.subscribe(topic, "s").close()
    send_numbered(before, topic, 20)
    own_broker.restart(crash=crash)
    after = new_client(own_broker.service_url)
    assert after.create_producer(topic, producer_name="q").last_sequence_id() == -1
    send_numbered(after, topic, 25)
    consumer = after.subscribe(topic, "s", initial_position=EARLIEST)
    assert payloads(receive_all(consumer, 25)) == numbered(25)
    assert_silent(consumer)


def test_messages_sent_again_over_a_crash_are_there_once(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str
) -> None:
    client = new_client(own_broker.service_url)
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, producer_name="p", max_pending_messages=5000)
    results: list[pulsar.Result] = []
    for payload in numbered(1000):
        producer.send_async(payload, lambda result, _: results.append(result))
    own_broker.restart(crash=True)
    producer.flush()
    assert results.count(pulsar.Result.Ok) == 1000
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert payloads(read_all(reader)) == numbered(1000)


def test_automatic_sequence_ids_go_on_after_a_restart(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str
) -> None:
    before = new_client(own_broker.service_url)
    before.subscribe(topic, "s").close()
    send_batch(before.create_producer(topic, producer_name="p"), numbered(10))
    own_broker.restart()
    after = new_client(own_broker.service_url)
    send_all(after.create_producer(topic, producer_name="p"), numbered(10, 10))
    assert payloads(receive_all(after.subscribe(topic, "s"), 20)) == numbered(20)
