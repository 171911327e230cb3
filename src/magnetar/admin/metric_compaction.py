"""Metrics of compaction, of those topics that were compacted or are being compacted; Pulsar has none of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from magnetar.core.compaction.state import NOT_RUN, TopicCompaction
from magnetar.core.topic import Topic

__all__ = ["COMPACTION", "compaction_families"]

COMPACTION: dict[str, Callable[[TopicCompaction], int]] = {
    "pulsar_compaction_removed_event_count": lambda c: c.removed,
    "pulsar_compaction_succeed_count": lambda c: c.succeeded,
    "pulsar_compaction_failed_count": lambda c: c.failed,
    "pulsar_compaction_duration_time_in_mills": lambda c: c.took_ms,
    "pulsar_compaction_compacted_entries_count": lambda c: c.view.entries if c.view is not None else 0,
    "pulsar_compaction_compacted_entries_size": lambda c: c.view.size_bytes if c.view is not None else 0,
}


def compaction_families(topics: list[tuple[str, Topic]]) -> Iterator[tuple[str, Iterable[tuple[str, int]]]]:
    """Each name with its samples; topics come with their labels."""
    compacted = [(labels, topic.compaction) for labels, topic in topics if _known(topic.compaction)]
    for name, value in COMPACTION.items():
        yield name, [(labels, value(state)) for labels, state in compacted]


def _known(state: TopicCompaction) -> bool:
    return state.view is not None or state.status != NOT_RUN
