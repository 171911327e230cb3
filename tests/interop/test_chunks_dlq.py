"""Messages too large for one entry, and messages that nobody can process."""

from __future__ import annotations

import os

import pulsar
import pytest

from tests.interop.helpers import (
    EARLIEST,
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    assert_silent,
    drain,
    numbered,
    payloads,
    read_all,
    receive,
    receive_all,
    send_all,
    together,
)

MIB = 1024 * 1024


def chunking_producer(client: pulsar.Client, topic: str, name: str | None = None) -> pulsar.Producer:
    return client.create_producer(topic, name, chunking_enabled=True, batching_enabled=False)


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED], ids=lambda each: str(each.name))
def test_a_message_in_chunks_arrives_whole(client: pulsar.Client, topic: str, kind: pulsar.ConsumerType) -> None:
    consumer = client.subscribe(topic, "s", kind)
    producer = chunking_producer(client, topic)
    large = os.urandom(12 * MIB)
    producer.send(large, properties={"size": "12"}, partition_key="k")
    producer.send(b"after", partition_key="k")
    first, second = receive_all(consumer, 2, ack=True)
    assert first.data() == large
    assert first.properties() == {"size": "12"}
    assert second.data() == b"after"
    consumer.close()
    assert_silent(client.subscribe(topic, "s", kind))


def test_chunks_of_two_producers_meet_at_their_consumers(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", SHARED) for _ in range(2)]
    producers = [chunking_producer(client, topic, name) for name in ("one", "two")]
    sent = []
    results: list[pulsar.Result] = []
    for number in range(3):
        for producer in producers:
            body = producer.producer_name().encode() + b"%d" % number + os.urandom(11 * MIB)
            sent.append(body)
            producer.send_async(body, lambda result, _: results.append(result))
    for producer in producers:
        producer.flush()
    assert set(results) == {pulsar.Result.Ok}
    got = drain(consumers, 6, ack=True)
    assert together(got) == sorted(sent)


def test_an_unacknowledged_chunked_message_comes_again(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", SHARED)
    large = os.urandom(6 * MIB)
    chunking_producer(client, topic).send(large)
    assert receive(first).data() == large
    second = client.subscribe(topic, "s", SHARED)
    first.close()
    assert receive(second).data() == large


def test_a_reader_reads_a_chunked_message(client: pulsar.Client, topic: str) -> None:
    large = os.urandom(6 * MIB)
    chunking_producer(client, topic).send(large)
    assert payloads(read_all(client.create_reader(topic, pulsar.MessageId.earliest))) == [large]


def test_a_message_refused_too_often_goes_to_the_dead_letter_topic(client: pulsar.Client, topic: str) -> None:
    policy = pulsar.ConsumerDeadLetterPolicy(2, f"{topic}-dead", "inspector")
    consumer = client.subscribe(topic, "s", SHARED, negative_ack_redelivery_delay_ms=50, dead_letter_policy=policy)
    dead = client.subscribe(f"{topic}-dead", "watcher")
    send_all(client.create_producer(topic), numbered(3), properties={"kept": "yes"})
    seen: list[tuple[bytes, int]] = []
    while len(seen) < 5:
        message = receive(consumer)
        seen.append((message.data(), message.redelivery_count()))
        if message.data() == b"m-1":
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)
    assert sorted(seen) == [(b"m-0", 0), (b"m-1", 0), (b"m-1", 1), (b"m-1", 2), (b"m-2", 0)]
    buried = receive(dead)
    assert (buried.data(), buried.properties()["kept"]) == (b"m-1", "yes")
    assert_silent(consumer)
    inspector = client.subscribe(f"{topic}-dead", "inspector")
    assert receive(inspector).data() == b"m-1"


def test_the_dead_letter_topic_has_a_name_by_default(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(
        topic,
        "s",
        SHARED,
        negative_ack_redelivery_delay_ms=50,
        dead_letter_policy=pulsar.ConsumerDeadLetterPolicy(1),
    )
    dead = client.subscribe(f"{topic}-s-DLQ", "watcher", initial_position=EARLIEST)
    client.create_producer(topic).send(b"x")
    for _ in range(2):
        consumer.negative_acknowledge(receive(consumer))
    assert receive(dead).data() == b"x"


def test_a_retry_keeps_failing_messages_out_of_the_way(client: pulsar.Client, topic: str) -> None:
    """What the Java client calls a retry-letter topic is a second topic of the same consumer; done by hand here."""
    retry = f"{topic}-s-RETRY"
    consumer = client.subscribe([topic, retry], "s", SHARED)
    again = client.create_producer(retry)
    send_all(client.create_producer(topic), numbered(3))
    finished: list[bytes] = []
    while len(finished) < 3:
        message = receive(consumer)
        if message.data() == b"m-1" and message.topic_name() == topic:
            again.send(message.data(), properties={"RECONSUMETIMES": "1"})
        else:
            finished.append(message.data())
        consumer.acknowledge(message)
    assert sorted(finished) == numbered(3)
