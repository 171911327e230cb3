"""The schemas of one topic in order of age, and the row of the catalogue that they are kept in.

Versions count from 0 and are never given again. Deleting takes a version as well and hides everything before it, so a
message that names an older version names nothing any more. The row is written whole with every change: a schema is
registered or it is not.

==========  ==============================================================================================
next        the version that comes next
topic       whether a topic of this name exists; if it is gone at a start, so are its schemas
live        a list of the versions, each with
  v, ms     its number and when it was registered
  type      the name of its type
  data      its definition, one character for each byte
  props     its properties
  digest    what equal schemas have equal
==========  ==============================================================================================
"""

from __future__ import annotations

from typing import Any, Final

from magnetar.core.schemas.definition import Definition
from magnetar.core.schemas.info import SchemaInfo
from magnetar.errors import NotAllowed

__all__ = ["TOPIC_SCHEMAS_BYTES_MAX", "History", "Stored"]

TOPIC_SCHEMAS_BYTES_MAX: Final = 4 << 20
"""The most that all live schemas of a topic may have together."""

Row = dict[str, Any]


class Stored:
    """A schema with its version."""

    __slots__ = ("created_ms", "definition", "version")

    def __init__(self, entry: Row) -> None:
        self.version: int = entry["v"]
        self.created_ms: int = entry["ms"]
        info = SchemaInfo(entry["type"], entry["data"].encode("latin-1"), entry["props"])
        self.definition: Definition = Definition(info, entry["digest"])


def _kept(known: Stored | None, entry: Row) -> Stored:
    return known if known is not None and known.definition.digest == entry["digest"] else Stored(entry)


class History:
    """What a row says; an absent row is a topic that never had a schema."""

    def __init__(self, row: Row | None, before: History | None = None) -> None:
        self.row: Row = row if row is not None else {"next": 0, "topic": False, "live": []}
        self.next: int = self.row["next"]
        # What was parsed stays parsed when the row changes.
        known = {stored.version: stored for stored in before.live} if before is not None else {}
        self.live: list[Stored] = [_kept(known.get(entry["v"]), entry) for entry in self.row["live"]]

    @property
    def latest(self) -> Stored | None:
        return self.live[-1] if self.live else None

    @property
    def definitions(self) -> list[Definition]:
        return [stored.definition for stored in self.live]

    def at(self, version: int) -> Stored | None:
        """The live schema of this version."""
        for stored in self.live:
            if stored.version == version:
                return stored
        return None

    def known(self, info: SchemaInfo) -> int:
        """The version of this very schema, -1 when there is none: so clients that come back cost next to nothing."""
        for stored in self.live:
            if stored.definition.info == info:
                return stored.version
        return -1

    def find(self, digest: str) -> int:
        """The version of an equal schema, -1 when there is none."""
        for stored in self.live:
            if stored.definition.digest == digest:
                return stored.version
        return -1

    def with_new(self, definition: Definition, now_ms: int, topic: bool) -> Row:
        """The row with one more version."""
        kind, data, properties = definition.info
        size = sum(len(stored.definition.info.data) for stored in self.live) + len(data)
        if size > TOPIC_SCHEMAS_BYTES_MAX:
            raise NotAllowed(
                f"the schemas of the topic would have {size} bytes together; at most {TOPIC_SCHEMAS_BYTES_MAX} are "
                "kept. Delete its schemas to begin anew"
            )
        entry = {
            "v": self.next,
            "ms": now_ms,
            "type": kind,
            "data": data.decode("latin-1"),
            "props": properties,
            "digest": definition.digest,
        }
        return {"next": self.next + 1, "topic": topic, "live": [*self.row["live"], entry]}

    def without_all(self) -> Row:
        """The row after its schemas were deleted, which takes a version."""
        return {**self.row, "next": self.next + 1, "live": []}
