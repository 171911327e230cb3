"""What an Avro definition is once it was read: a graph of types, which may contain themselves.

Types refer to each other through lists (``items``), so that a type can be named before it is known: the gap in the list
is filled later.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["MISSING", "PRIMITIVES", "AvroSchema", "Field", "Gap", "Node", "shown"]

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class _Missing:
    """A field has no default, which is not the same as the default ``null``."""


MISSING: Final = _Missing()


class Field:
    """A field of a record; its type is the item of the record at the same place."""

    __slots__ = ("aliases", "default", "name")

    def __init__(self, name: str, default: Any, aliases: list[str]) -> None:
        self.name: str = name
        self.default: Any = default
        self.aliases: list[str] = aliases


class Node:
    """A type. ``items`` are the types of a record's fields, of a union's branches, or of what a container holds."""

    __slots__ = ("aliases", "fields", "items", "kind", "name", "number", "size", "symbols")

    def __init__(self, kind: str, number: int, name: str = "") -> None:
        self.kind: str = kind
        self.number: int = number
        self.name: str = name
        self.aliases: list[str] = []
        self.items: list[Node] = []
        self.fields: list[Field] = []
        self.symbols: list[str] = []
        self.size: int = 0

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


class AvroSchema:
    """A whole definition: its root, all named types, and the digest of what matters in it."""

    __slots__ = ("digest", "named", "root")

    def __init__(self, root: Node, named: dict[str, Node], digest: str) -> None:
        self.root: Node = root
        self.named: dict[str, Node] = named
        self.digest: str = digest


class Gap(Node):
    """Stands where a type belongs whose definition was not read yet."""

    __slots__ = ("space", "text")

    def __init__(self, text: str, space: str, number: int) -> None:
        super().__init__("", number, text)
        self.text: str = text
        self.space: str = space


def shown(text: str) -> str:
    """A name for a sentence: no longer than it has to be, and text that can be sent."""
    return text[:80].encode("utf-8", "replace").decode()
