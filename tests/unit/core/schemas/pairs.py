"""Pairs of Avro definitions, and whether Apache Pulsar 4.2.4 says that the second reads what the first wrote.

The verdicts were recorded from its admin interface (a topic with the first definition, strategy BACKWARD, and a question
about the second), and so were those about which texts are definitions at all.
"""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    """A record; each field is a name, a type and perhaps more."""
    listed = [{"name": field[0], "type": field[1], **(field[2] if len(field) > 2 else {})} for field in fields]
    return {"type": "record", "name": name, "fields": listed, **more}


def default(value: Any) -> dict[str, Any]:
    return {"default": value}


def enum(*symbols: str, name: str = "E", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapping(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
WIDENS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
BASE = record(("a", "int"))
NODE = record(("v", "int"), ("next", ["null", "Node"], default(None)), name="Node")

PAIRS: list[tuple[str, bool, Any, Any]] = [
    *(
        (f"field {w} read as {r}", w == r or r in WIDENS.get(w, ()), record(("a", w)), record(("a", r)))
        for w in PRIMITIVES
        for r in PRIMITIVES
    ),
    ("equal", True, BASE, BASE),
    ("field added without default", False, BASE, record(("a", "int"), ("b", "int"))),
    ("field added with default", True, BASE, record(("a", "int"), ("b", "int", default(1)))),
    ("field added with null default", True, BASE, record(("a", "int"), ("b", ["null", "int"], default(None)))),
    (
        "field added with default of the second branch",
        True,
        BASE,
        record(("a", "int"), ("b", ["null", "int"], default(5))),
    ),
    ("field added with default of a wrong type", False, BASE, record(("a", "int"), ("b", "int", default("x")))),
    ("optional field added without default", False, BASE, record(("a", "int"), ("b", ["null", "int"]))),
    ("field removed", True, record(("a", "int"), ("b", "int")), BASE),
    ("fields in another order", True, record(("a", "int"), ("b", "string")), record(("b", "string"), ("a", "int"))),
    ("field renamed", False, BASE, record(("b", "int"))),
    ("field renamed with alias", True, BASE, record(("b", "int", {"aliases": ["a"]}))),
    ("field renamed with alias and default", True, BASE, record(("b", "int", {"aliases": ["a"], "default": 1}))),
    ("field renamed with alias, other type", False, BASE, record(("b", "string", {"aliases": ["a"]}))),
    (
        "field renamed with alias and default, other type",
        False,
        BASE,
        record(("b", "string", {"aliases": ["a"], "default": "x"})),
    ),
    ("alias in the writer only", False, record(("b", "int", {"aliases": ["a"]})), BASE),
    ("record renamed", True, BASE, record(("a", "int"), name="S")),
    ("record renamed with alias", True, BASE, record(("a", "int"), name="S", aliases=["R"])),
    ("record in another namespace", True, BASE, record(("a", "int"), namespace="x.y")),
    ("record with a dotted name", True, record(("a", "int"), namespace="x.y"), record(("a", "int"), name="x.y.R")),
    ("doc and properties differ", True, BASE, record(("a", "int", {"doc": "text"}), doc="text", extra=1)),
    (
        "nested record renamed",
        True,
        record(("n", record(("a", "int"), name="N"))),
        record(("n", record(("a", "int"), name="M"))),
    ),
    (
        "nested record renamed with alias",
        True,
        record(("n", record(("a", "int"), name="N"))),
        record(("n", record(("a", "int"), name="M", aliases=["N"]))),
    ),
    (
        "nested record with added default",
        True,
        record(("n", record(("a", "int"), name="N"))),
        record(("n", record(("a", "int"), ("b", "int", default(0)), name="N"))),
    ),
    (
        "nested record with added field",
        False,
        record(("n", record(("a", "int"), name="N"))),
        record(("n", record(("a", "int"), ("b", "int"), name="N"))),
    ),
    ("made optional", True, BASE, record(("a", ["null", "int"]))),
    ("made optional with promotion", True, BASE, record(("a", ["null", "long"]))),
    ("made optional of another type", False, BASE, record(("a", ["null", "string"]))),
    ("made mandatory", False, record(("a", ["null", "int"])), BASE),
    ("union of one made plain", True, record(("a", ["int"])), BASE),
    ("plain made union of one", True, BASE, record(("a", ["int"]))),
    ("union grows", True, record(("a", ["null", "int"])), record(("a", ["null", "int", "string"]))),
    ("union shrinks", False, record(("a", ["null", "int", "string"])), record(("a", ["null", "int"]))),
    ("union in another order", True, record(("a", ["null", "int"])), record(("a", ["int", "null"]))),
    ("union with promotion", True, record(("a", ["null", "int"])), record(("a", ["null", "double"]))),
    ("union with string for bytes", True, record(("a", ["null", "string"])), record(("a", ["null", "bytes"]))),
    ("union of int and long read as long", True, record(("a", ["int", "long"])), record(("a", "long"))),
    ("union of int and string read as string", False, record(("a", ["int", "string"])), record(("a", "string"))),
    (
        "union with record renamed",
        True,
        record(("a", ["null", record(("x", "int"), name="N")])),
        record(("a", ["null", record(("x", "int"), name="M")])),
    ),
    (
        "union with record renamed and changed",
        False,
        record(("a", ["null", record(("x", "int"), name="N")])),
        record(("a", ["null", record(("x", "int"), ("y", "int"), name="M")])),
    ),
    (
        "union with record of the same name and added field",
        False,
        record(("a", ["null", record(("x", "int"), name="N")])),
        record(("a", ["null", record(("x", "int"), ("y", "int"), name="N")])),
    ),
    (
        "union with record in another namespace",
        True,
        record(("a", ["null", record(("x", "int"), name="N")])),
        record(("a", ["null", record(("x", "int"), name="o.N")])),
    ),
    (
        "record into union of records, by structure",
        True,
        record(("a", record(("x", "int"), name="N"))),
        record(("a", [record(("y", "int"), name="M1"), record(("x", "int"), name="M2")])),
    ),
    (
        "union with enum renamed",
        False,
        record(("a", ["null", enum("A")])),
        record(("a", ["null", enum("A", name="E2")])),
    ),
    (
        "union with fixed renamed",
        False,
        record(("a", ["null", fixed(4)])),
        record(("a", ["null", fixed(4, name="F2")])),
    ),
    (
        "union with enum symbol removed",
        True,
        record(("a", ["null", enum("A", "B")])),
        record(("a", ["null", enum("A")])),
    ),
    (
        "union with array of another type",
        False,
        record(("a", ["null", array("int")])),
        record(("a", ["null", array("string")])),
    ),
    (
        "union with array of promoted type",
        True,
        record(("a", ["null", array("int")])),
        record(("a", ["null", array("long")])),
    ),
    ("enum equal", True, record(("e", enum("A", "B"))), record(("e", enum("A", "B")))),
    ("enum grows", True, record(("e", enum("A", "B"))), record(("e", enum("A", "B", "C")))),
    ("enum shrinks", True, record(("e", enum("A", "B", "C"))), record(("e", enum("A", "B")))),
    ("enum shrinks with default", True, record(("e", enum("A", "B", "C"))), record(("e", enum("A", "B", default="A")))),
    ("enum disjoint", True, record(("e", enum("A", "B"))), record(("e", enum("C")))),
    ("enum in another order", True, record(("e", enum("A", "B"))), record(("e", enum("B", "A")))),
    ("enum renamed", False, record(("e", enum("A"))), record(("e", enum("A", name="E2")))),
    ("enum renamed with alias", True, record(("e", enum("A"))), record(("e", enum("A", name="E2", aliases=["E"])))),
    ("enum in another namespace", True, record(("e", enum("A"))), record(("e", enum("A", name="o.E")))),
    ("enum read as string", False, record(("e", enum("A"))), record(("e", "string"))),
    ("string read as enum", False, record(("e", "string")), record(("e", enum("A")))),
    ("fixed equal", True, record(("f", fixed(4))), record(("f", fixed(4)))),
    ("fixed of another size", False, record(("f", fixed(4))), record(("f", fixed(5)))),
    ("fixed renamed", False, record(("f", fixed(4))), record(("f", fixed(4, name="G")))),
    ("fixed renamed with alias", True, record(("f", fixed(4))), record(("f", fixed(4, name="G", aliases=["F"])))),
    ("fixed read as bytes", False, record(("f", fixed(4))), record(("f", "bytes"))),
    ("array promoted", True, record(("a", array("int"))), record(("a", array("long")))),
    ("array of another type", False, record(("a", array("int"))), record(("a", array("string")))),
    ("array read as map", False, record(("a", array("int"))), record(("a", mapping("int")))),
    ("map promoted", True, record(("a", mapping("int"))), record(("a", mapping("double")))),
    ("map of another type", False, record(("a", mapping("int"))), record(("a", mapping("string")))),
    (
        "array of records grows with default",
        True,
        record(("a", array(record(("x", "int"), name="N")))),
        record(("a", array(record(("x", "int"), ("y", "int", default(0)), name="N")))),
    ),
    ("record read as map", False, record(("a", record(("x", "int"), name="N"))), record(("a", mapping("int")))),
    ("recursive equal", True, NODE, NODE),
    ("recursive promoted", True, NODE, record(("v", "long"), ("next", ["null", "Node"], default(None)), name="Node")),
    (
        "recursive of another type",
        False,
        NODE,
        record(("v", "string"), ("next", ["null", "Node"], default(None)), name="Node"),
    ),
    (
        "recursive with added field",
        False,
        NODE,
        record(("v", "int"), ("w", "int"), ("next", ["null", "Node"], default(None)), name="Node"),
    ),
    (
        "recursive with added default",
        True,
        NODE,
        record(("v", "int"), ("w", "int", default(1)), ("next", ["null", "Node"], default(None)), name="Node"),
    ),
    (
        "logical type given",
        True,
        record(("a", "long")),
        record(("a", {"type": "long", "logicalType": "timestamp-millis"})),
    ),
    (
        "logical type changed",
        True,
        record(("a", {"type": "long", "logicalType": "timestamp-micros"})),
        record(("a", {"type": "long", "logicalType": "timestamp-millis"})),
    ),
    (
        "decimal of another precision",
        True,
        record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2})),
        record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 3})),
    ),
    ("no record: int read as long", True, "int", "long"),
    ("no record: long read as int", False, "long", "int"),
    ("record read as plain type", False, BASE, "int"),
    (
        "java string property",
        True,
        record(("a", "string")),
        record(("a", {"type": "string", "avro.java.string": "String"})),
    ),
    ("empty records", True, record(), record()),
    ("all fields removed", True, BASE, record()),
    (
        "nested reference reused",
        True,
        record(("a", record(("x", "int"), name="N")), ("b", "N")),
        record(("a", record(("x", "long"), name="N")), ("b", "N")),
    ),
    ("alias with namespace", True, record(("a", "int"), name="o.R"), record(("a", "int"), name="n.R", aliases=["o.R"])),
    (
        "nested enum alias in union",
        True,
        record(("a", ["null", enum("A")])),
        record(("a", ["null", enum("A", name="E2", aliases=["E"])])),
    ),
    (
        "two fields swapped by aliases",
        True,
        record(("a", "int"), ("b", "string")),
        record(("b", "int", {"aliases": ["a"]}), ("a", "string", {"aliases": ["b"]})),
    ),
    ("error type", True, {"type": "error", "name": "X", "fields": []}, {"type": "error", "name": "X", "fields": []}),
]

