"""A partitioned topic is deleted in many rows, and a crash in between must not leave some of its partitions.

So what is to go is written down first, by the numbers of the partitions' streams, which are never given to anything
else. The topic is deleted when its own row is gone. If the broker ends before all partitions are, its next start takes
away what is left; if it ends before the row is gone, nothing has happened and the note is thrown away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.catalog import DELETING, TOPICS, Catalog
from magnetar.core.names import TopicName

if TYPE_CHECKING:
    from magnetar.core.broker import Broker

__all__ = ["left_over", "streams_of"]


def streams_of(broker: Broker, name: TopicName) -> list[int]:
    """The streams of the partitions that have been used."""
    catalog = broker.catalog
    found = [catalog.stream(str(name.with_partition(index))) for index in range(catalog.partitions(name))]
    return [stream for stream in found if stream]


def left_over(catalog: Catalog) -> list[str]:
    """The rows that a start has to delete, in this order, to bring deletions to their end."""
    found: list[str] = []
    for path, row in catalog.deleting.items():
        name = TopicName.from_path(path)
        if str(name) not in catalog.partitioned:
            going = set(row["streams"])
            for full in catalog.by_namespace.get(name.namespace, {}):
                if catalog.stream(full) in going:
                    found.append(TOPICS + TopicName(full).path)
        found.append(DELETING + path)
    return found
