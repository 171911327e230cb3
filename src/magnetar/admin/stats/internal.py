"""Internal statistics: ledgers and cursors, in the words of Pulsar's managed ledger."""

from __future__ import annotations

from magnetar.admin.answers import Fields
from magnetar.admin.stats.common import iso
from magnetar.admin.stats.subscription import RANGES_MAX
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic

__all__ = ["internal_stats"]


def internal_stats(topic: Topic) -> Fields:
    """As for Pulsar, the open ledger stands in the list with nothing in it and is described by ``currentLedger*``."""
    ledgers, end = topic.ledgers, topic.tail.end
    rows: list[Fields] = []
    for at, ident in enumerate(ledgers.ids):
        closed = at + 1 < len(ledgers.ids)
        entries = ledgers.bases[at + 1] - ledgers.bases[at] if closed else 0
        rows.append(_ledger(ident, entries, ledgers.sizes[at] if closed else 0))
    pending = topic.next_offset - end
    return {
        "entriesAddedCounter": end,
        "numberOfEntries": end - topic.first_offset,
        "totalSize": topic.size_bytes,
        "currentLedgerEntries": end - ledgers.base if ledgers.ids else 0,
        "currentLedgerSize": ledgers.sizes[-1] if ledgers.ids else 0,
        "lastLedgerCreatedTimestamp": iso(ledgers.opened[-1] if ledgers.ids else topic.created_ms),
        "waitingCursorsCount": sum(_waits(sub) for sub in topic.subscriptions.values()),
        "pendingAddEntriesCount": pending,
        "lastConfirmedEntry": _before(topic, end),
        "state": "Terminated" if topic.terminated else "LedgerOpened",
        "ledgers": rows,
        "cursors": {sub.name: _cursor(sub) for sub in topic.subscriptions.values()},
        "properties": {},
        "schemaLedgers": [],
        "compactedLedger": _compacted(topic),
    }


def _ledger(ident: int, entries: int, size: int) -> Fields:
    return {"ledgerId": ident, "entries": entries, "size": size, "offloaded": False, "underReplicated": False}


def _compacted(topic: Topic) -> Fields:
    view = topic.compaction.view
    return _ledger(view.ledger, view.entries, view.size_bytes) if view is not None else _ledger(-1, -1, -1)


def _before(topic: Topic, offset: int) -> str:
    """The position right before ``offset``."""
    if not topic.ledgers.ids:
        return "-1:-1"
    ledger, entry = topic.ledgers.position_before(offset)
    return f"{ledger}:{entry}"


def _at(topic: Topic, offset: int) -> tuple[int, int]:
    return topic.ledgers.position(offset) if topic.ledgers.ids else (-1, -1)


def _read_next(sub: Subscription) -> int:
    return sub.dispatcher.read_next if sub.dispatcher is not None else sub.acks.floor


def _waits(sub: Subscription) -> bool:
    """Whether everything was read and somebody would take more."""
    return bool(sub.consumers) and _read_next(sub) >= sub.topic.tail.end


def _cursor(sub: Subscription) -> Fields:
    topic = sub.topic
    end, floor = topic.tail.end, sub.acks.floor
    ranges = sub.acks.ranges(RANGES_MAX) if sub.acks.above else []
    ledger, entry = _at(topic, _read_next(sub))
    waits = _waits(sub)
    return {
        "markDeletePosition": _before(topic, floor),
        "readPosition": f"{ledger}:{entry}",
        "waitingReadOp": waits,
        "pendingReadOps": 0,
        "messagesConsumedCounter": end - sub.backlog(),
        "cursorLedger": -1,
        "cursorLedgerLastEntry": -1,
        "individuallyDeletedMessages": "[" + ",".join(_range(topic, first, last) for first, last in ranges) + "]",
        "lastLedgerSwitchTimestamp": iso(sub.last_moved_ms),
        "state": "Open",
        "active": bool(sub.consumers),
        "numberOfEntriesSinceFirstNotAckedMessage": max(end - floor, 0) + 1,
        "totalNonContiguousDeletedMessagesRange": len(ranges),
        "subscriptionHavePendingRead": waits,
        "subscriptionHavePendingReplayRead": False,
        "properties": _properties(sub),
    }


def _properties(sub: Subscription) -> Fields:
    """Pulsar keeps the number of the compacted ledger with the cursor of compaction."""
    view = sub.topic.compaction.view
    return {"CompactedTopicLedger": view.ledger} if view is not None and sub.name == COMPACTION_CURSOR else {}


def _range(topic: Topic, first: int, last: int) -> str:
    """A run of acknowledged entries; the lower end is the entry before it, as in Pulsar."""
    ledger, entry = _at(topic, first)
    upper, upto = _at(topic, last)
    return f"({ledger}:{entry - 1}..{upper}:{upto}]"
