"""What is published arrives as it was: payloads, metadata, batches, compression, sizes, encryption."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pulsar
import pytest
from pulsar.schema import StringSchema

from tests.interop.helpers import (
    EARLIEST,
    SHARED,
    batching_producer,
    numbered,
    payloads,
    receive,
    receive_all,
    send_all,
    send_batch,
)

COMPRESSIONS = [
    pulsar.CompressionType.LZ4,
    pulsar.CompressionType.ZLib,
    pulsar.CompressionType.ZSTD,
    pulsar.CompressionType.SNAPPY,
]


def test_a_message_arrives_with_the_id_of_its_receipt(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    sent = client.create_producer(topic).send(b"hello")
    message = receive(consumer)
    assert message.data() == b"hello"
    assert (message.message_id().ledger_id(), message.message_id().entry_id()) == (sent.ledger_id(), sent.entry_id())
    assert message.redelivery_count() == 0
    assert message.topic_name() == topic


def test_messages_arrive_in_the_order_of_publishing(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    ids = send_all(client.create_producer(topic), numbered(50))
    assert payloads(receive_all(consumer, 50)) == numbered(50)
    assert [pulsar.MessageId.wrap(each) for each in ids] == sorted(pulsar.MessageId.wrap(each) for each in ids)


def test_a_short_topic_name_lies_in_public_default(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic.removeprefix("persistent://public/default/")).send(b"short")
    assert receive(consumer).data() == b"short"


def test_a_batch_arrives_as_single_messages_of_one_entry(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    send_batch(batching_producer(client, topic), numbered(20))
    messages = receive_all(consumer, 20)
    assert payloads(messages) == numbered(20)
    assert [message.message_id().batch_index() for message in messages] == list(range(20))
    assert len({message.message_id().entry_id() for message in messages}) == 1


def test_many_batches_in_flight_keep_their_order(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=True, batching_max_messages=7, block_if_queue_full=True)
    send_batch(producer, numbered(500))
    assert payloads(receive_all(consumer, 500)) == numbered(500)


def test_key_based_batches_hold_one_key_each(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = batching_producer(client, topic, batching_type=pulsar.BatchingType.KeyBased)
    for number in range(12):
        producer.send_async(b"%d" % number, lambda result, _: None, partition_key=f"k{number % 3}")
    producer.flush()
    keys_of_entry: dict[int, set[str]] = {}
    for message in receive_all(consumer, 12):
        keys_of_entry.setdefault(message.message_id().entry_id(), set()).add(message.partition_key())
    assert sorted(map(sorted, keys_of_entry.values())) == [["k0"], ["k1"], ["k2"]]


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=lambda each: str(each.name))
@pytest.mark.parametrize("batched", [False, True], ids=["single", "batch"])
def test_a_compressed_payload_passes_through(
    client: pulsar.Client, topic: str, compression: pulsar.CompressionType, batched: bool
) -> None:
    consumer = client.subscribe(topic, "s")
    sent = [bytes([number]) * 5000 for number in range(5)]
    if batched:
        send_batch(batching_producer(client, topic, compression_type=compression), sent)
    else:
        send_all(client.create_producer(topic, compression_type=compression), sent)
    assert payloads(receive_all(consumer, 5)) == sent


def test_properties_keys_and_event_time_arrive(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    before_ms = int(time.time() * 1000)
    producer = client.create_producer(topic, producer_name="teller")
    producer.send(
        b"x",
        properties={"a": "1", "umlaut": "ä"},
        partition_key="part",
        ordering_key="order",
        event_timestamp=1_600_000_000_123,
    )
    message = receive(consumer)
    assert message.properties() == {"a": "1", "umlaut": "ä"}
    assert message.partition_key() == "part"
    assert message.ordering_key() == "order"
    assert message.event_timestamp() == 1_600_000_000_123
    assert before_ms - 1 <= message.publish_timestamp() <= int(time.time() * 1000) + 1
    assert message.producer_name() == "teller"


def test_a_message_without_payload_arrives_empty(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"")
    assert receive(consumer).data() == b""


def test_a_null_value_is_told_from_an_empty_one(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), [None, b""], partition_key="k")
    assert [message.has_null_value() for message in receive_all(consumer, 2)] == [True, False]


def test_sequence_ids_count_up_and_can_be_chosen(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, initial_sequence_id=41)
    assert producer.last_sequence_id() == 41
    producer.send(b"a")
    assert producer.last_sequence_id() == 42
    producer.send(b"b", sequence_id=100)
    assert producer.last_sequence_id() == 100


def test_strings_pass_through_a_string_schema(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", schema=StringSchema())
    client.create_producer(topic, schema=StringSchema()).send("grüß dich")
    assert receive(consumer).value() == "grüß dich"


def test_a_message_just_below_the_limit_arrives(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    body = os.urandom(1024) * (5 * 1024 - 1)
    client.create_producer(topic).send(body)
    assert receive(consumer).data() == body


def test_a_message_above_the_limit_is_refused_and_the_producer_goes_on(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    with pytest.raises(pulsar.MessageTooBig):
        producer.send(bytes(5 * 1024 * 1024 + 1))
    producer.send(b"small")
    assert receive(consumer).data() == b"small"


def test_a_large_message_that_compresses_below_the_limit_arrives(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    body = bytes(12 * 1024 * 1024)
    client.create_producer(topic, compression_type=pulsar.CompressionType.ZSTD).send(body)
    assert receive(consumer).data() == body


def test_two_producers_each_keep_their_order(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producers = [client.create_producer(topic, producer_name=name) for name in ("one", "two")]
    for number in range(40):
        for producer in producers:
            producer.send_async(b"%d" % number, lambda result, _: None)
    got: dict[str, list[bytes]] = {"one": [], "two": []}
    for message in receive_all(consumer, 80):
        got[message.producer_name()].append(message.data())
    assert got["one"] == got["two"] == [b"%d" % number for number in range(40)]


@pytest.fixture(scope="session")
def key_reader(tmp_path_factory: pytest.TempPathFactory) -> pulsar.CryptoKeyReader:
    """A fresh pair of RSA keys."""
    folder: Path = tmp_path_factory.mktemp("keys")
    private, public = folder / "private.pem", folder / "public.pem"
    subprocess.run(["openssl", "genrsa", "-out", private, "2048"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    return pulsar.CryptoKeyReader(str(public), str(private))


@pytest.mark.parametrize("batched", [False, True], ids=["single", "batch"])
def test_an_encrypted_payload_passes_through(
    client: pulsar.Client, topic: str, key_reader: pulsar.CryptoKeyReader, batched: bool
) -> None:
    consumer = client.subscribe(topic, "s", crypto_key_reader=key_reader)
    producer = client.create_producer(
        topic,
        encryption_key="key",
        crypto_key_reader=key_reader,
        batching_enabled=batched,
        compression_type=pulsar.CompressionType.ZLib,
    )
    send_batch(producer, numbered(3))
    assert payloads(receive_all(consumer, 3)) == numbered(3)


def test_an_encrypted_payload_stays_secret_without_the_key(
    client: pulsar.Client, topic: str, key_reader: pulsar.CryptoKeyReader
) -> None:
    blind = client.subscribe(topic, "blind", crypto_failure_action=pulsar.ConsumerCryptoFailureAction.CONSUME)
    client.create_producer(topic, encryption_key="key", crypto_key_reader=key_reader).send(b"secret words")
    message = receive(blind)
    assert b"secret words" not in message.data()
    assert message.encryption_context().is_decryption_failed()


def test_a_listener_receives_and_acknowledges(client: pulsar.Client, topic: str) -> None:
    heard = client.subscribe(f"{topic}-heard", "s", initial_position=EARLIEST)
    echo = client.create_producer(f"{topic}-heard")

    def listen(consumer: pulsar.Consumer, message: pulsar.Message) -> None:
        echo.send_async(message.data(), lambda result, _: None)
        consumer.acknowledge(message)

    client.subscribe(topic, "s", SHARED, message_listener=listen)
    send_all(client.create_producer(topic), numbered(10))
    assert payloads(receive_all(heard, 10)) == numbered(10)


def test_what_nobody_subscribed_to_is_not_kept_for_a_latest_subscription(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    producer.send(b"before")
    consumer = client.subscribe(topic, "s")
    producer.send(b"after")
    assert receive(consumer).data() == b"after"


def test_an_earliest_subscription_begins_with_what_is_there(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper").close()
    send_all(client.create_producer(topic), numbered(3))
    assert payloads(receive_all(client.subscribe(topic, "s", initial_position=EARLIEST), 3)) == numbered(3)


@pytest.mark.parametrize("name", ["persistent://public", "bogus://public/default/t", ""])
def test_an_impossible_topic_name_is_refused(client: pulsar.Client, name: str) -> None:
    with pytest.raises(pulsar.PulsarException):
        client.create_producer(name)


def test_an_unknown_namespace_is_refused(client: pulsar.Client) -> None:
    with pytest.raises(pulsar.TopicNotFound):
        client.create_producer("persistent://public/no-such-namespace/t")
