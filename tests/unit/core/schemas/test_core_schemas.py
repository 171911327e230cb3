"""Schemas on the wire of the core: registered, versioned, found, refused, kept over a crash, gone with the topic."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from magnetar.core.catalog import NAMESPACES, SCHEMAS, TOPICS, encode_row
from magnetar.core.creating import create_partitioned, delete_partitioned, delete_topic
from magnetar.core.names import TopicName
from magnetar.core.schemas.info import from_wire, join_pair
from magnetar.wire.commands import pb
from tests.support.corebroker import CoreBroker, Frame, answered, full
from tests.unit.core.schemas.pairs import BASE, default, record

INCOMPATIBLE = pb.ServerError.IncompatibleSchema
NOT_FOUND = pb.ServerError.TopicNotFound
OPTIONAL = record(("a", "int"), ("b", ["null", "int"], default(None)))
OTHER_TYPE = record(("a", "string"))
WITHOUT_DEFAULT = record(("a", "int"), ("b", "int"))


def avro(definition: Any, kind: str = "AVRO", **properties: str) -> pb.Schema:
    made = pb.Schema(name="s", type=kind, schema_data=json.dumps(definition).encode())  # type: ignore[arg-type]
    for key, value in properties.items():
        made.properties.add(key=key, value=value)
    return made


def plain(kind: str) -> pb.Schema:
    return pb.Schema(name="s", type=kind, schema_data=b"")  # type: ignore[arg-type]


def pair(key: pb.Schema, value: pb.Schema, *kinds: str) -> pb.Schema:
    made = pb.Schema(name="s", type="KEY_VALUE", schema_data=join_pair(key.schema_data, value.schema_data))
    for side, kind in zip(("key", "value"), kinds, strict=True):
        made.properties.add(key=f"{side}.schema.type", value=kind)
    return made


def version(frame: Frame | None) -> int:
    """The version that an answer names, -1 for none."""
    found = answered(frame).message
    assert not getattr(found, "error_message", ""), found
    return int.from_bytes(found.schema_version, "big") if found.schema_version else -1


def code(frame: Frame | None) -> int:
    found = answered(frame)
    assert found.name in ("ERROR", "GET_SCHEMA_RESPONSE", "GET_OR_CREATE_SCHEMA_RESPONSE"), found
    return int(found.message.error if found.name == "ERROR" else found.message.error_code)


class Bench:
    """A broker with a client that opens producers and consumers under ever new ids."""

    def __init__(self, **options: Any) -> None:
        self.broker = CoreBroker(**options)
        self.client = self.broker.client()
        self.ids = 0

    def restart(self) -> None:
        self.broker.restart()
        self.client = self.broker.client()

    def produce(self, schema: pb.Schema | None, topic: str = "t", **fields: Any) -> Frame | None:
        self.ids += 1
        if schema is not None:
            fields["schema"] = schema
        return self.client.producer(topic, self.ids, **fields)

    def consume(self, schema: pb.Schema | None, topic: str = "t", **fields: Any) -> Frame | None:
        self.ids += 1
        if schema is not None:
            fields["schema"] = schema
        return self.client.subscribe(topic, f"s{self.ids}", consumer_id=self.ids, **fields)

    def get(self, topic: str = "t", **fields: Any) -> Frame | None:
        return self.client.ask(pb.CommandGetSchema(topic=full(topic), **fields))

    def get_or_create(self, schema: pb.Schema, topic: str = "t") -> Frame | None:
        return self.client.ask(pb.CommandGetOrCreateSchema(topic=full(topic), schema=schema))

    def policy(self, **values: Any) -> None:
        """Set policies of the namespace."""
        self.broker.core.rows.change(
            NAMESPACES + "public/default", lambda row: {**(row or {}), **values}, False, lambda error: None
        )
        self.broker.turn()

    def row(self, topic: str = "t") -> Any:
        name = TopicName(full(topic))
        data = self.broker.rows.get(f"{SCHEMAS}{name.namespace}/{name.parent}")
        return json.loads(data) if data is not None else None


def _delete(broker: CoreBroker, topic: str) -> None:
    delete_topic(broker.core, broker.topic(topic), lambda error: None)
    broker.turn()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_schema_gets_a_version_and_keeps_it(bench: Bench) -> None:
    assert version(bench.produce(avro(BASE))) == 0
    assert version(bench.produce(avro(BASE))) == 0
    assert version(bench.produce(avro({**BASE, "doc": "more"}))) == 0
    assert version(bench.produce(avro(OPTIONAL))) == 1
    assert version(bench.produce(avro(BASE))) == 0
    assert version(bench.produce(None)) == -1


def test_versions_are_eight_bytes_and_can_be_asked_for(bench: Bench) -> None:
    bench.produce(avro(BASE, owner="me"))
    bench.produce(avro(OPTIONAL))
    latest = answered(bench.get()).message
    assert latest.schema_version == b"\0\0\0\0\0\0\0\1"
    assert json.loads(latest.schema.schema_data) == OPTIONAL
    first = answered(bench.get(schema_version=b"\0" * 8)).message.schema
    assert json.loads(first.schema_data) == BASE
    assert pb.Schema.Type.Name(first.type) == "AVRO"
    assert [(kept.key, kept.value) for kept in first.properties] == [("owner", "me")]
    assert first.name == "public/default/t"
    assert code(bench.get(schema_version=b"\0" * 7 + b"\2")) == NOT_FOUND
    assert code(bench.get(schema_version=b"")) == INCOMPATIBLE
    assert code(bench.get(schema_version=b"123")) == INCOMPATIBLE
    assert code(bench.get("none")) == NOT_FOUND


def test_an_incompatible_producer_is_refused_and_leaves_nothing(bench: Bench) -> None:
    bench.produce(avro(BASE))
    for wrong in (avro(OTHER_TYPE), avro(WITHOUT_DEFAULT), avro(BASE, "JSON"), plain("STRING")):
        assert code(bench.produce(wrong)) == INCOMPATIBLE
    assert len(bench.broker.topic().producers) == 1
    assert version(bench.get()) == 0
    assert not bench.client.session.opening


def test_a_definition_that_is_none_is_refused(bench: Bench) -> None:
    for kind in ("AVRO", "JSON", "PROTOBUF", "PROTOBUF_NATIVE"):
        assert code(bench.produce(pb.Schema(name="s", type=kind, schema_data=b"{"))) == INCOMPATIBLE  # type: ignore[arg-type]
    for data in (b"[" * 100_000, b"\xff", b'"' + b"x" * (600 << 10)):
        assert code(bench.produce(pb.Schema(name="s", type="AVRO", schema_data=data))) == INCOMPATIBLE
    for kind in ("STRING", "INT32", "BOOLEAN", "LOCAL_DATE_TIME"):
        assert code(bench.produce(pb.Schema(name="s", type=kind, schema_data=b"x"))) == INCOMPATIBLE  # type: ignore[arg-type]
    assert code(bench.produce(plain("AUTO_CONSUME"))) == INCOMPATIBLE
    assert bench.row() is None
    assert version(bench.produce(plain("NONE"))) == -1


def test_get_or_create_adds_versions_to_topics_that_exist(bench: Bench) -> None:
    assert code(bench.get_or_create(avro(BASE))) == NOT_FOUND
    bench.produce(avro(BASE))
    assert version(bench.get_or_create(avro(OPTIONAL))) == 1
    assert version(bench.get_or_create(avro(BASE))) == 0
    assert code(bench.get_or_create(avro(OTHER_TYPE))) == INCOMPATIBLE
    assert code(bench.get_or_create(plain("NONE"))) == INCOMPATIBLE


STRATEGIES = [
    # strategy, then which of these may follow BASE-with-b: b gone, c with default, c without, c and all of them changed
    ("BACKWARD", True, True, False),
    ("FORWARD", False, True, True),
    ("FULL", False, True, False),
    ("ALWAYS_COMPATIBLE", True, True, True),
    ("ALWAYS_INCOMPATIBLE", False, False, False),
    ("UNDEFINED", False, True, False),
]


@pytest.mark.parametrize(("strategy", "removed", "with_default", "without"), STRATEGIES, ids=[s[0] for s in STRATEGIES])
def test_strategies(strategy: str, removed: bool, with_default: bool, without: bool) -> None:
    for level in ("broker", "namespace"):
        for definition, allowed in (
            (BASE, removed),
            (record(("a", "int"), ("b", "int"), ("c", "int", default(1))), with_default),
            (record(("a", "int"), ("b", "int"), ("c", "int")), without),
        ):
            bench = Bench(schema_strategy=strategy) if level == "broker" else Bench()
            if level == "namespace":
                bench.policy(schema_compatibility_strategy=strategy)
            bench.produce(avro(WITHOUT_DEFAULT))
            found = answered(bench.produce(avro(definition)))
            assert found.name == ("PRODUCER_SUCCESS" if allowed else "ERROR"), found


TRANSITIVE = {
    "BACKWARD": (WITHOUT_DEFAULT, BASE, record(("a", "int"), ("b", "string", default("")))),
    "FORWARD": (BASE, record(("a", "int", default(0)), ("b", "int")), record(("b", "int"))),
    "FULL": (OPTIONAL, BASE, record(("a", "int"), ("b", ["null", "string"], default(None)))),
}


@pytest.mark.parametrize("strategy", list(TRANSITIVE))
def test_transitive_strategies_look_at_every_version(strategy: str) -> None:
    first, second, third = TRANSITIVE[strategy]
    for name, last in ((strategy, "PRODUCER_SUCCESS"), (f"{strategy}_TRANSITIVE", "ERROR")):
        bench = Bench(schema_strategy=name)
        assert version(bench.produce(avro(first))) == 0
        assert version(bench.produce(avro(second))) == 1
        assert answered(bench.produce(avro(third))).name == last


def test_json_follows_the_same_rules(bench: Bench) -> None:
    assert version(bench.produce(avro(BASE, "JSON"))) == 0
    assert version(bench.produce(avro(OPTIONAL, "JSON"))) == 1
    assert code(bench.produce(avro(OTHER_TYPE, "JSON"))) == INCOMPATIBLE


def test_both_halves_of_a_key_value_schema_are_checked(bench: Bench) -> None:
    def made(key: Any, value: Any) -> pb.Schema:
        return pair(avro(key), avro(value), "AVRO", "JSON")

    assert version(bench.produce(made(BASE, BASE))) == 0
    assert version(bench.produce(made(BASE, OPTIONAL))) == 1
    assert code(bench.produce(made(OTHER_TYPE, OPTIONAL))) == INCOMPATIBLE
    assert code(bench.produce(made(BASE, OTHER_TYPE))) == INCOMPATIBLE
    assert code(bench.produce(pair(plain("STRING"), avro(BASE), "STRING", "JSON"))) == INCOMPATIBLE
    assert code(bench.produce(pb.Schema(name="s", type="KEY_VALUE", schema_data=b"\0\0\0\x09x"))) == INCOMPATIBLE
    found = answered(bench.get(schema_version=b"\0" * 8)).message.schema
    assert found.schema_data == made(BASE, BASE).schema_data


def test_the_type_of_the_key_is_part_of_a_key_value_schema(bench: Bench) -> None:
    assert version(bench.produce(pair(plain("STRING"), avro(BASE), "STRING", "AVRO"))) == 0
    assert code(bench.produce(pair(plain("INT32"), avro(BASE), "INT32", "AVRO"))) == INCOMPATIBLE


def test_native_protobuf_keeps_its_root_message(bench: Bench) -> None:
    assert version(bench.produce(native("M", ["a"]))) == 0
    assert version(bench.produce(native("M", ["a", "b"]))) == 1
    assert code(bench.produce(native("Other", ["a"]))) == INCOMPATIBLE
    assert code(bench.produce(native("M", ["a"], root="Absent"))) == INCOMPATIBLE
    bench.policy(schema_compatibility_strategy="ALWAYS_COMPATIBLE")
    assert version(bench.produce(native("Other", ["a"]))) == 2


def native(message: str, fields: list[str], root: str = "") -> pb.Schema:
    files = FileDescriptorSet()
    file = files.file.add(name="m.proto", package="p")
    kind = file.message_type.add(name=message)
    for number, field in enumerate(fields, 1):
        kind.field.add(name=field, number=number)
    text = {
        "fileDescriptorSet": base64.b64encode(files.SerializeToString()).decode(),
        "rootMessageTypeName": f"p.{root or message}",
        "rootFileDescriptorName": "m.proto",
    }
    return avro(text, "PROTOBUF_NATIVE")


def test_external_schemas_are_taken_as_they_are(bench: Bench) -> None:
    assert version(bench.produce(pb.Schema(name="s", type="EXTERNAL", schema_data=b"\xff"))) == 0
    assert answered(bench.get()).message.schema.schema_data == b"\xff"
    assert version(bench.produce(pb.Schema(name="s", type="EXTERNAL", schema_data=b"\xfe"))) == 1


def test_without_automatic_updates_only_known_schemas_are_taken(bench: Bench) -> None:
    bench.produce(avro(BASE))
    bench.policy(is_allow_auto_update_schema=False)
    assert code(bench.produce(avro(OPTIONAL))) == INCOMPATIBLE
    assert version(bench.produce(avro(BASE))) == 0
    assert code(bench.produce(avro(BASE), "other")) == INCOMPATIBLE
    bench.policy(is_allow_auto_update_schema=True)
    assert version(bench.produce(avro(OPTIONAL))) == 1


def test_enforced_validation_refuses_producers_without_schema(bench: Bench) -> None:
    bench.policy(schema_validation_enforced=True)
    assert version(bench.produce(None)) == -1
    bench.produce(avro(BASE))
    assert code(bench.produce(None)) == INCOMPATIBLE
    bench.policy(schema_validation_enforced=False)
    assert version(bench.produce(None)) == -1


def test_the_broker_enforces_validation_whatever_policies_say() -> None:
    bench = Bench(schema_enforced=True)
    bench.policy(schema_validation_enforced=False)
    bench.produce(avro(BASE))
    assert code(bench.produce(None)) == INCOMPATIBLE


def test_a_consumer_needs_to_read_what_is_there(bench: Bench) -> None:
    bench.produce(avro(BASE))
    assert answered(bench.consume(avro(OPTIONAL))).name == "SUCCESS"
    assert code(bench.consume(avro(WITHOUT_DEFAULT))) == INCOMPATIBLE
    assert code(bench.consume(plain("STRING"))) == INCOMPATIBLE
    assert code(bench.consume(avro(BASE, "JSON"))) == INCOMPATIBLE
    for schema in (None, plain("AUTO_CONSUME"), plain("NONE")):
        assert answered(bench.consume(schema)).name == "SUCCESS"
    assert version(bench.get()) == 0
    assert not bench.client.session.opening


def test_a_consumer_brings_the_schema_of_an_idle_topic(bench: Bench) -> None:
    bench.consume(plain("AUTO_CONSUME"))
    assert answered(bench.consume(avro(BASE))).name == "SUCCESS"
    assert version(bench.get()) == 0


@pytest.mark.parametrize("use", ["producer", "consumer", "data"])
def test_a_topic_in_use_without_schema_gets_none_from_a_consumer(bench: Bench, use: str) -> None:
    if use == "consumer":
        bench.consume(None)
    else:
        bench.produce(None)
    if use == "data":
        bench.client.publish(b"x")
        bench.client.close_producer()
    assert code(bench.consume(avro(BASE))) == INCOMPATIBLE
    assert version(bench.produce(avro(BASE))) == 0
    assert answered(bench.consume(avro(BASE))).name == "SUCCESS"


def test_partitions_share_their_schemas(bench: Bench) -> None:
    assert version(bench.produce(avro(BASE), "t-partition-0")) == 0
    assert version(bench.produce(avro(OPTIONAL), "t-partition-1")) == 1
    assert version(bench.get("t-partition-2")) == 1
    assert code(bench.produce(avro(OTHER_TYPE), "t-partition-1")) == INCOMPATIBLE
    _delete(bench.broker, "t-partition-0")
    assert version(bench.get("t")) == 1
    _delete(bench.broker, "t-partition-1")
    assert code(bench.get("t")) == NOT_FOUND


def test_schemas_go_with_their_topic(bench: Bench) -> None:
    bench.produce(avro(BASE))
    bench.produce(avro(OPTIONAL))
    _delete(bench.broker, "t")
    assert bench.row() is None
    assert code(bench.get()) == NOT_FOUND
    assert version(bench.produce(avro(OTHER_TYPE))) == 0


def test_schemas_go_with_a_partitioned_topic_at_once(bench: Bench) -> None:
    name = TopicName(full("t"))
    create_partitioned(bench.broker.core, name, 2, True, lambda error: None)
    bench.broker.turn()
    for index in range(2):
        bench.produce(avro(BASE), f"t-partition-{index}")
    bench.broker.auto_store = False
    delete_partitioned(bench.broker.core, name, lambda error: None)
    # What is to go is noted first, then the topic is gone.
    for _ in range(2):
        bench.broker.turn()
        bench.broker.store()
    assert code(bench.get("t-partition-0")) == NOT_FOUND
    bench.broker.auto_store = True
    bench.broker.turn()
    assert bench.row() is None


def test_a_first_schema_that_comes_while_its_topic_goes_does_not_stay(bench: Bench) -> None:
    bench.produce(None)
    bench.broker.auto_store = False
    upload(bench, "t")
    # The store makes the two changes in the other order here, which another path through it may do.
    _delete(bench.broker, "t")
    bench.broker.writes.reverse()
    bench.broker.auto_store = True
    bench.broker.turn()
    assert bench.row() is None
    assert code(bench.get()) == NOT_FOUND


def test_a_crash_keeps_what_was_answered(bench: Bench) -> None:
    bench.produce(avro(BASE))
    bench.produce(avro(OPTIONAL))
    bench.restart()
    assert version(bench.get()) == 1
    assert code(bench.produce(avro(OTHER_TYPE))) == INCOMPATIBLE
    assert version(bench.produce(avro(BASE))) == 0


def test_nobody_hears_of_a_version_before_it_is_stored(bench: Bench) -> None:
    bench.produce(None)
    bench.broker.auto_store = False
    assert bench.produce(avro(BASE)) is None
    assert bench.produce(avro(BASE)) is None
    assert code(bench.get()) == NOT_FOUND
    bench.broker.store()
    bench.broker.turn()
    answers = bench.client.take("PRODUCER_SUCCESS")
    assert [int.from_bytes(found.message.schema_version, "big") for found in answers] == [0, 0]
    assert not bench.broker.writes
    assert version(bench.get()) == 0


def test_two_at_once_are_checked_against_each_other(bench: Bench) -> None:
    bench.produce(None)
    bench.broker.auto_store = False
    bench.produce(avro(BASE))
    bench.produce(avro(OTHER_TYPE))
    bench.produce(avro(OPTIONAL))
    bench.broker.auto_store = True
    bench.broker.turn()
    answers = bench.client.take("PRODUCER_SUCCESS")
    assert [int.from_bytes(found.message.schema_version, "big") for found in answers] == [0, 1]
    assert [found.message.error for found in bench.client.take("ERROR")] == [INCOMPATIBLE]


def test_a_store_that_fails_refuses_the_producer(bench: Bench) -> None:
    bench.produce(None)
    bench.broker.auto_store = False
    bench.produce(avro(BASE))
    bench.broker.store("the metadata store is gone")
    bench.broker.auto_store = True
    bench.broker.turn()
    assert [found.message.error for found in bench.client.take("ERROR")] == [pb.ServerError.MetadataError]
    assert code(bench.get()) == NOT_FOUND
    assert version(bench.produce(avro(BASE))) == 0


def test_a_crash_between_topic_and_schemas_leaves_no_half(bench: Bench) -> None:
    """The topic's row is gone and its schemas' row is not: the next start takes it away."""
    bench.produce(avro(BASE))
    del bench.broker.rows[TOPICS + "public/default/persistent/t"]
    bench.restart()
    assert bench.row() is None
    assert version(bench.produce(avro(OTHER_TYPE))) == 0


def test_schemas_uploaded_before_their_topic_stay_and_are_then_the_topics(bench: Bench) -> None:
    upload(bench, "t")
    assert bench.row()["topic"] is False
    bench.restart()
    assert version(bench.get()) == 0
    bench.produce(None)
    assert bench.row()["topic"] is True
    _delete(bench.broker, "t")
    assert bench.row() is None


def test_an_adoption_that_a_crash_cut_off_is_made_up_for(bench: Bench) -> None:
    upload(bench, "t")
    orphan = bench.broker.rows[SCHEMAS + "public/default/t"]
    bench.produce(None)
    bench.broker.rows[SCHEMAS + "public/default/t"] = orphan
    bench.restart()
    assert bench.row()["topic"] is True


def test_schemas_go_with_their_namespace(bench: Bench) -> None:
    path = NAMESPACES + "public/other"
    bench.broker.core.meta_write(path, {}, True, lambda error: None)
    bench.broker.turn()
    upload(bench, "persistent://public/other/t")
    assert bench.row("persistent://public/other/t") is not None
    bench.broker.core.meta_write(path, None, False, lambda error: None)
    bench.broker.turn()
    assert bench.row("persistent://public/other/t") is None


def upload(bench: Bench, topic: str) -> None:
    info = from_wire(avro(BASE))
    assert info is not None
    bench.broker.core.schemas.register(TopicName(full(topic)), info, "FULL", True, lambda version, error: None)
    bench.broker.turn()


def test_deleting_takes_a_version_and_forgetting_none(bench: Bench) -> None:
    book, name = bench.broker.core.schemas, TopicName(full("t"))
    bench.produce(avro(BASE))
    heard: list[tuple[int, Exception | None]] = []

    def hear(version: int, error: Exception | None) -> None:
        heard.append((version, error))

    book.delete(name, False, hear)
    bench.broker.turn()
    assert code(bench.get()) == NOT_FOUND
    assert code(bench.get(schema_version=b"\0" * 8)) == NOT_FOUND
    assert version(bench.produce(avro(OTHER_TYPE))) == 2
    bench.restart()
    book = bench.broker.core.schemas
    assert version(bench.get()) == 2
    book.delete(name, True, hear)
    bench.broker.turn()
    assert version(bench.produce(avro(BASE))) == 0
    assert heard == [(1, None), (-1, None)]


def test_the_schemas_of_a_topic_have_a_limit(bench: Bench) -> None:
    bench.policy(schema_compatibility_strategy="ALWAYS_COMPATIBLE")
    for number in range(9):
        found = bench.produce(pb.Schema(name="s", type="EXTERNAL", schema_data=bytes([number]) * (500 << 10)))
        assert answered(found).name == ("PRODUCER_SUCCESS" if number < 8 else "ERROR")
    assert code(bench.produce(pb.Schema(name="s", type="EXTERNAL", schema_data=b"x" * (513 << 10)))) == INCOMPATIBLE


def test_a_new_row_is_what_it_is(bench: Bench) -> None:
    """The row's form is on disks, so it stays."""
    bench.produce(plain("STRING"), "t")
    assert bench.broker.rows[SCHEMAS + "public/default/t"] == encode_row(
        {
            "live": [
                {
                    "data": "",
                    "digest": "STRING:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                    "ms": 1_700_000_000_000,
                    "props": {},
                    "type": "STRING",
                    "v": 0,
                }
            ],
            "next": 1,
            "topic": True,
        }
    )
