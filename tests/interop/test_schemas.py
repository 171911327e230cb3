"""Schemas with the official Python client: Avro, JSON, strings and Protobuf, in several versions, refused and enforced.

Everything here holds against Apache Pulsar as well.
"""

from __future__ import annotations

import json
import secrets

import pulsar
import pytest
from google.protobuf.struct_pb2 import ListValue, Struct
from pulsar import schema as kinds

from tests.interop.helpers import EARLIEST, SHARED, receive
from tests.support.broker import Broker


class First(kinds.Record):
    _avro_namespace = "shop"
    id = kinds.Integer(required=True)


class Second(kinds.Record):
    _avro_namespace = "shop"
    id = kinds.Integer(required=True)
    note = kinds.String(required=True, default="none", required_default=True)


class Mandatory(kinds.Record):
    _avro_namespace = "shop"
    id = kinds.Integer(required=True)
    price = kinds.Double(required=True)


class Text(kinds.Record):
    _avro_namespace = "shop"
    id = kinds.String(required=True)


def avro(record: type[kinds.Record]) -> kinds.AvroSchema:
    """All versions are called the same, as those of one class over time are."""
    return kinds.AvroSchema(None, {**record.schema(), "name": "Order"})


def version(message: pulsar.Message) -> int:
    return int.from_bytes(message.schema_version().encode("latin-1"), "big")


def schema_path(topic: str, last: str) -> str:
    return f"{topic.replace('persistent://', 'schemas/')}/{last}"


@pytest.fixture
def namespace(broker: Broker) -> str:
    """A namespace of this test's own, so that its policies are nobody else's."""
    name = f"public/schemas-{secrets.token_hex(4)}"
    assert broker.rest("PUT", f"namespaces/{name}")[0] == 204
    return name


def test_avro_goes_from_end_to_end(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", schema=kinds.AvroSchema(First))
    producer = client.create_producer(topic, schema=kinds.AvroSchema(First))
    producer.send(First(id=7))
    message = receive(consumer)
    assert message.value().id == 7
    assert version(message) == 0


def test_json_goes_from_end_to_end(broker: Broker, client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, schema=kinds.JsonSchema(Second))
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST, schema=kinds.JsonSchema(Second))
    producer.send(Second(id=1, note="x"))
    assert (receive(consumer).value().id, broker.rest("GET", schema_path(topic, "schema"))[1]["type"]) == (1, "JSON")


def test_strings_and_protobuf_go_from_end_to_end(client: pulsar.Client, topic: str) -> None:
    for number, (schema, value) in enumerate(
        ((kinds.StringSchema(), "text"), (kinds.ProtobufNativeSchema(ListValue), ListValue()))
    ):
        name = f"{topic}-{number}"
        consumer = client.subscribe(name, "s", schema=schema)
        producer = client.create_producer(name, schema=schema)
        producer.send(value)
        assert receive(consumer).value() == value
        client.create_producer(name, schema=schema)


def test_several_versions_are_read_each_with_its_own(client: pulsar.Client, topic: str) -> None:
    for number, schema in enumerate((avro(First), avro(Second))):
        producer = client.create_producer(topic, schema=schema)
        producer.send({"id": number, "note": "given"} if number else {"id": number})
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST, schema=avro(Second))
    messages = [receive(consumer) for _ in range(2)]
    assert [version(message) for message in messages] == [0, 1]
    assert [message.value() for message in messages] == [{"id": 0, "note": "none"}, {"id": 1, "note": "given"}]
    client.create_producer(topic, schema=avro(First)).send({"id": 2})
    assert version(receive(consumer)) == 0


def test_incompatible_producers_are_refused(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, schema=avro(First))
    for wrong in (avro(Text), avro(Mandatory), kinds.JsonSchema(First), kinds.StringSchema()):
        with pytest.raises(pulsar.IncompatibleSchema):
            client.create_producer(topic, schema=wrong)
    client.create_producer(topic, schema=avro(First)).send({"id": 1})


