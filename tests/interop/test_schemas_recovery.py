"""Schemas are there after a crash: versions, what they say, and what they refuse."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import EARLIEST, receive
from tests.interop.test_schemas import First, Second, Text, avro, schema_path, version
from tests.support.broker import StartedBroker


def test_schemas_survive_a_crash(own_broker: StartedBroker, new_client: ClientFactory, topic: str) -> None:
    client = new_client(own_broker.service_url)
    for number, schema in enumerate((avro(First), avro(Second))):
        value = {"id": number, "note": "given"} if number else {"id": number}
        client.create_producer(topic, schema=schema).send(value)
    before = own_broker.rest("GET", schema_path(topic, "schemas"))
    own_broker.restart(crash=True)
    assert own_broker.rest("GET", schema_path(topic, "schemas")) == before
    client = new_client(own_broker.service_url)
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST, schema=avro(Second))
    messages = [receive(consumer) for _ in range(2)]
    assert [version(message) for message in messages] == [0, 1]
    assert [message.value() for message in messages] == [{"id": 0, "note": "none"}, {"id": 1, "note": "given"}]
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=avro(Text))


def test_settings_of_the_broker_hold_and_change(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    def set_to(name: str, value: str) -> None:
        assert own_broker.rest("POST", f"brokers/configuration/{name}/{value}")[0] == 204

    own_client.create_producer(topic, schema=avro(First))
    set_to("isSchemaValidationEnforced", "true")
    with pytest.raises(pulsar.IncompatibleSchema):
        own_client.create_producer(topic)
    set_to("isSchemaValidationEnforced", "false")
    own_client.create_producer(topic)
    set_to("isAllowAutoUpdateSchemaEnabled", "false")
    with pytest.raises(pulsar.IncompatibleSchema):
        own_client.create_producer(topic, schema=avro(Second))
    set_to("isAllowAutoUpdateSchemaEnabled", "true")
    set_to("schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
    own_client.create_producer(topic, schema=avro(Text))
