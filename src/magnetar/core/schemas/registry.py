"""The schemas of all topics: who may bring which, which version it gets, and when they go.

The partitions of a topic share its schemas, and so do the persistent and the non-persistent topic of a name. They stand
in one row of the catalogue under that name, so they are durable before anybody hears of them, and changes of one
topic's schemas wait for each other.

A schema may be there before its topic: an operator uploads it. Otherwise it goes with the topic. Both rows cannot be
written at once, so the row of the topic decides. Whoever deletes that one takes the schemas along; if the broker dies
in between, the next start finds schemas marked as those of a topic that is not there, and takes them away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.catalog import NAMESPACES, PARTITIONED, SCHEMAS, TOPICS, Row
from magnetar.core.names import PERSISTENT, TopicName, quote
from magnetar.core.schemas.definition import Definition, why_incompatible
from magnetar.core.schemas.history import History
from magnetar.core.schemas.info import SchemaInfo
from magnetar.errors import IncompatibleSchema, MagnetarError

if TYPE_CHECKING:
    from magnetar.core.broker import Broker

__all__ = ["SchemaBook", "schema_key"]

Registered = Callable[[int, Exception | None], None]
"""Hears the version, -1 for none, or why not."""
Done = Callable[[Exception | None], None]

_EMPTY = History(None)


class _AlreadyThere(MagnetarError):  # noqa: N818
    """Ends a change of a row that has nothing to change any more."""


def schema_key(name: TopicName) -> str:
    """Under what the schemas of the topic are kept."""
    return f"{name.namespace}/{quote(name.parent)}"


class SchemaBook:
    """See the module's text."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self._read: dict[str, tuple[Row, History]] = {}
        """Histories by key, each with the row that it was made of."""

    # -- what is there -----------------------------------------------------------------------------------------------

    def of(self, name: TopicName) -> History:
        """The schemas of the topic as they are stored."""
        return self._at(schema_key(name))

    def _at(self, key: str) -> History:
        row = self.broker.catalog.schemas.get(key)
        if row is None:
            self._read.pop(key, None)
            return _EMPTY
        known = self._read.get(key)
        if known is None or known[0] is not row:
            known = self._read[key] = (row, History(row, known[1] if known is not None else None))
        return known[1]

    def why_incompatible(self, name: TopicName, info: SchemaInfo, strategy: str) -> str:
        """Why the schema could not be the topic's next one; empty when it could, or is one of its schemas."""
        definition, history = Definition(info), self.of(name)
        if history.find(definition.digest) >= 0:
            return ""
        return why_incompatible(history.definitions, definition, strategy)

    # -- changes -----------------------------------------------------------------------------------------------------

    def register(self, name: TopicName, info: SchemaInfo, strategy: str, may_add: bool, then: Registered) -> None:
        """The version of the schema, which is added when it is new, compatible and ``may_add`` says so."""
        key = schema_key(name)
        version = self._at(key).known(info)
        if version >= 0:
            then(version, None)
            return
        definition = Definition(info)
        found: list[int] = []

        def change(row: Row | None) -> Row:
            history = self._at(key)
            known = history.find(definition.digest)
            found.append(known if known >= 0 else history.next)
            if known >= 0:
                raise _AlreadyThere
            if not may_add:
                raise IncompatibleSchema(
                    "Schema not found and schema auto updating is disabled (isAllowAutoUpdateSchema); upload it first"
                )
            reason = why_incompatible(history.definitions, definition, strategy)
            if reason:
                raise IncompatibleSchema(f"Incompatible schema for {name} with strategy {strategy}: {reason}")
            return history.with_new(definition, self.broker.now_ms, self._has_topic(key))

        def stored(error: Exception | None) -> None:
            if error is None or isinstance(error, _AlreadyThere):
                then(found[0], None)
            else:
                then(-1, error)

        self.broker.rows.change(SCHEMAS + key, change, False, stored)

    def delete(self, name: TopicName, force: bool, then: Registered) -> None:
        """No schema any more. The version that this takes is handed on; by force nothing is remembered, not even it."""
        key = schema_key(name)
        found: list[int] = []

        def change(row: Row | None) -> Row | None:
            if row is None:
                found.append(-1 if force else 0)
                raise _AlreadyThere
            found.append(-1 if force else row["next"])
            return None if force else History(row).without_all()

        def stored(error: Exception | None) -> None:
            if error is None or isinstance(error, _AlreadyThere):
                then(found[0], None)
            else:
                then(-1, error)

        self.broker.rows.change(SCHEMAS + key, change, False, stored)

    # -- topics come and go ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Set right what a crash has left between the row of a topic and that of its schemas."""
        catalog = self.broker.catalog
        if not catalog.schemas:
            return
        topics: dict[str, bool] = {}
        for table in (catalog.topics, catalog.partitioned):
            for full in table:
                topics[schema_key(TopicName(full))] = True
        for key in list(catalog.schemas):
            if key.rpartition("/")[0] not in catalog.namespaces:
                self._drop(key)
            else:
                self._follow(key, key in topics)

    def row_changed(self, path: str, gone: bool) -> None:
        """A row of the catalogue was stored or deleted; schemas follow their topic, and their namespace's end."""
        schemas = self.broker.catalog.schemas
        if not schemas:
            return
        if path.startswith(NAMESPACES):
            prefix = path[len(NAMESPACES) :] + "/"
            if gone:
                for key in [key for key in schemas if key.startswith(prefix)]:
                    self._drop(key)
            return
        if path.startswith(SCHEMAS):
            key = path[len(SCHEMAS) :]
            if not gone:
                # The topic may have come or gone while this was on its way.
                self._follow(key, self._has_topic(key))
            return
        for table in (TOPICS, PARTITIONED):
            if path.startswith(table):
                key = schema_key(TopicName.from_path(path[len(table) :]))
                if key in schemas:
                    # With a partitioned topic its partitions go as well, one after another.
                    self._follow(key, not gone or (table == TOPICS and self._has_topic(key)))

    def _follow(self, key: str, there: bool) -> None:
        """The topic of these schemas is there or not; schemas that wait for a first topic stay either way."""
        row = self.broker.catalog.schemas[key]
        if there and not row["topic"]:
            self.broker.rows.change(SCHEMAS + key, _owned, False, _ignore)
        elif row["topic"] and not there:
            self._drop(key)

    def _drop(self, key: str) -> None:
        # Nobody is to find them from now on: the rows that they depended on are gone for good.
        self.broker.catalog.schemas.pop(key, None)
        self._read.pop(key, None)
        self.broker.rows.change(SCHEMAS + key, lambda row: None, False, _ignore)

    def _has_topic(self, key: str) -> bool:
        catalog = self.broker.catalog
        namespace, _, quoted = key.rpartition("/")
        for domain in (PERSISTENT, f"non-{PERSISTENT}"):
            name = TopicName.from_path(f"{namespace}/{domain}/{quoted}")
            full = str(name)
            if full in catalog.topics or full in catalog.partitioned:
                return True
            # Partitions may stand alone, without a partitioned topic above them.
            prefix = f"{full}-partition-"
            if any(known.startswith(prefix) for known in catalog.by_namespace.get(namespace, {})):
                return True
        return False


def _owned(row: Row | None) -> Row:
    if row is None:
        raise _AlreadyThere
    return {**row, "topic": True}


def _ignore(error: Exception | None) -> None:
    """The next start tries again."""
