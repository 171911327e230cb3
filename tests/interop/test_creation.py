"""Settings that decide whether and how topics and subscriptions come into being, and what is kept of them."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import numbered, payloads, read_all, receive_all, send_all
from tests.support.broker import Broker, started_broker
from tests.support.wireclient import WireError

SUBSCRIPTION_NOT_FOUND = 12


def test_topics_are_not_made_when_that_is_switched_off(new_client: ClientFactory, topic: str) -> None:
    with started_broker({"allowAutoTopicCreation": "false"}) as broker:
        client = new_client(broker.service_url)
        with pytest.raises(pulsar.TopicNotFound):
            client.create_producer(topic)
        with pytest.raises(pulsar.TopicNotFound):
            client.subscribe(topic, "s")
        broker.topic_rest("PUT", topic, "partitions", 2)
        consumer = client.subscribe(topic, "s")
        send_all(client.create_producer(topic), numbered(4))
        assert sorted(payloads(receive_all(consumer, 4))) == numbered(4)


def test_topics_are_made_with_partitions_when_asked(new_client: ClientFactory, topic: str) -> None:
    settings = {
        "allowAutoTopicCreationType": "partitioned",
        "defaultNumPartitions": "3",
        "allowAutoSubscriptionCreation": "false",
        "defaultRetentionTimeInMinutes": "10",
        "defaultRetentionSizeInMB": "10",
    }
    with started_broker(settings) as broker:
        client = new_client(broker.service_url)
        producer = client.create_producer(topic)
        assert len(client.get_topic_partitions(topic)) == 3
        send_all(producer, numbered(6))
        # The wheel would ask again until its time is up; the answer itself is what matters.
        with broker.wire() as wire, pytest.raises(WireError) as refused:
            wire.subscribe(f"{topic}-partition-0", "s")
        assert refused.value.code == SUBSCRIPTION_NOT_FOUND
        reader = client.create_reader(topic, pulsar.MessageId.earliest)
        assert sorted(payloads(read_all(reader))) == numbered(6)


def test_an_unknown_listener_name_is_refused_at_once(broker: Broker, topic: str) -> None:
    client = pulsar.Client(broker.service_url, listener_name="inside", operation_timeout_seconds=30)
    with pytest.raises(pulsar.PulsarException, match="NotAllowed"):
        client.create_producer(topic)
    client.close()
