"""Random Avro definitions, evolved at random: what we call readable, fastavro can read.

Enums keep their symbols, or get a default, in what is generated here: that a reader's enum without default meets a
symbol it does not know is the one failure that the rules, which are Apache Pulsar's, let happen.
"""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from magnetar.core.schemas.avro import AvroSchema
from magnetar.core.schemas.avrotext import parse
from magnetar.core.schemas.resolve import Effort
from magnetar.core.schemas.resolve import why_unreadable as why
from magnetar.errors import InvalidSchema

Draw = st.DrawFn

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "bytes": st.binary(max_size=3).map(lambda data: bytes(byte & 0x7F for byte in data)),
    "string": st.text("abc", max_size=3),
}
DEFAULTS: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "int": 1,
    "long": 2,
    "float": 0.5,
    "double": 1.5,
    "bytes": "a",
    "string": "b",
}
WIDER = {"int": "long", "long": "float", "float": "double", "string": "bytes", "bytes": "string"}

NARROWER = {wide: narrow for narrow, wide in WIDER.items()}


class Maker:
    """Makes definitions whose named types have names of their own."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def type(self, depth: int = 3) -> Any:
        kinds = [*VALUES, "enum", "fixed"] + (["record", "array", "map", "union"] if depth else [])
        kind = self.pick(*kinds)
        if kind == "enum":
            symbols = ["A", "B", "C"][: self.draw(st.integers(1, 3))]
            return {"type": "enum", "name": self.name("E"), "symbols": symbols}
        if kind == "fixed":
            return {"type": "fixed", "name": self.name("F"), "size": self.draw(st.integers(1, 3))}
        if kind == "array":
            return {"type": "array", "items": self.type(depth - 1)}
        if kind == "map":
            return {"type": "map", "values": self.type(depth - 1)}
        if kind == "union":
            return self.union(depth - 1)
        return self.record(depth - 1) if kind == "record" else kind

    def record(self, depth: int) -> Any:
        fields = [self.field(depth) for _ in range(self.draw(st.integers(0, 3)))]
        return {"type": "record", "name": self.name("R"), "fields": fields}

    def field(self, depth: int) -> Any:
        return {"name": self.name("f"), "type": self.type(depth)}

    def union(self, depth: int) -> Any:
        branches: dict[str, Any] = {}
        for _ in range(self.draw(st.integers(1, 3))):
            made = self.type(depth)
            if isinstance(made, list):
                continue
            kind = made if isinstance(made, str) else made["type"]
            branches.setdefault(kind, made)
        return list(branches.values()) or ["null"]

    def evolve(self, kind: Any, depth: int = 3) -> Any:
        """A later form of the type, which may or may not read the former one."""
        if isinstance(kind, str):
            change = self.pick("keep", "widen", "narrow", "optional", "other")
            return {
                "keep": kind,
                "widen": WIDER.get(kind, kind),
                "narrow": NARROWER.get(kind, kind),
                "optional": ["null", kind] if kind != "null" else kind,
                "other": self.pick(*VALUES),
            }[change]
        if isinstance(kind, list):
            return self.evolve_union(kind, depth)
        kind = copy.deepcopy(kind)
        if kind["type"] == "record":
            kind["fields"] = [field for field in kind["fields"] if self.pick(True, True, True, False)]
            for field in kind["fields"]:
                self.evolve_field(field, depth)
            if self.pick(True, False):
                kind["fields"].insert(0, self.new_field())
        elif kind["type"] == "enum":
            self.evolve_enum(kind)
        elif kind["type"] == "fixed":
            kind["size"] += self.pick(0, 0, 0, 1)
        else:
            inner = "items" if kind["type"] == "array" else "values"
            kind[inner] = self.evolve(kind[inner], depth - 1)
        return kind

    def evolve_union(self, branches: list[Any], depth: int) -> Any:
        change = self.pick("keep", "reverse", "shrink", "plain", "each")
        if change == "reverse":
            return branches[::-1]
        if change == "shrink":
            return branches[1:] or branches
        if change == "plain":
            return branches[0]
        if change == "each":
            return [b if isinstance(b, str) else self.evolve(b, depth - 1) for b in branches]
        return branches

    def evolve_field(self, field: Any, depth: int) -> None:
        field["type"] = self.evolve(field["type"], depth - 1) if self.pick(True, False) else field["type"]
        change = self.pick("keep", "keep", "alias", "rename")
        if change != "keep":
            if change == "alias":
                field["aliases"] = [field["name"]]
            field["name"] = self.name("g")

    def evolve_enum(self, kind: Any) -> None:
        change = self.pick("keep", "grow", "default")
        if change == "grow":
            kind["symbols"] = ["Z", *kind["symbols"]]
        elif change == "default":
            kind["symbols"] = ["Z"]
            kind["default"] = "Z"

    def new_field(self) -> Any:
        kind = self.pick(*VALUES)
        field: dict[str, Any] = {"name": self.name("h"), "type": kind}
        if self.pick(True, True, False):
            field["default"] = DEFAULTS[kind]
            if self.pick(True, False):
                field["type"] = [kind, "null" if kind != "null" else "int"]
        return field

    def value(self, kind: Any) -> Any:
        """Data of the type."""
        if isinstance(kind, str):
            return self.draw(VALUES[kind])
        if isinstance(kind, list):
            return self.value(self.pick(*kind))
        if kind["type"] == "record":
            return {field["name"]: self.value(field["type"]) for field in kind["fields"]}
        if kind["type"] == "enum":
            return self.pick(*kind["symbols"])
        if kind["type"] == "fixed":
            return b"x" * kind["size"]
        if kind["type"] == "array":
            return [self.value(kind["items"]) for _ in range(self.draw(st.integers(0, 2)))]
        return {key: self.value(kind["values"]) for key in "ab"[: self.draw(st.integers(0, 2))]}


def why_unreadable(writer: AvroSchema, reader: AvroSchema) -> str:
    return why(writer, reader, Effort())


def read(definition: Any) -> Any:
    return parse(json.dumps(definition).encode())


@st.composite
def evolutions(draw: Draw) -> tuple[Any, Any, Any]:
    """What is written, what it is read with, and data."""
    maker = Maker(draw)
    writer = maker.record(3)
    return writer, maker.evolve(writer), maker.value(writer)


@given(evolutions())
def test_what_is_readable_can_be_read(case: tuple[Any, Any, Any]) -> None:
    writer, reader, value = case
    reason = why_unreadable(read(writer), read(reader))
    event("unreadable" if reason else "readable")
    if reason:
        return
    data = io.BytesIO()
    fastavro.schemaless_writer(data, writer, value)
    data.seek(0)
    fastavro.schemaless_reader(data, writer, reader)


@given(evolutions())
def test_every_definition_reads_itself_and_is_the_same_again(case: tuple[Any, Any, Any]) -> None:
    writer, reader, _ = case
    for definition in (writer, reader):
        one, again = read(definition), parse(json.dumps(definition, indent=2, sort_keys=True).encode())
        assert one.digest == again.digest
        # Not by the short cut for equal digests: as a field of another record each is compared in full.
        held = [read({"type": "record", "name": name, "fields": [{"name": "x", "type": definition}]}) for name in "ab"]
        assert why_unreadable(*held) == ""


@pytest.mark.parametrize("written", list(VALUES))
@pytest.mark.parametrize("wanted", list(VALUES))
def test_a_primitive_type_that_is_readable_can_be_read(written: str, wanted: str) -> None:
    if why_unreadable(read(written), read(wanted)) == "":
        data = io.BytesIO()
        default = DEFAULTS[written]
        fastavro.schemaless_writer(data, written, default.encode() if written == "bytes" else default)
        data.seek(0)
        fastavro.schemaless_reader(data, written, wanted)


def test_both_verdicts_occur() -> None:
    """The generator would be of no use if all of its evolutions ended alike; these two are of its making."""
    writer = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    wider = {"type": "record", "name": "R", "fields": [{"name": "g", "aliases": ["a"], "type": "long"}]}
    renamed = {"type": "record", "name": "R", "fields": [{"name": "g", "type": "int"}]}
    assert why_unreadable(read(writer), read(wider)) == ""
    assert why_unreadable(read(writer), read(renamed)) != ""
    data = io.BytesIO()
    fastavro.schemaless_writer(data, writer, {"a": 5})
    data.seek(0)
    assert fastavro.schemaless_reader(data, writer, wider) == {"g": 5}
    data.seek(0)
    with pytest.raises(fastavro.read.SchemaResolutionError):
        fastavro.schemaless_reader(data, writer, renamed)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["int", "record", "enum", "fixed", "array", "map", "R", "x.R", "null", "", "a-b", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "name",
                    "fields",
                    "items",
                    "values",
                    "symbols",
                    "size",
                    "default",
                    "namespace",
                    "aliases",
                    "order",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


def said(data: bytes) -> str:
    """What the refusal says, if it is refused; a definition that is taken must read itself."""
    try:
        found = parse(data)
    except InvalidSchema as refused:
        return str(refused)
    return why_unreadable(found, found)


@given(ANYTHING)
def test_any_json_is_a_definition_or_refused_in_a_way_that_can_be_sent(value: Any) -> None:
    assert said(json.dumps(value).encode()).encode() is not None


@given(st.binary(max_size=40))
def test_any_bytes_are_refused_in_a_way_that_can_be_sent(data: bytes) -> None:
    assert said(data).encode() is not None
