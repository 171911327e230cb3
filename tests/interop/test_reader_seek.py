"""Readers, seek, the last message id, the end of a topic, and table views."""

from __future__ import annotations

import time

import pulsar
import pytest

from tests.interop.helpers import (
    EARLIEST,
    SHARED,
    STAYS_AWAY_MS,
    assert_silent,
    batching_producer,
    numbered,
    payloads,
    read_all,
    receive,
    receive_all,
    send_all,
    send_batch,
)
from tests.support.broker import Broker, eventually

FIRST = pulsar.MessageId.earliest
LAST = pulsar.MessageId.latest


def test_a_reader_from_the_earliest_reads_everything(client: pulsar.Client, topic: str) -> None:
    send_all(client.create_producer(topic), numbered(10))
    assert payloads(read_all(client.create_reader(topic, FIRST))) == numbered(10)


def test_a_reader_from_the_latest_reads_what_comes(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    producer.send(b"before")
    reader = client.create_reader(topic, LAST)
    assert not reader.has_message_available()
    producer.send(b"after")
    assert reader.has_message_available()
    assert reader.read_next(STAYS_AWAY_MS).data() == b"after"


@pytest.mark.parametrize(("inclusive", "first"), [(False, 5), (True, 4)], ids=["exclusive", "inclusive"])
def test_a_reader_begins_at_an_id(client: pulsar.Client, topic: str, inclusive: bool, first: int) -> None:
    ids = send_all(client.create_producer(topic), numbered(10))
    reader = client.create_reader(topic, ids[4], start_message_id_inclusive=inclusive)
    assert payloads(read_all(reader)) == numbered(10 - first, first)


@pytest.mark.parametrize(("inclusive", "first"), [(False, 5), (True, 4)], ids=["exclusive", "inclusive"])
def test_a_reader_begins_inside_a_batch(client: pulsar.Client, topic: str, inclusive: bool, first: int) -> None:
    consumer = client.subscribe(topic, "s")
    send_batch(batching_producer(client, topic), numbered(10))
    start = receive_all(consumer, 10)[4].message_id()
    reader = client.create_reader(topic, start, start_message_id_inclusive=inclusive)
    assert payloads(read_all(reader)) == numbered(10 - first, first)


def test_a_reader_goes_on_where_a_stored_id_ends(client: pulsar.Client, topic: str) -> None:
    send_all(client.create_producer(topic), numbered(6))
    first = client.create_reader(topic, FIRST)
    stored = [first.read_next(STAYS_AWAY_MS).message_id().serialize() for _ in range(3)][-1]
    first.close()
    reader = client.create_reader(topic, pulsar.MessageId.deserialize(stored))
    assert payloads(read_all(reader)) == numbered(3, 3)


def test_an_empty_topic_has_nothing_to_read(client: pulsar.Client, topic: str) -> None:
    reader = client.create_reader(topic, FIRST)
    assert not reader.has_message_available()
    with pytest.raises(pulsar.Timeout):
        reader.read_next(STAYS_AWAY_MS)


def test_readers_do_not_disturb_each_other(client: pulsar.Client, topic: str) -> None:
    send_all(client.create_producer(topic), numbered(5))
    readers = [client.create_reader(topic, FIRST) for _ in range(3)]
    for reader in readers:
        assert payloads(read_all(reader)) == numbered(5)


def test_a_reader_leaves_no_subscription_behind(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.create_producer(topic).send(b"x")
    reader = client.create_reader(topic, FIRST)
    read_all(reader)
    reader.close()

    def no_subscription() -> bool:
        stats = broker.topic_rest("GET", topic, "stats")
        assert isinstance(stats, dict)
        return bool(stats["subscriptions"] == {})

    eventually(no_subscription)


def test_a_reader_seeks_back_to_the_start(client: pulsar.Client, topic: str) -> None:
    send_all(client.create_producer(topic), numbered(5))
    reader = client.create_reader(topic, FIRST)
    read_all(reader)
    reader.seek(FIRST)
    assert payloads(read_all(reader)) == numbered(5)


def test_a_reader_seeks_to_a_time(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    send_all(producer, numbered(3))
    between_ms = next_millisecond()
    send_all(producer, numbered(3, 3))
    reader = client.create_reader(topic, FIRST)
    reader.seek(between_ms)
    assert payloads(read_all(reader)) == numbered(3, 3)


def next_millisecond() -> int:
    """Wait until the clock has moved on, so that nothing was published in the millisecond given."""
    before_ms = int(time.time() * 1000)
    eventually(lambda: int(time.time() * 1000) > before_ms + 1)
    return before_ms + 2


def test_seek_to_the_earliest_brings_everything_back(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper")
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(10))
    receive_all(consumer, 10, ack=True)
    consumer.seek(FIRST)
    assert payloads(receive_all(consumer, 10)) == numbered(10)


def test_seek_to_the_latest_skips_everything(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    send_all(producer, numbered(10))
    consumer.seek(LAST)
    producer.send(b"next")
    assert receive(consumer).data() == b"next"


@pytest.mark.parametrize(("inclusive", "first"), [(False, 5), (True, 4)], ids=["exclusive", "inclusive"])
def test_seek_to_an_id(client: pulsar.Client, topic: str, inclusive: bool, first: int) -> None:
    client.subscribe(topic, "keeper")
    consumer = client.subscribe(topic, "s", start_message_id_inclusive=inclusive)
    ids = send_all(client.create_producer(topic), numbered(10))
    receive_all(consumer, 10, ack=True)
    consumer.seek(ids[4])
    assert payloads(receive_all(consumer, 10 - first)) == numbered(10 - first, first)


def test_seek_to_an_id_inside_a_batch(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper")
    consumer = client.subscribe(topic, "s", start_message_id_inclusive=True)
    send_batch(batching_producer(client, topic), numbered(10))
    target = receive_all(consumer, 10, ack=True)[6].message_id()
    consumer.seek(target)
    assert payloads(receive_all(consumer, 4)) == numbered(4, 6)


def test_seek_to_a_time(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper")
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    send_all(producer, numbered(4))
    between_ms = next_millisecond()
    send_all(producer, numbered(4, 4))
    receive_all(consumer, 8, ack=True)
    consumer.seek(between_ms)
    assert payloads(receive_all(consumer, 4)) == numbered(4, 4)


def test_seek_to_a_time_before_everything(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper")
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(4))
    receive_all(consumer, 4, ack=True)
    consumer.seek(1)
    assert payloads(receive_all(consumer, 4)) == numbered(4)


def test_seek_of_a_shared_subscription_moves_all_its_consumers(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper")
    one = client.subscribe(topic, "s", SHARED)
    send_all(client.create_producer(topic), numbered(10))
    receive_all(one, 10, ack=True)
    two = client.subscribe(topic, "s", SHARED)
    one.seek(FIRST)
    eventually(lambda: one.is_connected() and two.is_connected())
    two.close()
    assert set(payloads(receive_all(one, 10))) == set(numbered(10))


def test_the_last_message_id(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    sent = send_all(client.create_producer(topic), numbered(3))[-1]
    last = consumer.get_last_message_id()
    assert (last.ledger_id(), last.entry_id(), last.batch_index()) == (sent.ledger_id(), sent.entry_id(), -1)


def test_the_last_message_id_names_the_last_of_a_batch(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    send_batch(batching_producer(client, topic), numbered(7))
    assert consumer.get_last_message_id().batch_index() == 6


def test_the_last_message_id_of_an_empty_topic(client: pulsar.Client, topic: str) -> None:
    last = client.subscribe(topic, "s").get_last_message_id()
    assert (last.ledger_id(), last.entry_id()) == (-1, -1)


def test_a_terminated_topic_refuses_producers(client: pulsar.Client, broker: Broker, topic: str) -> None:
    producer = client.create_producer(topic)
    sent = producer.send(b"x")
    ended = broker.topic_rest("POST", topic, "terminate")
    assert isinstance(ended, dict)
    assert (ended["ledgerId"], ended["entryId"]) == (sent.ledger_id(), sent.entry_id())
    with pytest.raises(pulsar.TopicTerminated):
        producer.send(b"y")
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)


def test_a_terminated_topic_can_be_read_to_its_end(client: pulsar.Client, broker: Broker, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(3))
    broker.topic_rest("POST", topic, "terminate")
    assert payloads(receive_all(consumer, 3, ack=True)) == numbered(3)
    reader = client.create_reader(topic, FIRST)
    assert payloads(read_all(reader)) == numbered(3)
    assert not reader.has_message_available()
    assert_silent(consumer)


def test_a_table_view_shows_the_last_value_of_each_key(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    for number in range(10):
        producer.send(b"%d" % number, partition_key=f"k{number % 3}")
    view = client.create_table_view(topic)
    assert {key: view.get(key) for key in ("k0", "k1", "k2")} == {"k0": b"9", "k1": b"7", "k2": b"8"}
    assert len(view) == 3
    producer.send(b"new", partition_key="k1")
    eventually(lambda: view.get("k1") == b"new")
    view.close()


def test_a_reader_listener_hears_everything(client: pulsar.Client, topic: str) -> None:
    send_all(client.create_producer(topic), numbered(5))
    heard: list[bytes] = []
    client.create_reader(topic, FIRST, reader_listener=lambda _, message: heard.append(message.data()))
    eventually(lambda: heard == numbered(5))


def test_a_late_consumer_of_a_terminated_topic_still_reads(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.subscribe(topic, "keeper")
    send_all(client.create_producer(topic), numbered(3))
    broker.topic_rest("POST", topic, "terminate")
    assert payloads(receive_all(client.subscribe(topic, "late", initial_position=EARLIEST), 3)) == numbered(3)
