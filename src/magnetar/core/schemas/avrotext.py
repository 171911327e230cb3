"""Avro definitions are read: JSON text in, types that can be compared out.

Avro and JSON schemas are both written as Avro definitions, and come from anybody who may produce. So size, depth and
the number of nodes are bounded before anything is built, and whatever is not a definition is refused with a sentence.

A named type may be used before, after and inside of its own definition: a name that is not known yet is a gap, which is
filled when everything was read. What is collected on the way as the canonical form is the definition without what does
not matter (documentation, aliases, the order of keys, how names are written): two definitions with equal digests are
the same schema.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from magnetar.core.schemas.avro import MISSING, PRIMITIVES, AvroSchema, Field, Gap, Node, shown
from magnetar.errors import InvalidSchema

__all__ = ["DEPTH_MAX", "NODES_MAX", "SCHEMA_BYTES_MAX", "parse"]

SCHEMA_BYTES_MAX: Final = 512 << 10
"""The longest definition."""
NODES_MAX: Final = 10_000
"""The most types, fields and symbols of one definition."""
DEPTH_MAX: Final = 64
"""How deep types may be nested within each other."""

_ORDERS = ("ascending", "descending", "ignore")
_NAMED_KEYS = frozenset(("type", "name", "namespace", "aliases", "doc", "fields", "symbols", "size", "default"))
_FIELD_KEYS = frozenset(("name", "type", "doc", "default", "order", "aliases"))
_PLAIN_KEYS = frozenset(("type", "items", "values"))


def parse(data: bytes) -> AvroSchema:
    """The definition in ``data``; ``InvalidSchema`` says what is wrong with it."""
    if len(data) > SCHEMA_BYTES_MAX:
        raise InvalidSchema(f"the definition has {len(data)} bytes; at most {SCHEMA_BYTES_MAX} are taken")
    try:
        text = json.loads(data.decode())
    except RecursionError:
        raise InvalidSchema("the definition is nested too deeply") from None
    except ValueError as error:
        raise InvalidSchema(f"the definition is no JSON: {error}") from None
    if isinstance(text, list):
        raise InvalidSchema("the definition is a union; wrap it into a record")
    reader = _Reader()
    root, canon = reader.type(text, "", 0)
    if isinstance(root, Gap):
        raise InvalidSchema(f"'{shown(root.text)}' is not a type")
    reader.fill_gaps()
    try:
        whole = json.dumps(canon, separators=(",", ":"), sort_keys=True).encode()
    except RecursionError:
        raise InvalidSchema("a default is nested too deeply") from None
    return AvroSchema(root, reader.named, hashlib.sha256(whole).hexdigest())


def _named(text: Any, what: str) -> str:
    """A name, checked. Letters of any language are taken, and $, which Java has in the names of inner classes."""
    if not isinstance(text, str) or not text:
        raise InvalidSchema(f"{what} has no name")
    last = text.rpartition(".")[2]
    plain = last.replace("_", "a").replace("$", "a")
    if not plain or not plain.isalnum() or not plain[0].isalpha():
        raise InvalidSchema(f"'{shown(text)}' cannot be the name of {what}")
    return text


def _texts(value: Any, what: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidSchema(f"{what} should be a list of texts")
    return value


def _others(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """What a definition says beyond Avro's own words; it tells schemas apart, but never makes them incompatible."""
    return {key: kept for key, kept in value.items() if key not in known}


