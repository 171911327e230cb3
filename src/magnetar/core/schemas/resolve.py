"""Whether data written with one Avro definition can be read with another.

The rules are those of Avro's schema resolution as Apache Pulsar applies them when it checks compatibility:

* numbers widen (int, long, float, double), string and bytes stand for each other;
* a field that only the reader has needs a default that fits; one that only the writer has is passed over;
* records match by their fields, whatever they are called; where a union has several, the one of the same name wins;
* an enum or fixed type needs the same name (its namespace aside), a fixed type also the same size;
* symbols of enums are not compared: a reader that meets one it does not know falls back to its default, or fails then;
* every branch of a writer's union must be readable; of a reader's union the first branch that fits is taken;
* aliases of the reader rename types and fields of the writer; logical types and documentation say nothing.

Types may contain themselves. A pair of types that is being compared already counts as readable meanwhile; when a
comparison fails, whatever was found readable since it began is forgotten, because it may have relied on it. Steps and
depth are bounded, so that no pair of definitions can hold up the broker.
"""

from __future__ import annotations

from typing import Any, Final

from magnetar.core.schemas.avro import MISSING, AvroSchema, Node, shown
from magnetar.errors import IncompatibleSchema

__all__ = ["STEPS_MAX", "Effort", "why_unreadable"]

STEPS_MAX: Final = 250_000
"""The most pairs of types that are looked at to find out about one schema, however many it is compared with."""
_DEPTH_MAX: Final = 200

