"""Definitions that were checked, and the rules by which they may follow each other.

What a definition has to be depends on the type: Avro text for AVRO, JSON and PROTOBUF, a descriptor for
PROTOBUF_NATIVE, two definitions for KEY_VALUE, anything for EXTERNAL, and nothing for all the others. Equal digests
mean the same schema, so it keeps its version.

A strategy says in which direction definitions must be readable. The type of a topic's schema never changes, unless
anything goes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from magnetar.core.schemas.avro import AvroSchema, shown
from magnetar.core.schemas.avrotext import SCHEMA_BYTES_MAX, parse
from magnetar.core.schemas.info import SchemaInfo, split_pair
from magnetar.core.schemas.resolve import Effort, why_unreadable
from magnetar.errors import InvalidSchema

__all__ = ["PROPERTY_BYTES_MAX", "STRATEGIES", "Definition", "why_incompatible"]

PROPERTY_BYTES_MAX: Final = 64 << 10
"""The most that the properties of a schema may have together."""

_AVRO: Final = ("AVRO", "JSON", "PROTOBUF")
_NULL: Final = b"null"
"""What Python's client sends where other clients send nothing."""

STRATEGIES: Final[dict[str, tuple[bool, bool, bool]]] = {
    "BACKWARD": (True, False, False),
    "FORWARD": (False, True, False),
    "FULL": (True, True, False),
    "BACKWARD_TRANSITIVE": (True, False, True),
    "FORWARD_TRANSITIVE": (False, True, True),
    "FULL_TRANSITIVE": (True, True, True),
}
"""Whether the new schema must read what the old wrote, whether the old must read what the new writes, and whether
all earlier versions count or the latest one only."""


class Definition:
    """A schema whose definition is known to be one. Those that were stored are parsed when they are first compared."""

    __slots__ = ("_avro", "_pair", "digest", "info")

    def __init__(self, info: SchemaInfo, digest: str = "") -> None:
        self.info: SchemaInfo = info
        self._avro: AvroSchema | None = None
        self._pair: tuple[Definition, Definition] | None = None
        self.digest: str = digest or self._check()

    def _check(self) -> str:
        """Refuse what is no definition; the digest of what is one."""
        kind, data, properties = self.info
        size = sum(len(key.encode()) + len(value.encode()) for key, value in properties.items())
        if size > PROPERTY_BYTES_MAX:
            raise InvalidSchema(
                f"the properties of the schema have {size} bytes; at most {PROPERTY_BYTES_MAX} are taken"
            )
        if len(data) > SCHEMA_BYTES_MAX:
            raise InvalidSchema(f"the definition has {len(data)} bytes; at most {SCHEMA_BYTES_MAX} are taken")
        if kind in _AVRO:
            return f"{kind}:{self.avro.digest}"
        if kind == "KEY_VALUE":
            key, value = self.pair
            return f"{kind}:{key.digest}:{value.digest}"
        if kind == "AUTO_CONSUME":
            raise InvalidSchema("Schema AUTO_CONSUME is a client-side schema type: it cannot be stored")
        if kind == "STRING" and data == _NULL:
            data = b""
        if kind == "PROTOBUF_NATIVE":
            root_message(data)
        elif kind != "EXTERNAL" and data:
            raise InvalidSchema(f"Invalid schema definition data for {kind} schema: it should be empty")
        return f"{kind}:{hashlib.sha256(data).hexdigest()}"

    @property
    def avro(self) -> AvroSchema:
        """The definition as Avro has it."""
        if self._avro is None:
            try:
                self._avro = parse(self.info.data)
            except InvalidSchema as error:
                raise InvalidSchema(f"Invalid schema definition data for {self.info.kind} schema: {error}") from None
        return self._avro

    @property
    def pair(self) -> tuple[Definition, Definition]:
        """Key and value."""
        if self._pair is None:
            key, value = split_pair(self.info)
            self._pair = (Definition(key), Definition(value))
        return self._pair


def root_message(data: bytes) -> str:
    """The full name of the message that a Protobuf descriptor, as clients write it, is about."""
    try:
        text = json.loads(data.decode())
        found = FileDescriptorSet.FromString(base64.b64decode(text["fileDescriptorSet"], validate=True))
        root, file_name = text["rootMessageTypeName"], text["rootFileDescriptorName"]
        files = [file for file in found.file if file.name == file_name]
        known = [file.package + "." + message.name for file in files for message in file.message_type]
    except (ValueError, KeyError, TypeError, RecursionError, DecodeError):
        raise InvalidSchema("Invalid schema definition data for PROTOBUF_NATIVE schema: it is no descriptor") from None
    if not isinstance(root, str) or not any(f".{root}.".startswith(f".{name.lstrip('.')}.") for name in known):
        raise InvalidSchema(f"the PROTOBUF_NATIVE schema has no message '{shown(str(root))}' in its root file")
    return root


def why_incompatible(before: list[Definition], new: Definition, strategy: str) -> str:
    """Why the schema may not follow those before it (oldest first); empty when it may."""
    if strategy == "ALWAYS_COMPATIBLE" or not before:
        return ""
    if strategy == "ALWAYS_INCOMPATIBLE":
        return "the strategy is ALWAYS_INCOMPATIBLE, so a topic keeps the schema that it has"
    backward, forward, all_of_them = STRATEGIES[strategy]
    effort = Effort()
    for old in before if all_of_them else before[-1:]:
        reason = _why_apart(old, new, backward, forward, effort)
        if reason:
            return reason
    return ""


def _why_apart(old: Definition, new: Definition, backward: bool, forward: bool, effort: Effort) -> str:
    """The same for two of them."""
    kind = new.info.kind
    if old.info.kind != kind:
        return f"exists schema type {old.info.kind}, new schema type {kind}"
    if old.digest == new.digest:
        return ""
    if kind in _AVRO:
        reason = why_unreadable(old.avro, new.avro, effort) if backward else ""
        if reason:
            return f"the new schema cannot read what the earlier one wrote: {reason}"
        reason = why_unreadable(new.avro, old.avro, effort) if forward else ""
        return f"the earlier schema cannot read what the new one writes: {reason}" if reason else ""
    if kind == "KEY_VALUE":
        for side, was, now in zip(("key", "value"), old.pair, new.pair, strict=True):
            reason = _why_apart(was, now, backward, forward, effort)
            if reason:
                return f"{side}: {reason}"
    if kind == "PROTOBUF_NATIVE":
        was_root, root = root_message(old.info.data), root_message(new.info.data)
        if was_root != root:
            return f"the root message was {shown(was_root)} and would be {shown(root)}"
    return ""