DEFINITIONS: list[tuple[str, bool, Any]] = [
    ("unknown type", False, record(("a", "wat"))),
    ("missing fields", False, {"type": "record", "name": "R"}),
    ("missing name", False, {"type": "record", "fields": []}),
    ("bad name", False, record(("a", "int"), name="1R")),
    ("bad field name", False, record(("a-b", "int"))),
    ("duplicate field", False, record(("a", "int"), ("a", "int"))),
    ("duplicate type", False, record(("a", fixed(1)), ("b", fixed(2)))),
    ("duplicate symbol", False, enum("A", "A")),
    ("bad symbol", False, enum("A-B")),
    ("enum default unknown", False, enum("A", default="Z")),
    ("nested union", False, record(("a", ["null", ["int"]]))),
    ("duplicate in union", False, record(("a", ["int", "int"]))),
    ("two arrays in union", False, record(("a", [array("int"), array("long")]))),
    ("two records in union", True, record(("a", [record(name="X"), record(name="Y")]))),
    ("same record in union", False, record(("a", [record(name="X"), "X"]))),
    ("empty union", True, record(("a", []))),
    ("negative fixed", False, fixed(-1)),
    ("fixed zero", True, fixed(0)),
    ("fixed no size", False, {"type": "fixed", "name": "F"}),
    ("array no items", False, {"type": "array"}),
    ("number", False, 5),
    ("null", False, None),
    ("empty object", False, {}),
    ("nested type object", False, {"type": {"type": "int"}}),
    ("redefine primitive", False, record(("a", "int"), name="int")),
    ("wrong default", True, record(("a", "int", default("x")))),
    ("bad order", False, record(("a", "int", {"order": "sideways"}))),
    ("empty enum", True, enum()),
    ("type list as type", False, {"type": ["null", "int"]}),
    ("namespaced ref", True, record(("a", {"type": "fixed", "name": "q.F", "size": 1}), ("b", "q.F"))),
    ("inherits namespace", True, record(("a", {"type": "fixed", "name": "F", "size": 1}), ("b", "q.F"), namespace="q")),
    (
        "empty namespace",
        True,
        record(("a", {"type": "fixed", "name": "F", "size": 1, "namespace": ""}), ("b", "F"), namespace="q"),
    ),
    ("aliases no list", False, record(("a", "int"), aliases="x")),
    ("symbols no list", False, {"type": "enum", "name": "E", "symbols": "A"}),
    ("fields no list", False, {"type": "record", "name": "R", "fields": {}}),
    ("field no type", False, {"type": "record", "name": "R", "fields": [{"name": "a"}]}),
    ("field no name", False, {"type": "record", "name": "R", "fields": [{"type": "int"}]}),
    ("field is text", False, {"type": "record", "name": "R", "fields": ["a"]}),
    ("dollar name", True, record(("a", "int"), name="Outer$Inner")),
    ("unicode name", True, record(("ü", "int"))),
    ("size is text", False, {"type": "fixed", "name": "F", "size": "4"}),
    ("forward reference", True, record(("a", "N"), ("b", record(name="N")))),
    ("array of union", True, array(["null", "int"])),
    ("bare word", True, "int"),
    ("bare unknown", False, "wat"),
]
"""Texts and whether they are definitions."""
