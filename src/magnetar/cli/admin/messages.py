"""Messages as the admin interface hands them out: the entry as the body, what is known of it in headers.

A batch comes as one body, in which every message has its own metadata in front.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.cli.adminclient import Reply

__all__ = ["Message", "unpack"]

_PREFIX = "x-pulsar-"
_SHOWN = ("publish-time", "event-time", "deliver-at-time", "producer-name", "sequence-id", "compression")
_BATCH = ("num-batch-message", "batch-size")
_MAPS = ("property",)


@dataclass(slots=True)
class Message:
    """One message: its id, its headers by short name, its key, properties and content."""

    id: str
    facts: dict[str, str]
    key: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    content: bytes | None = b""

    def fields(self) -> dict[str, object]:
        """As a JSON object, in the words of ``magnetar consume --json``."""
        found: dict[str, object] = {
            "messageId": self.id,
            "key": self.key,
            "properties": self.properties,
            "publishTime": self.facts.get("publish-time"),
            "eventTime": self.facts.get("event-time"),
            "producerName": self.facts.get("producer-name"),
        }
        if self.content is None:
            return found | {"content": None}
        try:
            return found | {"content": self.content.decode()}
        except UnicodeDecodeError:
            return found | {"contentHex": self.content.hex()}

    def lines(self) -> list[str]:
        """For people: the facts, then the content."""
        found = [f"Message {self.id}"]
        if self.key is not None:
            found.append(f"  key: {self.key}")
        found += [f"  {name}: {self.facts[name]}" for name in _SHOWN if name in self.facts]
        found += [f"  property {name}: {value}" for name, value in self.properties.items()]
        if self.content is None:
            return [*found, "  (no value)"]
        try:
            text = self.content.decode()
        except UnicodeDecodeError:
            return [*found, *(f"  {self.content[at : at + 32].hex(' ', 4)}" for at in range(0, len(self.content), 32))]
        return [*found, *(f"  {line}" for line in text.splitlines() or [""])]


def unpack(reply: Reply) -> list[Message]:
    """The message of the answer, or all messages of its batch."""
    facts = {
        name.lower().removeprefix(_PREFIX): value
        for name, value in reply.headers.items()
        if name.lower().startswith(_PREFIX)
    }
    at = facts.get("message-id", "")
    count = next((int(facts[name]) for name in _BATCH if name in facts), 0)
    if count and facts.get("is-encrypted", "").lower() != "true":
        return _batch(at, facts, count, reply.data)
    properties: dict[str, str] = {}
    for name in _MAPS:
        if name in facts:
            properties.update(json.loads(facts[name]))
    empty = facts.get("null-value", "").lower() == "true"
    return [Message(at, facts, facts.get("partition-key"), properties, None if empty else reply.data)]


def _batch(at: str, facts: dict[str, str], count: int, data: bytes) -> list[Message]:
    from magnetar.wire.batch import iter_batch
    from magnetar.wire.errors import WireError

    try:
        inner = iter_batch(data, count)
    except WireError:
        return [Message(at, facts, content=data)]
    found = []
    for index, (one, payload) in enumerate(inner):
        message_id = at if at.count(":") > 1 else f"{at}:{index}"
        properties = {pair.key: pair.value for pair in one.properties}
        key = one.partition_key if one.HasField("partition_key") else None
        found.append(Message(message_id, facts, key, properties, None if one.null_value else payload))
    return found
