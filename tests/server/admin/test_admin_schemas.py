"""Schemas over HTTP: upload, read, check, delete, and what is refused."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

from tests.server.admin.conftest import Served, path
from tests.unit.core.schemas.pairs import BASE, default, record

OPTIONAL = record(("a", "int"), ("b", ["null", "int"], default(None)))
OTHER_TYPE = record(("a", "string"))


@pytest.fixture
def where() -> str:
    """Path of a topic that nobody else uses, as schemas have it."""
    return f"schemas/public/default/{secrets.token_hex(6)}"


def avro(definition: Any, kind: str = "AVRO", **properties: str) -> dict[str, object]:
    return {"type": kind, "schema": json.dumps(definition), "properties": properties}


def plain(kind: str) -> dict[str, object]:
    return {"type": kind, "schema": "", "properties": {}}


def test_upload_and_read(served: Served, where: str) -> None:
    assert served.post(f"{where}/schema", avro(BASE, owner="me")).json == {"version": {"version": 0}}
    assert served.post(f"{where}/schema", avro(BASE)).json == {"version": {"version": 0}}
    assert served.post(f"{where}/schema", avro(OPTIONAL)).json == {"version": {"version": 1}}
    first = served.get(f"{where}/schema/0").json
    assert list(first) == ["version", "type", "timestamp", "data", "properties"]
    assert first["version"] == 0
    assert first["type"] == "AVRO"
    assert first["timestamp"] > 1_700_000_000_000
    assert json.loads(first["data"]) == BASE
    assert first["properties"] == {"owner": "me"}
    latest = served.get(f"{where}/schema").json
    assert json.loads(latest["data"]) == OPTIONAL
    assert served.get(f"{where}/schemas").json == {"getSchemaResponses": [first, latest]}
    assert served.get(f"{where}/metadata").json == {
        "info": {"ledgerId": -1, "entryId": -1, "version": 1},
        "index": [{"ledgerId": -1, "entryId": -1, "version": number} for number in (0, 1)],
    }


def test_an_upload_makes_no_topic(served: Served, where: str) -> None:
    served.post(f"{where}/schema", avro(BASE))
    assert not any(name.endswith(where.rpartition("/")[2]) for name in served.get("persistent/public/default").json)


def test_what_is_not_there(served: Served, where: str) -> None:
    for last in ("schema", "schema/0", "schema/-1"):
        assert served.get(f"{where}/{last}").refusal == (404, "Schema not found")
    assert served.get(f"{where}/schemas").json == {"getSchemaResponses": []}
    assert served.get(f"{where}/metadata").status == 204
    assert served.delete(f"{where}/schema").json == {"version": 0}
    assert served.post(f"{where}/version", avro(BASE)).json == {"version": -1}
    assert served.get("schemas/public/none/t/schema").status == 404
    assert served.post("schemas/public/none/t/schema", avro(BASE)).status == 404


def test_incompatible_schemas_are_refused(served: Served, where: str) -> None:
    served.post(f"{where}/schema", avro(BASE))
    status, reason = served.post(f"{where}/schema", avro(OTHER_TYPE)).refusal
    assert status == 409
    assert "field a: string cannot read int" in reason
    status, reason = served.post(f"{where}/schema", avro(BASE, "JSON")).refusal
    assert status == 409
    assert "exists schema type AVRO, new schema type JSON" in reason
    assert served.get(f"{where}/schema").json["version"] == 0


def test_compatibility_is_asked_without_registering(served: Served, where: str) -> None:
    for definition, compatible in ((BASE, True), (OPTIONAL, True), (OTHER_TYPE, False)):
        answer = served.post(f"{where}/compatibility", avro(definition))
        assert answer.status == 202
        # Anything may be the first one.
        assert answer.json == {"schemaCompatibilityStrategy": "FULL", "compatibility": True}
        served.post(f"{where}/schema", avro(BASE))
        answer = served.post(f"{where}/compatibility", avro(definition))
        assert answer.json == {"schemaCompatibilityStrategy": "FULL", "compatibility": compatible}
        assert served.get(f"{where}/schema").json["version"] == 0
        served.delete(f"{where}/schema?force=true")


def test_the_version_of_a_schema(served: Served, where: str) -> None:
    served.post(f"{where}/schema", avro(BASE))
    served.post(f"{where}/schema", avro(OPTIONAL))
    assert served.post(f"{where}/version", avro(OPTIONAL)).json == {"version": 1}
    assert served.post(f"{where}/version", avro(BASE, more="properties")).json == {"version": 0}
    assert served.post(f"{where}/version", avro(OTHER_TYPE)).json == {"version": -1}
    assert served.post(f"{where}/version", {"type": "AVRO", "schema": "{"}).json == {"version": -1}


def test_deleting_takes_a_version(served: Served, where: str) -> None:
    served.post(f"{where}/schema", avro(BASE))
    assert served.delete(f"{where}/schema").json == {"version": 1}
    assert served.get(f"{where}/schema").refusal == (404, "Schema not found")
    assert served.get(f"{where}/schema/0").refusal == (404, "Schema not found")
    assert served.delete(f"{where}/schema").json == {"version": 2}
    assert served.post(f"{where}/schema", avro(OTHER_TYPE)).json == {"version": {"version": 3}}
    assert served.delete(f"{where}/schema?force=true").json == {"version": -1}
    assert served.post(f"{where}/schema", avro(BASE)).json == {"version": {"version": 0}}


@pytest.mark.parametrize("kind", ["STRING", "INT32", "BOOLEAN", "LOCAL_DATE_TIME", "INSTANT", "EXTERNAL", "NONE"])
def test_types_without_definition(served: Served, where: str, kind: str) -> None:
    assert served.post(f"{where}/schema", plain(kind)).json == {"version": {"version": 0}}
    found = served.get(f"{where}/schema").json
    assert (found["type"], found["data"]) == (kind, "")


def test_plain_bytes_are_called_none(served: Served, where: str) -> None:
    assert served.post(f"{where}/schema", plain("BYTES")).status == 200
    assert served.get(f"{where}/schema").json["type"] == "NONE"


def pair(key: Any, value: Any, key_kind: str = "AVRO", value_kind: str = "AVRO") -> dict[str, object]:
    properties = {"key.schema.type": key_kind, "value.schema.type": value_kind, "kv.encoding.type": "INLINE"}
    return {"type": "KEY_VALUE", "schema": json.dumps({"key": key, "value": value}), "properties": properties}


def test_key_value_schemas_are_shown_as_they_were_given(served: Served, where: str) -> None:
    for given in (pair(BASE, OPTIONAL), pair("", BASE, "STRING")):
        assert served.post(f"{where}/schema", given).json == {"version": {"version": 0}}
        found = served.get(f"{where}/schema").json
        assert json.loads(found["data"]) == json.loads(str(given["schema"]))
        assert found["properties"] == given["properties"]
        served.delete(f"{where}/schema?force=true")


def test_key_value_schemas_are_checked(served: Served, where: str) -> None:
    served.post(f"{where}/schema", pair(BASE, BASE))
    status, reason = served.post(f"{where}/schema", pair(OTHER_TYPE, BASE)).refusal
    assert status == 409
    assert "key: " in reason
    assert served.post(f"{where}/schema", pair(BASE, OTHER_TYPE)).status == 409
    assert served.post(f"{where}/schema", pair(BASE, OPTIONAL)).json == {"version": {"version": 1}}


REFUSED: list[tuple[str, int, object]] = [
    ("client-side type", 422, plain("AUTO_CONSUME")),
    ("unknown type", 422, plain("WEIRD")),
    ("small letters", 422, plain("string")),
    ("data of a string", 422, {"type": "STRING", "schema": "x"}),
    ("data of a number", 422, {"type": "INT32", "schema": "x"}),
    ("no Avro", 422, {"type": "AVRO", "schema": "x"}),
    ("no definition", 422, {"type": "JSON", "schema": "{}"}),
    ("JSON schema of old", 422, {"type": "JSON", "schema": '{"type":"object","properties":{}}'}),
    ("empty Protobuf", 422, plain("PROTOBUF")),
    ("empty descriptor", 422, plain("PROTOBUF_NATIVE")),
    ("empty pair", 422, plain("KEY_VALUE")),
    ("half a pair", 422, {"type": "KEY_VALUE", "schema": '{"key":""}'}),
    ("pair of nonsense", 422, {"type": "KEY_VALUE", "schema": "[" * 5000}),
    ("pair in a pair", 422, pair({}, {}, "KEY_VALUE")),
    ("wrong half", 422, pair("wat", BASE)),
    ("too long", 422, {"type": "EXTERNAL", "schema": "x" * 600_000}),
    ("no type", 400, {"schema": ""}),
    ("no schema", 400, {"type": "AVRO"}),
    ("no body", 400, None),
    ("a list", 400, []),
    ("wrong properties", 400, {"type": "STRING", "schema": "", "properties": {"a": 1}}),
]


@pytest.mark.parametrize(("what", "status", "body"), REFUSED, ids=[line[0] for line in REFUSED])
def test_what_is_no_schema_is_refused(served: Served, where: str, what: str, status: int, body: object) -> None:
    for last in ("schema", "compatibility"):
        assert served.post(f"{where}/{last}", body).refusal[0] == status
    assert served.get(f"{where}/schemas").json == {"getSchemaResponses": []}


def test_fields_that_are_not_known_are_passed_over(served: Served, where: str) -> None:
    assert served.post(f"{where}/schema", {**plain("STRING"), "more": 1}).status == 200


def test_a_version_is_a_number(served: Served, where: str) -> None:
    assert served.get(f"{where}/schema/x").refusal[0] == 400


def test_partitions_show_the_schemas_of_their_topic_and_all_go_together(served: Served, topic: str) -> None:
    where = path(topic).replace("persistent/", "schemas/")
    assert served.put(f"{path(topic)}/partitions", 2).status == 204
    assert served.post(f"{where}-partition-1/schema", avro(BASE)).json == {"version": {"version": 0}}
    assert served.get(f"{where}/schema").json["version"] == 0
    assert served.delete(f"{path(topic)}/partitions").status == 204
    assert served.get(f"{where}/schema").status == 404
    assert served.put(path(topic)).status == 204
    assert served.post(f"{where}/schema", avro(OTHER_TYPE)).json == {"version": {"version": 0}}
    assert served.delete(path(topic)).status == 204
    assert served.get(f"{where}/schema").status == 404


def test_policies_of_topic_and_namespace_act(served: Served, topic: str) -> None:
    where = path(topic).replace("persistent/", "schemas/")
    served.put(path(topic))
    served.post(f"{where}/schema", avro(BASE))
    assert served.get(f"{path(topic)}/schemaCompatibilityStrategy?applied=true").json == "FULL"
    strategy = "/admin/v2/namespaces/public/default/schemaCompatibilityStrategy"
    assert served.ask("PUT", strategy, "ALWAYS_INCOMPATIBLE").status == 204
    assert served.post(f"{where}/schema", avro(OPTIONAL)).status == 409
    own = f"/admin/v2/{path(topic)}/schemaCompatibilityStrategy"
    assert served.ask("PUT", own, "ALWAYS_COMPATIBLE").status == 204
    assert served.post(f"{where}/schema", avro(OTHER_TYPE)).json == {"version": {"version": 1}}
    assert served.ask("PUT", own, "UNDEFINED").status == 204
    assert served.post(f"{where}/schema", avro(OPTIONAL)).status == 409
    assert served.ask("DELETE", strategy).status == 204
    answer = served.post(f"{where}/compatibility", avro(OPTIONAL))
    assert answer.json == {"schemaCompatibilityStrategy": "FULL", "compatibility": False}