_WIDENS: Final[dict[str, tuple[str, ...]]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_NUMBERS: Final = ("int", "long", "float", "double")
_TEXTS: Final = ("string", "bytes", "fixed")


class Effort:
    """What one question may still cost."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: int = STEPS_MAX

    def spend(self, steps: int, depth: int) -> None:
        self.steps -= steps
        if self.steps < 0 or depth > _DEPTH_MAX:
            raise IncompatibleSchema(
                "the schemas are too large or too deeply nested to be compared; make them smaller, or let the topic "
                "take any schema (schemaCompatibilityStrategy ALWAYS_COMPATIBLE)"
            )


def why_unreadable(writer: AvroSchema, reader: AvroSchema, effort: Effort) -> str:
    """Why the reader cannot read what the writer writes; empty when it can."""
    if writer.digest == reader.digest:
        return ""
    return _Comparison(reader, effort).reads(writer.root, reader.root, 0)


class _Comparison:
    """One comparison of two definitions, with what it has found so far."""

    def __init__(self, reader: AvroSchema, effort: Effort) -> None:
        self.effort: Effort = effort
        self.readable: dict[tuple[int, int], int] = {}
        """Pairs that are readable or being compared, in the order in which they were begun."""
        self.unreadable: dict[tuple[int, int], str] = {}
        self.renamed: dict[str, str] = {}
        """From an alias to the name of the reader's type."""
        self.fields: dict[str, dict[str, str]] = {}
        """By the reader's record: from an alias to the name of its field."""
        for node in reader.named.values():
            for alias in node.aliases:
                self.renamed[alias] = node.name
            known = {alias: field.name for field in node.fields for alias in field.aliases}
            if known:
                self.fields[node.name] = known

    def name(self, writer: Node) -> str:
        """What the reader calls the writer's type."""
        return self.renamed.get(writer.name, writer.name)

    def reads(self, writer: Node, reader: Node, depth: int) -> str:
        """Why the reader's type cannot read the writer's."""
        self.effort.spend(1, depth)
        if writer.kind == "union":
            for branch in writer.items:
                reason = self.reads(branch, reader, depth + 1)
                if reason:
                    return reason
            return ""
        if reader.kind == "union":
            chosen = self.branch(writer, reader, depth)
            if chosen is None:
                return f"no branch of the union reads {_spoken(writer)}"
            return self.reads(writer, chosen, depth + 1)
        if writer.kind != reader.kind:
            fits = reader.kind in _WIDENS.get(writer.kind, ())
            return "" if fits else f"{_spoken(reader)} cannot read {_spoken(writer)}"
        if writer.kind == "record":
            return self.record(writer, reader, depth)
        if writer.kind in ("array", "map"):
            return self.reads(writer.items[0], reader.items[0], depth + 1)
        if writer.kind in ("enum", "fixed"):
            if self.name(writer).rpartition(".")[2] != reader.short_name:
                return f"{_spoken(reader)} cannot read {_spoken(writer)}: the names differ"
            if writer.size != reader.size:
                return f"{_spoken(reader)} has {reader.size} bytes, what is written {writer.size}"
        return ""

    def record(self, writer: Node, reader: Node, depth: int) -> str:
        """The same for two records, which may be under comparison already."""
        pair = (writer.number, reader.number)
        if pair in self.readable:
            return ""
        if pair in self.unreadable:
            return self.unreadable[pair]
        self.readable[pair] = 1
        reason = self.compare_fields(writer, reader, depth)
        if reason:
            while self.readable.popitem()[0] != pair:
                pass
            self.unreadable[pair] = reason
        return reason

    def compare_fields(self, writer: Node, reader: Node, depth: int) -> str:
        aliases = self.fields.get(self.name(writer), {})
        written = {aliases.get(f.name, f.name): t for f, t in zip(writer.fields, writer.items, strict=True)}
        for field, wanted in zip(reader.fields, reader.items, strict=True):
            self.effort.spend(1, depth)
            given = written.get(field.name)
            if given is not None:
                reason = self.reads(given, wanted, depth + 1)
                if reason:
                    return f"field {shown(field.name)}: {reason}"
            elif field.default is MISSING:
                return f"field {shown(field.name)} of {shown(reader.name)} is not written and has no default"
            elif not self.fits(field.default, wanted, depth + 1):
                return f"the default of field {shown(field.name)} of {shown(reader.name)} is not of its type"
        return ""

    def branch(self, writer: Node, reader: Node, depth: int) -> Node | None:
        """The branch of the reader's union that takes what the writer's type writes."""
        self.effort.spend(len(reader.items), depth)
        by_structure: Node | None = None
        name = self.name(writer)
        for branch in reader.items:
            if branch.kind != writer.kind:
                continue
            if not branch.name or branch.name == name:
                return branch
            if branch.kind != "record" or self.record(writer, branch, depth + 1):
                continue
            if by_structure is None or branch.short_name == name.rpartition(".")[2]:
                by_structure = branch
        if by_structure is not None:
            return by_structure
        wider = _WIDENS.get(writer.kind, ())
        for branch in reader.items:
            if branch.kind in wider:
                return branch
        return None

    def fits(self, value: Any, wanted: Node, depth: int) -> bool:
        """Whether a default is of the type."""
        self.effort.spend(1, depth)
        kind = wanted.kind
        if kind == "union":
            return any(self.fits(value, branch, depth + 1) for branch in wanted.items)
        if kind == "record":
            return isinstance(value, dict) and self.record_fits(value, wanted, depth)
        if kind == "array":
            return isinstance(value, list) and all(self.fits(one, wanted.items[0], depth + 1) for one in value)
        if kind == "map":
            return isinstance(value, dict) and all(self.fits(one, wanted.items[0], depth + 1) for one in value.values())
        if kind in _NUMBERS:
            return isinstance(value, int | float) and not isinstance(value, bool)
        if kind in _TEXTS:
            return isinstance(value, str)
        if kind == "enum":
            return value in wanted.symbols
        return value is None if kind == "null" else isinstance(value, bool)

    def record_fits(self, value: dict[str, Any], wanted: Node, depth: int) -> bool:
        for field, kind in zip(wanted.fields, wanted.items, strict=True):
            given = value.get(field.name, field.default)
            if given is MISSING or not self.fits(given, kind, depth + 1):
                return False
        return True


def _spoken(node: Node) -> str:
    """A type for a sentence."""
    return f"{node.kind} {shown(node.name)}" if node.name else node.kind
