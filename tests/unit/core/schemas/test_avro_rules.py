"""Avro definitions: which texts are some, which are the same, and which reads what another wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from magnetar.core.schemas.avro import AvroSchema
from magnetar.core.schemas.avrotext import DEPTH_MAX, NODES_MAX, SCHEMA_BYTES_MAX, parse
from magnetar.core.schemas.resolve import Effort
from magnetar.core.schemas.resolve import why_unreadable as why
from magnetar.errors import IncompatibleSchema, InvalidSchema
from tests.unit.core.schemas.pairs import (
    BASE,
    DEFINITIONS,
    NODE,
    PAIRS,
    array,
    default,
    enum,
    fixed,
    record,
)


def why_unreadable(writer: AvroSchema, reader: AvroSchema) -> str:
    return why(writer, reader, Effort())


def schema(definition: Any) -> AvroSchema:
    return parse(json.dumps(definition).encode())


@pytest.mark.parametrize(("name", "readable", "writer", "reader"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_a_definition_reads_another_where_pulsar_says_so(name: str, readable: bool, writer: Any, reader: Any) -> None:
    assert (why_unreadable(schema(writer), schema(reader)) == "") is readable


@pytest.mark.parametrize(("name", "valid", "text"), DEFINITIONS, ids=[line[0] for line in DEFINITIONS])
def test_a_text_is_a_definition_where_pulsar_says_so(name: str, valid: bool, text: Any) -> None:
    if valid:
        schema(text)
    else:
        with pytest.raises(InvalidSchema):
            schema(text)


SAME = [
    ("documentation", BASE, record(("a", "int", {"doc": "x"}), doc="y")),
    ("aliases", BASE, record(("a", "int", {"aliases": ["b"]}), aliases=["Z"])),
    ("order of keys", BASE, {"fields": [{"type": "int", "name": "a"}], "name": "R", "type": "record"}),
    ("a primitive type as an object", BASE, record(("a", {"type": "int"}))),
    ("a name in full", record(("a", "int"), name="x.R"), record(("a", "int"), namespace="x")),
    ("a name used before its definition", record(("a", fixed(1)), ("b", "F")), record(("a", "F"), ("b", fixed(1)))),
]
OTHER = [
    ("property of the record", BASE, record(("a", "int"), more="x")),
    ("property of a field", BASE, record(("a", "int", {"more": 1}))),
    ("logical type", record(("a", "long")), record(("a", {"type": "long", "logicalType": "timestamp-millis"}))),
    ("default", record(("a", "int", default(1))), record(("a", "int", default(2)))),
    ("null as default", record(("a", "null")), record(("a", "null", default(None)))),
    ("order of fields", record(("a", "int"), ("b", "int")), record(("b", "int"), ("a", "int"))),
    ("namespace", BASE, record(("a", "int"), name="x.R")),
    ("symbols", enum("A"), enum("A", "B")),
    ("size", fixed(1), fixed(2)),
]


@pytest.mark.parametrize(("what", "one", "other"), SAME[:-1], ids=[line[0] for line in SAME[:-1]])
def test_what_does_not_matter_makes_no_other_schema(what: str, one: Any, other: Any) -> None:
    assert schema(one).digest == schema(other).digest


@pytest.mark.parametrize(("what", "one", "other"), OTHER, ids=[line[0] for line in OTHER])
def test_what_matters_makes_another_schema(what: str, one: Any, other: Any) -> None:
    assert schema(one).digest != schema(other).digest


def test_a_name_may_be_used_before_it_is_defined() -> None:
    early, late = (schema(text) for text in SAME[-1][1:])
    assert why_unreadable(early, late) == why_unreadable(late, early) == ""


def test_reasons_name_the_field() -> None:
    deep = record(("outer", record(("inner", "int"), name="N")))
    assert why_unreadable(schema(deep), schema(record(("outer", record(("inner", "string"), name="N"))))) == (
        "field outer: field inner: string cannot read int"
    )
    assert "field b of R is not written and has no default" in why_unreadable(
        schema(BASE), schema(record(("a", "int"), ("b", "int")))
    )


def test_an_assumption_that_failed_is_taken_back() -> None:
    """N is readable if A is readable as B, which is what is being found out. It is not, so N may not count as readable
    when A is then compared with C."""
    writer = record(
        ("n", record(("m", record(("up", ["null", "A"]), name="N")), ("y", "int"), name="A")),
    )
    as_b = record(("m", record(("up", ["null", "B"]), name="N")), ("z", "int"), name="B")
    as_c = record(("m", "N"), ("y", "int"), name="C")
    assert why_unreadable(schema(writer), schema(record(("n", [as_b, as_c])))) != ""
    as_b["fields"].pop()
    assert why_unreadable(schema(writer), schema(record(("n", [as_b, as_c])))) == ""


HOSTILE = [
    ("no UTF-8", b"\xff\xfe"),
    ("nothing", b""),
    ("half", b'{"type":"record"'),
    ("brackets", b"[" * 100_000),
    ("objects", b'{"type":' * 50_000),
    ("nested arrays", b'{"type":"array","items":' * (DEPTH_MAX + 1) + b'"int"' + b"}" * (DEPTH_MAX + 1)),
    ("a long number", b'{"type":"fixed","name":"F","size":' + b"9" * 10_000 + b"}"),
    ("too many bytes", b'"' + b"x" * SCHEMA_BYTES_MAX + b'"'),
    ("too many symbols", json.dumps(enum(*[f"S{k}" for k in range(NODES_MAX)])).encode()),
    ("too many fields", json.dumps(record(*[(f"f{k}", "int") for k in range(NODES_MAX)])).encode()),
    ("half a character as a name", b'{"type":"fixed","name":"\\ud800","size":1}'),
    ("half a character as a type", b'{"type":"array","items":"\\ud800"}'),
    ("a deep default", b'{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":'
     + b"[" * 900 + b"]" * 900 + b"}]}"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "data"), HOSTILE[:-1], ids=[line[0] for line in HOSTILE[:-1]])
def test_hostile_text_is_refused_with_a_sentence(what: str, data: bytes) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse(data)
    assert str(refused.value).encode()


def test_a_deep_default_is_refused_or_does_not_fit() -> None:
    try:
        found = parse(HOSTILE[-1][1])
    except InvalidSchema:
        return
    assert why_unreadable(schema(record()), found) != ""


def test_a_default_that_never_ends_is_refused() -> None:
    endless = record(("n", record(("next", "N", default({})), name="N"), default({})))
    with pytest.raises(IncompatibleSchema, match="too deeply nested"):
        why_unreadable(schema(record()), schema(endless))


def chain(length: int, last: str) -> Any:
    """Records that hold each other in a row, without being nested in the text."""
    made: list[Any] = [record(("x", last), name="N0")]
    made += [record(("x", f"N{k}"), name=f"N{k + 1}") for k in range(length)]
    return array([*reversed(made)])


def test_a_long_chain_of_records_is_refused() -> None:
    with pytest.raises(IncompatibleSchema, match="too deeply nested"):
        why_unreadable(schema(chain(1_000, "int")), schema(chain(1_000, "long")))


def test_unions_that_would_take_for_ever_are_refused() -> None:
    def branch(name: str, last: str) -> Any:
        return record(*[(f"f{n}", "int") for n in range(9)], ("f9", last), name=name)

    written = array([branch(f"W{k}", "int") for k in range(400)])
    read = array([branch(f"R{k}", "string") for k in range(399)] + [branch("R", "int")])
    with pytest.raises(IncompatibleSchema, match="too large"):
        why_unreadable(schema(written), schema(read))


def test_comparing_with_many_versions_costs_no_more_than_comparing_with_one() -> None:
    effort = Effort()
    one, other = schema(BASE), schema(record(("a", "long")))
    before = effort.steps
    assert why(one, other, effort) == ""
    spent = before - effort.steps
    assert spent > 0
    effort.steps = spent
    assert why(one, other, effort) == ""
    with pytest.raises(IncompatibleSchema, match="too large"):
        why(one, other, effort)


def test_a_recursive_definition_reads_itself() -> None:
    promoted = json.loads(json.dumps(NODE).replace('"int"', '"long"'))
    assert why_unreadable(schema(NODE), schema(promoted)) == ""
    assert why_unreadable(schema(promoted), schema(NODE)) != ""
