"""The catalogue: tenants, namespaces and topics as they stand in the metadata store, mirrored in memory.

Reads are answered from here. A change is first written to the store; when the store says that it is durable, the same
path and value are applied here. Paths are the table of contents:

===============================================  ===============================================
/tenants/T                                       {"adminRoles": [...], "allowedClusters": [...]}
/namespaces/T/N                                  the policies of the namespace
/topics/T/N/DOMAIN/ENCODED-LOCAL-NAME            {"stream": number in the log, "properties": {}}
/partitioned/T/N/DOMAIN/ENCODED-LOCAL-NAME       {"partitions": N, "properties": {}}
/settings/NAME                                   {"value": a setting's text, changed while running}
/schemas/T/N/ENCODED-LOCAL-NAME                  the schemas of a topic (``core/schemas/history``)
===============================================  ===============================================

Topics of both kinds may have ``"policies"`` as well. They stand in the topic's own row, so that a topic and its
policies come and go together.
"""

from __future__ import annotations

import json
from typing import Any

from magnetar.core.names import TopicName

__all__ = ["Catalog", "MetaWrite", "Row", "encode_row"]

TOPICS, PARTITIONED = "/topics/", "/partitioned/"
TENANTS, NAMESPACES, SETTINGS, SCHEMAS = "/tenants/", "/namespaces/", "/settings/", "/schemas/"

Row = dict[str, Any]


def encode_row(row: Row) -> bytes:
    """A row as it stands in the store."""
    return json.dumps(row, separators=(",", ":"), sort_keys=True).encode()


class MetaWrite:
    """A write that the shell is to make: ``value`` None deletes; ``create`` fails when the path is there already."""

    def __init__(self, path: str, value: bytes | None, create: bool, number: int) -> None:
        self.path: str = path
        self.value: bytes | None = value
        self.create: bool = create
        self.number: int = number


class Catalog:
    """See the module's text. Topic keys are full names."""

    def __init__(self) -> None:
        self.tenants: dict[str, Row] = {}
        self.namespaces: dict[str, Row] = {}
        self.settings: dict[str, Row] = {}
        self.schemas: dict[str, Row] = {}
        self._plain: tuple[tuple[str, dict[str, Row]], ...] = (
            (TENANTS, self.tenants),
            (NAMESPACES, self.namespaces),
            (SETTINGS, self.settings),
            (SCHEMAS, self.schemas),
        )
        self.topics: dict[str, Row] = {}
        self.partitioned: dict[str, Row] = {}
        self.by_namespace: dict[str, dict[str, int]] = {}
        """Full names of the topics (0) and partitioned topics (their partitions) of each namespace, in order of age."""

    def _place(self, path: str) -> tuple[dict[str, Row], str]:
        """The table that a path belongs to, and its key there."""
        for prefix, table in self._plain:
            if path.startswith(prefix):
                return table, path[len(prefix) :]
        for prefix, table in ((TOPICS, self.topics), (PARTITIONED, self.partitioned)):
            if path.startswith(prefix):
                return table, str(TopicName.from_path(path[len(prefix) :]))
        return {}, path

    def apply(self, path: str, value: bytes | None) -> None:
        """The store holds ``value`` (None: nothing) at ``path`` now. Rows of no known table are passed over."""
        row: Row | None = json.loads(value) if value is not None else None
        table, key = self._place(path)
        if row is None:
            table.pop(key, None)
        else:
            table[key] = row
        if table is self.topics or table is self.partitioned:
            known = self.by_namespace.setdefault(TopicName(key).namespace, {})
            if row is None:
                known.pop(key, None)
            else:
                known[key] = int(row.get("partitions", 0))

    def row(self, path: str) -> Row | None:
        """What stands at ``path``, None when nothing does."""
        table, key = self._place(path)
        return table.get(key)

    def own_policies(self, name: TopicName) -> Row:
        """The policies of the topic itself; a partition has those of its partitioned topic."""
        row = self.partitioned.get(f"{name.domain}://{name.namespace}/{name.parent}") or self.topics.get(str(name))
        found: Row = row.get("policies", {}) if row is not None else {}
        return found

    def partitions(self, name: TopicName) -> int:
        """How many partitions the topic has; 0 when it is not a partitioned topic."""
        row = self.partitioned.get(str(name))
        return int(row["partitions"]) if row is not None else 0

    def stream(self, name: str) -> int:
        """The topic's stream in the log, 0 when the topic does not exist."""
        row = self.topics.get(name)
        return int(row["stream"]) if row is not None else 0

    def topic_names(self, namespace: str) -> list[str]:
        """Full names of the namespace's topics; of partitioned ones every partition."""
        found: list[str] = []
        for name, partitions in self.by_namespace.get(namespace, {}).items():
            if partitions:
                found.extend(f"{name}-partition-{index}" for index in range(partitions))
            elif TopicName(name).partition < 0 or not self._is_partition(name):
                found.append(name)
        return found

    def _is_partition(self, name: str) -> bool:
        topic = TopicName(name)
        parent = self.partitioned.get(f"{topic.domain}://{topic.namespace}/{topic.parent}")
        return parent is not None and topic.partition < int(parent["partitions"])
