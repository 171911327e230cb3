"""What several statistics need: times as text, bytes behind a cursor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from magnetar.core.topic import Topic

__all__ = ["backlog_bytes", "iso"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(time_ms: int) -> str:
    """A point in time as ISO text in UTC, as short as it can be said exactly."""
    text = (_EPOCH + timedelta(milliseconds=time_ms)).strftime("%Y-%m-%dT%H:%M:%S")
    rest = time_ms % 1000
    return f"{text}.{rest:03d}".rstrip("0") + "Z" if rest else f"{text}Z"


def backlog_bytes(topic: Topic, floor: int) -> int:
    """About how many bytes lie from offset ``floor`` on: whole ledgers exactly, the one in between by share."""
    ledgers, end = topic.ledgers, topic.tail.end
    if floor >= end or not ledgers.ids:
        return 0
    row = ledgers.row(floor)
    size = sum(ledgers.sizes[row + 1 :])
    first = ledgers.bases[row]
    last = ledgers.bases[row + 1] if row + 1 < len(ledgers.bases) else end
    if last > first:
        size += ledgers.sizes[row] * (last - max(floor, first)) // (last - first)
    return size
