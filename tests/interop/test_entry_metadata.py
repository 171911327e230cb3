"""Broker entry metadata under the official client, which knows it and must not stumble over it."""

from __future__ import annotations

import pulsar

from tests.interop.helpers import EARLIEST, SHARED, numbered, payloads, read_all, receive_all, send_all, send_batch
from tests.support.broker import StartedBroker

_PACKAGE = "org.apache.pulsar.common.intercept"
SETTINGS = {
    "exposingBrokerEntryMetadataToClientEnabled": True,
    "brokerEntryMetadataInterceptors": (
        f"{_PACKAGE}.AppendIndexMetadataInterceptor,{_PACKAGE}.AppendBrokerTimestampMetadataInterceptor"
    ),
}


def test_messages_are_what_they_were(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    send_all(own_client.create_producer(topic, batching_enabled=False), numbered(5))
    send_batch(own_client.create_producer(topic, batching_max_publish_delay_ms=10_000), numbered(5, 5))
    assert payloads(receive_all(consumer, 10, ack=True)) == numbered(10)
    own_broker.restart(crash=True)
    reader = own_client.create_reader(topic, pulsar.MessageId.earliest)
    assert payloads(read_all(reader)) == numbered(10)
