"""A schema as clients send it and as it is kept: its type, its definition as bytes, and properties.

The names of the types are those of the admin interface. A key-value schema holds two
others: their definitions follow each other, each behind its length, and their types stand in the properties.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from magnetar.errors import InvalidSchema
from magnetar.wire.commands import pb

__all__ = [
    "AUTO_CONSUME",
    "SchemaInfo",
    "from_wire",
    "join_pair",
    "known_kind",
    "split_pair",
    "to_wire",
    "version_bytes",
]

_KINDS: Final[tuple[str, ...]] = tuple(pb.Schema.Type.keys())
AUTO_CONSUME: Final = pb.Schema.Type.AUTO_CONSUME
_LENGTH = struct.Struct(">i")
_VERSION = struct.Struct(">q")


class SchemaInfo(NamedTuple):
    """A schema without a version. ``kind`` is the name of its type."""

    kind: str
    data: bytes
    properties: dict[str, str]


def known_kind(kind: str) -> bool:
    """Whether there is a type of this name."""
    return kind in _KINDS


def from_wire(schema: pb.Schema) -> SchemaInfo | None:
    """The schema of a command; None for plain bytes, which are no schema."""
    if schema.type == pb.Schema.Type.NONE:
        return None
    properties = {pair.key: pair.value for pair in schema.properties}
    return SchemaInfo(pb.Schema.Type.Name(schema.type), schema.schema_data, properties)


def to_wire(info: SchemaInfo, name: str) -> pb.Schema:
    """The schema as it stands in an answer."""
    found = pb.Schema(name=name, schema_data=info.data, type=info.kind)
    for key, value in info.properties.items():
        found.properties.add(key=key, value=value)
    return found


def version_bytes(version: int) -> bytes:
    """A version as the protocol has it; a topic without schema (-1) has the empty one."""
    return _VERSION.pack(version) if version >= 0 else b""


def split_pair(info: SchemaInfo) -> tuple[SchemaInfo, SchemaInfo]:
    """Key and value of a key-value schema. Where the properties name no type it is plain bytes, as in Pulsar."""
    parts: list[SchemaInfo] = []
    rest = info.data
    for side in ("key", "value"):
        if len(rest) < _LENGTH.size:
            raise InvalidSchema(f"the definition of a KEY_VALUE schema ends before the length of its {side}")
        (length,) = _LENGTH.unpack_from(rest)
        length = max(length, 0)
        rest = rest[_LENGTH.size :]
        if length > len(rest):
            raise InvalidSchema(f"the definition of a KEY_VALUE schema ends within its {side}")
        kind = info.properties.get(f"{side}.schema.type", "NONE")
        if kind == "BYTES":
            kind = "NONE"
        if kind not in _KINDS or kind in ("KEY_VALUE", "AUTO_CONSUME"):
            raise InvalidSchema(f"{side}.schema.type of a KEY_VALUE schema cannot be '{kind[:40]}'")
        parts.append(SchemaInfo(kind, rest[:length], {}))
        rest = rest[length:]
    if rest:
        raise InvalidSchema("the definition of a KEY_VALUE schema goes on behind its value")
    return parts[0], parts[1]


def join_pair(key: bytes, value: bytes) -> bytes:
    """The definition of a key-value schema, made of those of its halves."""
    return b"".join((_LENGTH.pack(len(key)), key, _LENGTH.pack(len(value)), value))