def test_incompatible_consumers_are_refused(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, schema=avro(First)).send({"id": 1})
    for wrong in (avro(Text), avro(Mandatory), kinds.JsonSchema(First), kinds.StringSchema()):
        with pytest.raises(pulsar.IncompatibleSchema):
            client.subscribe(topic, "s", schema=wrong)
    plain = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    assert receive(plain).data() == b"\x02"
    client.subscribe(topic, "s2", schema=avro(Second))


def test_a_consumer_registers_on_an_idle_topic_only(broker: Broker, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s", schema=avro(First))
    assert broker.rest("GET", schema_path(topic, "schema"))[1]["version"] == 0
    other = f"{topic}-other"
    client.create_producer(other)
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(other, "s", schema=avro(First))


def test_bytes_go_along_unless_validation_is_enforced(broker: Broker, client: pulsar.Client, namespace: str) -> None:
    topic = f"persistent://{namespace}/t"
    client.create_producer(topic, schema=avro(First))
    client.create_producer(topic).send(b"anything")
    assert broker.rest("POST", f"namespaces/{namespace}/schemaValidationEnforced", True)[0] == 204
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic)
    client.create_producer(topic, schema=avro(First))


def test_strategies_of_a_namespace(broker: Broker, client: pulsar.Client, namespace: str) -> None:
    where = f"namespaces/{namespace}/schemaCompatibilityStrategy"
    for strategy, wrong, right in (
        ("BACKWARD", Mandatory, Second),
        ("FORWARD", Text, Mandatory),
        ("ALWAYS_INCOMPATIBLE", Second, First),
        ("ALWAYS_COMPATIBLE", None, Text),
    ):
        assert broker.rest("PUT", where, strategy)[0] == 204
        topic = f"persistent://{namespace}/{strategy.lower()}"
        client.create_producer(topic, schema=avro(First))
        if wrong is not None:
            with pytest.raises(pulsar.IncompatibleSchema):
                client.create_producer(topic, schema=avro(wrong))
        client.create_producer(topic, schema=avro(right))


def test_without_automatic_updates_an_operator_uploads(broker: Broker, client: pulsar.Client, namespace: str) -> None:
    topic = f"persistent://{namespace}/t"
    assert broker.rest("POST", f"namespaces/{namespace}/isAllowAutoUpdateSchema", False)[0] == 204
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=avro(First))
    payload = {"type": "AVRO", "schema": json.dumps({**First.schema(), "name": "Order"}), "properties": {}}
    assert broker.rest("POST", schema_path(topic, "schema"), payload) == (200, {"version": {"version": 0}})
    client.create_producer(topic, schema=avro(First)).send({"id": 1})


def test_partitions_have_one_schema(broker: Broker, client: pulsar.Client, topic: str) -> None:
    broker.topic_rest("PUT", topic, "partitions", 3)
    consumer = client.subscribe(topic, "s", schema=avro(First))
    producer = client.create_producer(topic, schema=avro(First))
    for number in range(6):
        producer.send({"id": number}, partition_key=f"k{number}")
    assert sorted(receive(consumer).value()["id"] for _ in range(6)) == list(range(6))
    assert len(broker.rest("GET", schema_path(topic, "schemas"))[1]["getSchemaResponses"]) == 1
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=avro(Text))


def test_the_root_message_of_a_protobuf_schema_stays(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, schema=kinds.ProtobufNativeSchema(Struct))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=kinds.ProtobufNativeSchema(ListValue))


def test_a_deleted_schema_makes_room_for_another(broker: Broker, client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, schema=avro(First))
    producer.close()
    assert broker.rest("DELETE", schema_path(topic, "schema")) == (200, {"version": 1})
    producer = client.create_producer(topic, schema=avro(Text))
    producer.send({"id": "x"})
    assert broker.rest("GET", schema_path(topic, "schema"))[1]["version"] == 2
