"""Names and access modes of producers."""

from __future__ import annotations

import threading

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import ARRIVES_MS, numbered, payloads, receive, receive_all, send_all
from tests.support.broker import Broker

MODE = pulsar.ProducerAccessMode


def test_generated_names_differ(client: pulsar.Client, topic: str) -> None:
    names = {client.create_producer(topic).producer_name() for _ in range(5)}
    assert len(names) == 5
    assert all(names)


def test_a_name_in_use_is_refused_and_its_owner_goes_on(
    client: pulsar.Client, new_client: ClientFactory, broker: Broker, topic: str
) -> None:
    producer = client.create_producer(topic, producer_name="taken")
    with pytest.raises(pulsar.ProducerBusy):
        new_client(broker.service_url).create_producer(topic, producer_name="taken")
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(topic, producer_name="taken")
    producer.send(b"still here")


def test_a_name_is_free_again_after_close(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, producer_name="mine").close()
    assert client.create_producer(topic, producer_name="mine").producer_name() == "mine"


def test_an_equal_name_on_another_topic_is_no_conflict(client: pulsar.Client, topic: str) -> None:
    for each in (f"{topic}-1", f"{topic}-2"):
        client.create_producer(each, producer_name="same").send(b"x")


def test_an_exclusive_producer_keeps_others_out(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, access_mode=MODE.Exclusive)
    with pytest.raises(pulsar.ProducerFenced):
        client.create_producer(topic, access_mode=MODE.Exclusive)
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(topic)
    producer.send(b"x")


def test_an_exclusive_producer_does_not_push_a_shared_one_out(client: pulsar.Client, topic: str) -> None:
    shared = client.create_producer(topic)
    with pytest.raises(pulsar.ProducerFenced):
        client.create_producer(topic, access_mode=MODE.Exclusive)
    shared.send(b"x")


def test_exclusive_access_is_free_again_after_close(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, access_mode=MODE.Exclusive).close()
    client.create_producer(topic, access_mode=MODE.Exclusive).close()
    client.create_producer(topic).send(b"x")


def test_fencing_ends_the_producers_before(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    # They try to come back for as long as a message may wait for its receipt.
    olds = [client.create_producer(topic, send_timeout_millis=1000) for _ in range(2)]
    send_all(olds[0], numbered(1))
    new = client.create_producer(topic, access_mode=MODE.ExclusiveWithFencing)
    new.send(b"new")
    for old in olds:
        with pytest.raises(pulsar.PulsarException):
            old.send(b"late")
    assert payloads(receive_all(consumer, 2)) == [b"m-0", b"new"]


def test_fencing_ends_an_exclusive_producer(client: pulsar.Client, topic: str) -> None:
    old = client.create_producer(topic, access_mode=MODE.Exclusive)
    old.send(b"x")
    new = client.create_producer(topic, access_mode=MODE.ExclusiveWithFencing)
    with pytest.raises(pulsar.PulsarException) as fenced:
        old.send(b"late")
    assert isinstance(fenced.value, pulsar.ProducerFenced | pulsar.AlreadyClosed)
    new.send(b"new")


def test_a_waiting_producer_starts_when_the_exclusive_one_closes(
    client: pulsar.Client, new_client: ClientFactory, broker: Broker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    first = client.create_producer(topic, access_mode=MODE.Exclusive)
    other_client = new_client(broker.service_url)
    started = threading.Event()

    def wait_and_send() -> None:
        waiting = other_client.create_producer(topic, access_mode=MODE.WaitForExclusive)
        started.set()
        waiting.send(b"second")

    thread = threading.Thread(target=wait_and_send)
    thread.start()
    first.send(b"first")
    assert receive(consumer).data() == b"first"
    assert not started.is_set()
    first.close()
    assert started.wait(ARRIVES_MS / 1000)
    thread.join()
    assert receive(consumer).data() == b"second"


def test_a_producer_says_what_it_is(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, producer_name="me")
    assert (producer.topic(), producer.producer_name(), producer.last_sequence_id()) == (topic, "me", -1)
    assert producer.is_connected()
    producer.close()
    assert not producer.is_connected()


def test_without_deduplication_a_sequence_id_may_come_twice(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, producer_name="twice")
    producer.send(b"a", sequence_id=5)
    producer.send(b"b", sequence_id=5)
    assert payloads(receive_all(consumer, 2)) == [b"a", b"b"]


def test_a_full_pending_queue_is_an_error_of_the_sender(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(
        topic, max_pending_messages=5, batching_enabled=True, batching_max_publish_delay_ms=60_000
    )
    results: list[pulsar.Result] = []
    for payload in numbered(10):
        producer.send_async(payload, lambda result, _: results.append(result))
    producer.flush()
    assert results.count(pulsar.Result.ProducerQueueIsFull) == 5
    assert results.count(pulsar.Result.Ok) == 5
