"""What several statistics need: times as text, the age of what lies behind a cursor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from magnetar.core.topic import Topic
from magnetar.wire.errors import WireError
from magnetar.wire.metadata import peek_publish_time

__all__ = ["backlog_age_ms", "iso", "seconds"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(time_ms: int) -> str:
    """A point in time as ISO text in UTC, as short as it can be said exactly."""
    text = (_EPOCH + timedelta(milliseconds=time_ms)).isoformat()[:19]
    rest = time_ms % 1000
    return f"{text}.{rest:03d}".rstrip("0") + "Z" if rest else f"{text}Z"


def backlog_age_ms(topic: Topic, floor: int) -> int:
    """How old the entry at offset ``floor`` is, 0 when there is none.

    An entry in memory says so itself. Nothing is read from the log for this: there, the age of an entry is estimated
    by its place between the moments at which its ledger was begun and ended.
    """
    tail, ledgers, now_ms = topic.tail, topic.ledgers, topic.broker.now_ms
    if floor >= tail.end or not ledgers.ids:
        return 0
    if floor >= tail.base:
        try:
            return max(now_ms - peek_publish_time(tail.entries[floor - tail.base + tail.gone]), 0)
        except WireError:
            return 0
    row = ledgers.row(floor)
    begun, first = ledgers.opened[row], ledgers.bases[row]
    ended, end = topic.last_publish_ms or now_ms, tail.end
    if row + 1 < len(ledgers.ids):
        ended, end = ledgers.opened[row + 1], ledgers.bases[row + 1]
    share = (max(floor, first) - first) / max(end - first, 1)
    return max(now_ms - begun - int(max(ended - begun, 0) * share), 0)


def seconds(time_ms: int) -> int:
    """A limit in whole seconds, -1 for none."""
    return time_ms // 1000 if time_ms >= 0 else -1
