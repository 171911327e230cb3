"""What the official client publishes, looked at and moved about over HTTP."""

from __future__ import annotations

import json
import struct
import urllib.request
from urllib.error import HTTPError

import pulsar
import pytest

from tests.interop.helpers import EARLIEST, SHARED, numbered, payloads, receive_all, send_all, send_batch
from tests.support.broker import Broker, eventually

PAYLOAD = b"much of the same " * 50


def fetch(broker: Broker, topic: str, action: str) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of an answer."""
    url = f"{broker.admin_url}/admin/v2/{topic.replace('://', '/')}/{action}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read(), {name.lower(): value for name, value in answer.headers.items()}


def peek(broker: Broker, topic: str, place: int = 1) -> tuple[bytes, dict[str, str]]:
    return fetch(broker, topic, f"subscription/s/position/{place}")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pulsar.CompressionType.LZ4, "LZ4"),
        (pulsar.CompressionType.ZLib, "ZLIB"),
        (pulsar.CompressionType.ZSTD, "ZSTD"),
        (pulsar.CompressionType.SNAPPY, "SNAPPY"),
    ],
)
def test_a_compressed_message_comes_unpacked(
    client: pulsar.Client, broker: Broker, topic: str, kind: pulsar.CompressionType, name: str
) -> None:
    client.subscribe(topic, "s", SHARED)
    client.create_producer(topic, compression_type=kind, batching_enabled=False).send(PAYLOAD)
    body, headers = peek(broker, topic)
    assert body == PAYLOAD
    assert headers["x-pulsar-compression"] == name
    assert headers["x-pulsar-uncompressed-size"] == str(len(PAYLOAD))


def test_metadata_come_in_headers(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic, producer_name="it", batching_enabled=False)
    sent = producer.send(
        b"x",
        properties={"a": "1", "ü": "\u4e16\U0001f40d"},
        partition_key="k",
        ordering_key="o",
        event_timestamp=1_500,
        deliver_at=99,
    )
    body, headers = fetch(broker, topic, f"ledger/{sent.ledger_id()}/entry/{sent.entry_id()}")
    assert body == b"x"
    assert headers["content-type"] == "application/octet-stream"
    assert json.loads(headers["x-pulsar-property"]) == {"a": "1", "ü": "\u4e16\U0001f40d"}
    wanted = {
        "message-id": f"{sent.ledger_id()}:{sent.entry_id()}",
        "producer-name": "it",
        "sequence-id": "0",
        "partition-key": "k",
        "base64-ordering-key": "bw==",
        "event-time": "1970-01-01T00:00:01.5Z",
        "deliver-at-time": "1970-01-01T00:00:00.099Z",
        "is-encrypted": "false",
        "txn-uncommitted": "false",
    }
    assert wanted.items() <= {name.removeprefix("x-pulsar-"): value for name, value in headers.items()}.items()
    assert headers["x-pulsar-publish-time"].endswith("Z")


def test_a_batch_comes_as_a_whole(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(
        topic, batching_enabled=True, batching_max_publish_delay_ms=10_000, compression_type=pulsar.CompressionType.LZ4
    )
    send_batch(producer, numbered(3))
    body, headers = peek(broker, topic)
    assert headers["x-pulsar-num-batch-message"] == "3"
    found = []
    while body:
        # Each message of a batch is the size of its metadata, the metadata, and the payload, here of three bytes.
        (size,) = struct.unpack_from(">I", body)
        found.append(body[4 + size : 4 + size + 3])
        body = body[4 + size + 3 :]
    assert found == numbered(3)
    last = json.loads(fetch(broker, topic, "lastMessageId")[0])
    assert last["batchIndex"] == 2
    assert broker.topic_rest("POST", topic, "subscription/s/analyzeBacklog")["messages"] == 3


def test_a_cursor_moved_over_http_moves_the_consumer(client: pulsar.Client, broker: Broker, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    ids = send_all(client.create_producer(topic, batching_enabled=False), numbered(5))
    for message in receive_all(consumer, 5):
        consumer.acknowledge(message)
    where = {"ledgerId": ids[3].ledger_id(), "entryId": ids[3].entry_id()}
    broker.topic_rest("POST", topic, "subscription/s/resetcursor", where)
    assert sorted(payloads(receive_all(consumer, 2))) == numbered(2, 3)
    broker.topic_rest("POST", topic, "subscription/s/resetcursor/0")
    assert sorted(payloads(receive_all(consumer, 5))) == numbered(5)


def test_one_message_of_a_batch_is_where_a_cursor_may_stand(client: pulsar.Client, broker: Broker, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=10_000)
    send_batch(producer, numbered(4))
    first = receive_all(consumer, 4)[0].message_id()
    where = {"ledgerId": first.ledger_id(), "entryId": first.entry_id(), "batchIndex": 1, "isExcluded": True}
    consumer.close()
    broker.topic_rest("POST", topic, "subscription/s/resetcursor", where)
    # The client drops what the broker says is acknowledged of a batch.
    found = client.subscribe(topic, "s", SHARED)
    assert sorted(payloads(receive_all(found, 2))) == numbered(2, 2)


def test_truncating_leaves_what_comes_later(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.subscribe(topic, "s", SHARED, initial_position=EARLIEST).close()
    producer = client.create_producer(topic)
    send_all(producer, numbered(5))
    eventually(lambda: broker.topic_rest("GET", topic, "stats")["storageSize"] > 0)
    broker.topic_rest("DELETE", topic, "truncate")
    assert broker.topic_rest("GET", topic, "stats")["storageSize"] == 0
    producer.send(b"new")
    consumer = client.subscribe(topic, "s", SHARED)
    assert payloads(receive_all(consumer, 1)) == [b"new"]
    with pytest.raises(HTTPError) as gone:
        fetch(broker, topic, "subscription/s/position/2")
    assert gone.value.code == 404
