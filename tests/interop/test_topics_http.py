"""Topics over HTTP: lookup by HTTP clients, deletion, health, and what a scraper of metrics finds."""

from __future__ import annotations

import urllib.request

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import EARLIEST, assert_silent, numbered, payloads, receive, receive_all, send_all
from tests.support.broker import Broker, eventually


def test_a_client_may_look_topics_up_over_http(broker: Broker, new_client: ClientFactory, topic: str) -> None:
    client = new_client(broker.admin_url)
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"found")
    assert receive(consumer).data() == b"found"


def test_partitions_are_looked_up_over_http(broker: Broker, new_client: ClientFactory, topic: str) -> None:
    broker.topic_rest("PUT", topic, "partitions", 3)
    client = new_client(broker.admin_url)
    assert len(client.get_topic_partitions(topic)) == 3
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(9))
    assert sorted(payloads(receive_all(consumer, 9))) == numbered(9)


def test_a_topic_in_use_is_not_deleted(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.create_producer(topic).send(b"x")
    assert broker.rest("DELETE", topic.replace("://", "/"))[0] == 412


def test_a_deleted_topic_begins_anew(client: pulsar.Client, broker: Broker, topic: str) -> None:
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    old = producer.send(b"old")
    producer.close()
    path = topic.replace("://", "/")
    eventually(lambda: broker.rest("DELETE", path)[0] == 204)
    assert broker.rest("GET", f"{path}/stats")[0] == 404
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST)
    new = client.create_producer(topic).send(b"new")
    assert receive(consumer).data() == b"new"
    assert new.ledger_id() > old.ledger_id()


def test_a_forced_deletion_sends_consumers_away(client: pulsar.Client, broker: Broker, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(b"old")
    receive(consumer)
    producer.close()
    assert broker.rest("DELETE", f"{topic.replace('://', '/')}?force=true")[0] == 204
    # The consumer comes back by itself and makes the topic again, without the message it had not acknowledged.
    eventually(consumer.is_connected)
    assert_silent(consumer)


def test_deleting_an_unknown_topic_is_told(broker: Broker, topic: str) -> None:
    assert broker.rest("DELETE", topic.replace("://", "/"))[0] == 404


def test_terminating_an_unknown_topic_is_told(broker: Broker, topic: str) -> None:
    assert broker.rest("POST", f"{topic.replace('://', '/')}/terminate")[0] == 404


def test_the_broker_is_healthy_and_ready(broker: Broker) -> None:
    assert broker.rest("GET", "brokers/health") == (200, "ok")
    assert broker.rest("GET", "brokers/ready") == (200, "ok")


@pytest.mark.parametrize("count", [0, -1])
def test_a_partitioned_topic_needs_partitions(broker: Broker, topic: str, count: int) -> None:
    assert broker.rest("PUT", f"{topic.replace('://', '/')}/partitions", count)[0] == 406


def test_more_partitions_can_be_added(client: pulsar.Client, broker: Broker, topic: str) -> None:
    broker.topic_rest("PUT", topic, "partitions", 2)
    broker.topic_rest("POST", topic, "partitions", 5)
    assert len(client.get_topic_partitions(topic)) == 5
    assert broker.rest("POST", f"{topic.replace('://', '/')}/partitions", 3)[0] == 422


def test_metrics_name_the_topic(client: pulsar.Client, broker: Broker, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(4))
    receive_all(consumer, 4, ack=True)

    def counted() -> bool:
        with urllib.request.urlopen(f"{broker.admin_url}/metrics/", timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        mine = [line for line in lines if line.startswith("pulsar_in_messages_total") and f'topic="{topic}"' in line]
        return any(float(line.rsplit("}", 1)[1].split()[0]) == 4 for line in mine)

    eventually(counted, 20)
