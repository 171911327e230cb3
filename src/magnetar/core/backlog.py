"""How large and how old a topic's backlog is.

Its size is that of everything from the first entry that some durable subscription has not acknowledged, as Pulsar
counts it: whole ledgers exactly, the ledger in between by the share of its entries. It costs a look at the table of
ledgers, and never grows when a cursor moves on.

Its age is that of its first entry. Publish times stand in the entries, so the entry is read once, when it is not in
memory, and remembered by its offset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.ports.log import ReadDone
from magnetar.wire.errors import WireError
from magnetar.wire.metadata import peek_publish_time

if TYPE_CHECKING:
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic

__all__ = [
    "UNKNOWN",
    "backlog_bytes",
    "backlog_floor",
    "known_age_ms",
    "offset_with",
    "slowest",
    "with_age",
    "with_publish_time",
]

UNKNOWN = -1


def backlog_bytes(topic: Topic, floor: int) -> int:
    """About how many bytes lie from offset ``floor`` on."""
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


def backlog_floor(topic: Topic) -> int:
    """The lowest offset that a durable subscription of somebody's still needs: what compaction holds is no backlog."""
    floor = topic.tail.end
    for sub in topic.subscriptions.values():
        if sub.durable and sub.acks.floor < floor and sub.name != COMPACTION_CURSOR:
            floor = sub.acks.floor
    return floor


def offset_with(topic: Topic, floor: int, size: int) -> int:
    """The first offset from ``floor`` on from which not more than ``size`` bytes lie."""
    low, high = floor, topic.tail.end
    while low < high:
        middle = (low + high) // 2
        if backlog_bytes(topic, middle) <= size:
            high = middle
        else:
            low = middle + 1
    return low


def slowest(topic: Topic) -> Subscription | None:
    """The durable subscription with the oldest unacknowledged entry; None without a backlog."""
    found: Subscription | None = None
    for sub in topic.subscriptions.values():
        if (
            sub.durable
            and sub.name != COMPACTION_CURSOR
            and sub.acks.floor < (topic.tail.end if found is None else found.acks.floor)
        ):
            found = sub
    return found


def known_age_ms(topic: Topic) -> int:
    """The age of the backlog's first entry, ``UNKNOWN`` when there is none or it would have to be read."""
    offset, tail, limits = backlog_floor(topic), topic.tail, topic.limits
    if offset >= tail.end:
        return UNKNOWN
    if offset != limits.oldest_offset:
        if offset < tail.base:
            return UNKNOWN
        limits.oldest_offset, limits.oldest_ms = offset, _time(tail.entries[offset - tail.base + tail.gone])
    return max(topic.broker.now_ms - limits.oldest_ms, 0) if limits.oldest_ms else UNKNOWN


def with_age(topic: Topic, call: Callable[[int], None]) -> None:
    """Call with the age, after reading what it takes."""
    offset = backlog_floor(topic)
    if offset == topic.limits.oldest_offset or offset >= topic.tail.base:
        call(known_age_ms(topic))
        return

    def found(time_ms: int) -> None:
        topic.limits.oldest_offset, topic.limits.oldest_ms = offset, time_ms
        call(known_age_ms(topic))

    with_publish_time(topic, offset, found)


def with_publish_time(topic: Topic, offset: int, call: Callable[[int], None]) -> None:
    """Call with the publish time of an entry, 0 when it cannot be read."""
    tail = topic.tail
    if offset >= tail.base:
        call(_time(tail.entries[offset - tail.base + tail.gone]) if offset < tail.end else 0)
        return

    def arrived(ticket: int, wanted: int, answer: ReadDone) -> None:
        entry = answer.entries[0] if answer.entries and answer.offset == wanted else None
        call(_time(entry))

    topic.broker.read(topic.stream, offset, 1, 1, arrived)


def _time(entry: bytes | None) -> int:
    try:
        return peek_publish_time(entry) if entry else 0
    except WireError:
        return 0
