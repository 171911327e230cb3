"""The catalogue: tenants, namespaces and topics as they stand in the metadata store, mirrored in memory.

Reads are answered from here. A change is first written to the store; when the store says that it is durable, the same
path and value are applied here. Paths are the table of contents:

===============================================  ===============================================
/tenants/T                                       {"adminRoles": [...], "allowedClusters": [...]}
/namespaces/T/N                                  the policies of the namespace
/topics/T/N/DOMAIN/ENCODED-LOCAL-NAME            {"stream": number in the log, "properties": {}}
/partitioned/T/N/DOMAIN/ENCODED-LOCAL-NAME       {"partitions": N, "properties": {}}
/live/T/N/DOMAIN/ENCODED-LOCAL-NAME              {"policies": {}} of a non-persistent topic, which has no other row
/deleting/T/N/DOMAIN/ENCODED-LOCAL-NAME          {"streams": [...]} of a partitioned topic that is being deleted
/settings/NAME                                   {"value": a setting's text, changed while running}
/schemas/T/N/ENCODED-LOCAL-NAME                  the schemas of a topic (``core/schemas/history``)
/clusters/NAME                                   addresses of a cluster, as they were given
===============================================  ===============================================

Topics of both kinds may have ``"policies"`` as well. They stand in the topic's own row, so that a topic and its
policies come and go together.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from magnetar.core.names import PARTITION_MARK, PERSISTENT, TopicName
from magnetar.core.systemtopics import is_system_topic

__all__ = ["Catalog", "MetaWrite", "Row", "encode_row"]

TOPICS, PARTITIONED, LIVE = "/topics/", "/partitioned/", "/live/"
TENANTS, NAMESPACES, SETTINGS, SCHEMAS = "/tenants/", "/namespaces/", "/settings/", "/schemas/"
CLUSTERS, DELETING = "/clusters/", "/deleting/"

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
        self.clusters: dict[str, Row] = {}
        self.deleting: dict[str, Row] = {}
        """Partitioned topics that are being deleted, by the ends of their paths (``core/unfinished``)."""
        self._plain: tuple[tuple[str, dict[str, Row]], ...] = (
            (TENANTS, self.tenants),
            (NAMESPACES, self.namespaces),
            (SETTINGS, self.settings),
            (SCHEMAS, self.schemas),
            (CLUSTERS, self.clusters),
            (DELETING, self.deleting),
        )
        self.topics: dict[str, Row] = {}
        self.partitioned: dict[str, Row] = {}
        self.live_policies: dict[str, Row] = {}
        """Rows of non-persistent topics, open or not, that have policies of their own."""
        self.by_namespace: dict[str, dict[str, int]] = {}
        """Full names of the topics (0) and partitioned topics (their partitions) of each namespace, in order of age."""
        self.live: dict[str, dict[str, None]] = {}
        """Non-persistent topics that are open, by namespace: they have no rows, because nothing of them is stored."""
        self.counts: dict[str, int] = {}
        """How many persistent topics each namespace has, every partition for itself and system topics left out."""
        self.listener: Callable[[str, list[str], list[str]], None] | None = None
        """Hears of persistent topics that have come and gone: namespace, full names of the new, of the deleted."""

    def _place(self, path: str) -> tuple[dict[str, Row], str]:
        """The table that a path belongs to, and its key there."""
        for prefix, table in self._plain:
            if path.startswith(prefix):
                return table, path[len(prefix) :]
        for prefix, table in ((TOPICS, self.topics), (PARTITIONED, self.partitioned), (LIVE, self.live_policies)):
            if path.startswith(prefix):
                return table, str(TopicName.from_path(path[len(prefix) :]))
        return {}, path

    def apply(self, path: str, value: bytes | None) -> None:
        """The store holds ``value`` (None: nothing) at ``path`` now. Rows of no known table are passed over."""
        row: Row | None = json.loads(value) if value is not None else None
        table, key = self._place(path)
        before = table.get(key)
        if table is self.topics or table is self.partitioned:
            name = TopicName(key)
            touched = [key, *_partition_names(key, _span(before, row))]
            was = [self.listed(one) for one in touched]
            _store(table, key, row)
            self._index(name.namespace, key)
            if name.domain == PERSISTENT:
                self._tell(name.namespace, touched, was)
        else:
            _store(table, key, row)

    def _index(self, namespace: str, key: str) -> None:
        known = self.by_namespace.setdefault(namespace, {})
        if key in self.partitioned:
            known[key] = int(self.partitioned[key]["partitions"])
        elif key in self.topics:
            known[key] = 0
        else:
            known.pop(key, None)

    def _tell(self, namespace: str, touched: list[str], was: list[bool]) -> None:
        """Count what has come and gone, and pass it on."""
        now = [self.listed(one) for one in touched]
        new = [name for name, then, is_now in zip(touched, was, now, strict=True) if is_now and not then]
        gone = [name for name, then, is_now in zip(touched, was, now, strict=True) if then and not is_now]
        if not new and not gone:
            return
        counted = sum(not is_system_topic(name) for name in new) - sum(not is_system_topic(name) for name in gone)
        self.counts[namespace] = self.counts.get(namespace, 0) + counted
        if self.listener is not None:
            self.listener(namespace, new, gone)

    def row(self, path: str) -> Row | None:
        """What stands at ``path``, None when nothing does."""
        table, key = self._place(path)
        return table.get(key)

    def own_policies(self, name: TopicName) -> Row:
        """The policies of the topic itself; a partition has those of its partitioned topic."""
        full = str(name)
        row = self.partitioned.get(f"{name.domain}://{name.namespace}/{name.parent}")
        row = row or self.topics.get(full) or self.live_policies.get(full)
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

    def topic_names(self, namespace: str, domain: str = PERSISTENT, system: bool = True) -> list[str]:
        """Full names of the namespace's topics; of partitioned ones every partition. Any domain when it is empty."""
        found: list[str] = []
        for name, partitions in self.by_namespace.get(namespace, {}).items():
            if domain and not name.startswith(f"{domain}://"):
                continue
            if partitions:
                found.extend(_partition_names(name, range(partitions)))
            elif PARTITION_MARK not in name or not self._covered(name):
                found.append(name)
        if domain != PERSISTENT:
            found.extend(name for name in self.live.get(namespace, {}) if not self._covered(name))
        return found if system else [name for name in found if not is_system_topic(name)]

    def partitioned_names(self, namespace: str, domain: str = PERSISTENT, system: bool = True) -> list[str]:
        """Full names of the namespace's partitioned topics."""
        known = self.by_namespace.get(namespace, {})
        found = [name for name, partitions in known.items() if partitions and name.startswith(f"{domain}://")]
        return found if system else [name for name in found if not is_system_topic(name)]

    def opened(self, name: TopicName) -> None:
        """A non-persistent topic is there."""
        self.live.setdefault(name.namespace, {})[str(name)] = None

    def vanished(self, name: TopicName) -> None:
        """A non-persistent topic is gone."""
        known = self.live.get(name.namespace, {})
        known.pop(str(name), None)
        if not known:
            self.live.pop(name.namespace, None)

    def listed(self, name: str) -> bool:
        """Whether a stored topic of this name is there, by itself or as a partition of its partitioned topic."""
        return name not in self.partitioned and (name in self.topics or self._covered(name))

    def _covered(self, name: str) -> bool:
        """Whether the name is that of a partition of a partitioned topic."""
        parent, mark, index = name.rpartition(PARTITION_MARK)
        row = self.partitioned.get(parent) if mark else None
        return row is not None and _is_index(index) and int(index) < int(row["partitions"])


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text[0] != "0" or text == "0") and len(text) < 10


def _span(before: Row | None, after: Row | None) -> range:
    """The partitions that a row has gained or lost."""
    ends = [int(row.get("partitions", 0)) if row is not None else 0 for row in (before, after)]
    return range(min(ends), max(ends))


def _partition_names(name: str, indexes: range) -> list[str]:
    return [f"{name}{PARTITION_MARK}{index}" for index in indexes]


def _store(table: dict[str, Row], key: str, row: Row | None) -> None:
    if row is None:
        table.pop(key, None)
    else:
        table[key] = row
