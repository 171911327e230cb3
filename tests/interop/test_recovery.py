"""What lasts when the broker goes away: by SIGTERM, by SIGKILL, and seen by clients that stay."""

from __future__ import annotations

import threading

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import (
    EARLIEST,
    KEY_SHARED,
    SHARED,
    batching_producer,
    numbered,
    payloads,
    read_all,
    receive,
    receive_all,
    send_all,
    send_batch,
)
from tests.support.broker import StartedBroker
from tests.support.wirecodec import Id

EITHER_END = pytest.mark.parametrize("crash", [False, True], ids=["sigterm", "sigkill"])


@EITHER_END
def test_messages_with_a_receipt_are_there_after_a_restart(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str, crash: bool
) -> None:
    before = new_client(own_broker.service_url)
    before.subscribe(topic, "s").close()
    send_all(before.create_producer(topic), numbered(50))
    send_batch(batching_producer(before, topic), numbered(50, 50))
    own_broker.restart(crash=crash)
    consumer = new_client(own_broker.service_url).subscribe(topic, "s")
    assert payloads(receive_all(consumer, 100)) == numbered(100)


@EITHER_END
def test_message_ids_never_repeat(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str, crash: bool
) -> None:
    ids = []
    new_client(own_broker.service_url).subscribe(topic, "keeper")
    for _ in range(3):
        producer = new_client(own_broker.service_url).create_producer(topic)
        ids += send_all(producer, numbered(5))
        producer.close()
        own_broker.restart(crash=crash)
    places = [Id(each.ledger_id(), each.entry_id()) for each in ids]
    assert places == sorted(set(places))


@EITHER_END
def test_a_client_that_stays_goes_on_by_itself(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str, crash: bool
) -> None:
    client = new_client(own_broker.service_url)
    consumer = client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic)
    send_all(producer, numbered(5))
    assert payloads(receive_all(consumer, 5)) == numbered(5)
    own_broker.restart(crash=crash)
    producer.send(b"after")
    seen = {receive(consumer).data() for _ in range(6)}
    assert seen == {*numbered(5), b"after"}


def test_messages_on_their_way_survive_a_crash_in_order(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str
) -> None:
    client = new_client(own_broker.service_url)
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, block_if_queue_full=True, max_pending_messages=100)
    results: list[pulsar.Result] = []
    some_arrived = threading.Event()

    def note(result: pulsar.Result, _: object) -> None:
        results.append(result)
        if len(results) == 300:
            some_arrived.set()

    def publish() -> None:
        for payload in numbered(3000):
            producer.send_async(payload, note)
        producer.flush()

    publisher = threading.Thread(target=publish)
    publisher.start()
    assert some_arrived.wait(20)
    own_broker.restart(crash=True)
    publisher.join(60)
    assert results.count(pulsar.Result.Ok) == 3000
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    # What was sent again without deduplication may be there twice; its first occurrence decides the order.
    assert list(dict.fromkeys(payloads(read_all(reader)))) == numbered(3000)


def test_subscriptions_and_partitions_are_remembered(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str
) -> None:
    own_broker.topic_rest("PUT", topic, "partitions", 3)
    client = new_client(own_broker.service_url)
    client.subscribe(topic, "s", KEY_SHARED).close()
    send_all(client.create_producer(topic), numbered(30))
    own_broker.restart()
    again = new_client(own_broker.service_url)
    assert len(again.get_topic_partitions(topic)) == 3
    assert sorted(payloads(receive_all(again.subscribe(topic, "s", KEY_SHARED), 30))) == sorted(numbered(30))


def test_an_unsubscribed_subscription_stays_away(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str
) -> None:
    client = new_client(own_broker.service_url)
    client.subscribe(topic, "keeper").close()
    gone = client.subscribe(topic, "gone")
    send_all(client.create_producer(topic), numbered(3))
    receive_all(gone, 3, ack=True)
    gone.unsubscribe()
    own_broker.restart(crash=True)
    new = new_client(own_broker.service_url).subscribe(topic, "gone", initial_position=EARLIEST)
    assert payloads(receive_all(new, 3)) == numbered(3)


def test_a_terminated_topic_stays_terminated(own_broker: StartedBroker, new_client: ClientFactory, topic: str) -> None:
    client = new_client(own_broker.service_url)
    client.subscribe(topic, "s").close()
    client.create_producer(topic).send(b"x")
    own_broker.topic_rest("POST", topic, "terminate")
    own_broker.restart(crash=True)
    client = new_client(own_broker.service_url)
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)
    assert receive(client.subscribe(topic, "s")).data() == b"x"


def test_a_seek_survives_a_restart(own_broker: StartedBroker, new_client: ClientFactory, topic: str) -> None:
    client = new_client(own_broker.service_url)
    client.subscribe(topic, "keeper").close()
    consumer = client.subscribe(topic, "s")
    ids = send_all(client.create_producer(topic), numbered(10))
    receive_all(consumer, 10, ack=True)
    consumer.seek(ids[4])
    consumer.close()
    own_broker.restart()
    again = new_client(own_broker.service_url).subscribe(topic, "s")
    # The subscription stands before the message sought; that it is left out is the doing of the client that sought it.
    assert payloads(receive_all(again, 6)) == numbered(6, 4)