class _Reader:
    """One pass over a definition. Every method gives the node and its canonical form."""

    def __init__(self) -> None:
        self.count: int = 0
        self.named: dict[str, Node] = {}
        self.gaps: list[tuple[list[Node], int, tuple[str, str], list[Any]]] = []

    def counted(self, more: int = 1) -> int:
        self.count += more
        if self.count > NODES_MAX:
            raise InvalidSchema(f"the definition has more than {NODES_MAX} types, fields and symbols")
        return self.count

    def type(self, value: Any, space: str, depth: int) -> tuple[Node, Any]:
        """The type that ``value`` defines; one that it names must be primitive, or known by now."""
        if depth > DEPTH_MAX:
            raise InvalidSchema(f"types are nested more than {DEPTH_MAX} deep")
        number = self.counted()
        if isinstance(value, str):
            return self.reference(value, space, number)
        if isinstance(value, list):
            return self.union(value, space, number, depth)
        if not isinstance(value, dict):
            raise InvalidSchema(f"{json.dumps(value)[:80]} is not a type")
        kind = value.get("type")
        if not isinstance(kind, str):
            raise InvalidSchema("a type is defined by an object whose 'type' is a text")
        if kind in ("record", "error"):
            return self.record(value, space, number, depth)
        if kind == "enum":
            return self.enum(value, space, number)
        if kind == "fixed":
            return self.fixed(value, space, number)
        if kind in ("array", "map"):
            return self.container(kind, value, space, number, depth)
        node, canon = self.reference(kind, space, number)
        others = _others(value, _PLAIN_KEYS)
        return node, [canon, others] if others else canon

    def reference(self, text: str, space: str, number: int) -> tuple[Node, Any]:
        if text in PRIMITIVES:
            return Node(text, number), text
        for name in self.candidates(text, space):
            if name in self.named:
                return self.named[name], ["ref", name]
        # Perhaps it comes later: whoever asked for it sees to that, if it can.
        return Gap(text, space, number), ["ref", text]

    @staticmethod
    def candidates(text: str, space: str) -> tuple[str, str]:
        """What a name may mean: a type of the namespace that it stands in, or one without namespace."""
        return (text if "." in text or not space else f"{space}.{text}"), text

    def child(self, parent: Node, value: Any, space: str, depth: int) -> Any:
        """A type inside of another; its canonical form."""
        node, canon = self.type(value, space, depth + 1)
        if isinstance(node, Gap):
            self.gaps.append((parent.items, len(parent.items), self.candidates(node.text, node.space), canon))
        parent.items.append(node)
        return canon

    def fill_gaps(self) -> None:
        """Every name is known now, or nobody defines it."""
        for items, place, candidates, canon in self.gaps:
            for name in candidates:
                if name in self.named:
                    items[place] = self.named[name]
                    while canon[0] != "ref":
                        canon = canon[0]
                    canon[1] = name
                    break
            else:
                raise InvalidSchema(f"'{shown(candidates[-1])}' is not a type")

    def define(self, kind: str, value: dict[str, Any], space: str, number: int) -> tuple[Node, str]:
        """A named type, known from here on, and the namespace inside of it."""
        text = _named(value.get("name"), f"a {kind}")
        own = value.get("namespace")
        if own is not None and not isinstance(own, str):
            raise InvalidSchema(f"the namespace of {shown(text)} should be a text")
        if "." in text:
            name = text
        else:
            inherited = space if own is None else own
            name = f"{inherited}.{text}" if inherited else text
        if name in self.named or name in PRIMITIVES:
            raise InvalidSchema(f"the type {shown(name)} is defined twice")
        inner = name.rpartition(".")[0]
        node = Node(kind, number, name)
        for alias in _texts(value.get("aliases"), "aliases"):
            node.aliases.append(alias if "." in alias or not inner else f"{inner}.{alias}")
        self.named[name] = node
        return node, inner

    def record(self, value: dict[str, Any], space: str, number: int, depth: int) -> tuple[Node, Any]:
        node, inner = self.define("record", value, space, number)
        fields = value.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchema(f"the record {shown(node.name)} has no list of fields")
        forms: list[Any] = []
        names: dict[str, int] = {}
        for field in fields:
            if not isinstance(field, dict) or "type" not in field:
                raise InvalidSchema(f"a field of {shown(node.name)} has no type")
            name = _named(field.get("name"), f"a field of {shown(node.name)}")
            if name in names or "." in name:
                raise InvalidSchema(f"'{shown(name)}' cannot be one more field of {shown(node.name)}")
            names[name] = 1
            order = field.get("order", "ascending")
            if order not in _ORDERS:
                raise InvalidSchema(f"the order of field {shown(name)} is one of {', '.join(_ORDERS)}")
            self.counted()
            default = field.get("default", MISSING)
            node.fields.append(Field(name, default, _texts(field.get("aliases"), "aliases")))
            form = [name, self.child(node, field["type"], inner, depth), order, _others(field, _FIELD_KEYS)]
            forms.append(form if default is MISSING else [*form, default])
        return node, ["record", node.name, forms, _others(value, _NAMED_KEYS)]

    def enum(self, value: dict[str, Any], space: str, number: int) -> tuple[Node, Any]:
        node, _ = self.define("enum", value, space, number)
        symbols = value.get("symbols")
        if symbols is None:
            raise InvalidSchema(f"the enum {shown(node.name)} has no symbols")
        node.symbols = _texts(symbols, "symbols")
        self.counted(len(node.symbols))
        known = {_named(symbol, "a symbol"): 1 for symbol in node.symbols if "." not in symbol}
        if len(known) != len(node.symbols):
            raise InvalidSchema(f"the symbols of {shown(node.name)} should be names that differ from each other")
        default = value.get("default")
        if default is not None and default not in node.symbols:
            raise InvalidSchema(f"the default of {shown(node.name)} is none of its symbols")
        return node, ["enum", node.name, node.symbols, default, _others(value, _NAMED_KEYS)]

    def fixed(self, value: dict[str, Any], space: str, number: int) -> tuple[Node, Any]:
        node, _ = self.define("fixed", value, space, number)
        size = value.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 31:
            raise InvalidSchema(f"the fixed type {shown(node.name)} has no size that is a number of bytes")
        node.size = size
        return node, ["fixed", node.name, size, _others(value, _NAMED_KEYS)]

    def container(self, kind: str, value: dict[str, Any], space: str, number: int, depth: int) -> tuple[Node, Any]:
        word = "items" if kind == "array" else "values"
        if word not in value:
            raise InvalidSchema(f"the {kind} has no '{word}'")
        node = Node(kind, number)
        return node, [kind, self.child(node, value[word], space, depth), _others(value, _PLAIN_KEYS)]

    def union(self, branches: list[Any], space: str, number: int, depth: int) -> tuple[Node, Any]:
        node = Node("union", number)
        forms = [self.child(node, branch, space, depth) for branch in branches]
        known: dict[str, int] = {}
        for branch in node.items:
            if branch.kind == "union":
                raise InvalidSchema("a union cannot be a branch of another union")
            word = branch.name or branch.kind
            if word in known:
                raise InvalidSchema(f"two branches of a union are of the type {shown(word)}")
            known[word] = 1
        return node, ["union", forms]
