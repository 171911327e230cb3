"""Statistics of a partitioned topic: those of its partitions added up, in the form that Pulsar gives the sum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from magnetar.admin.answers import Fields

__all__ = ["merged"]

_LAST = ("lastPublishTimeStamp",)
_FIRST = (
    "topicCreationTimeStamp",
    "firstMessagesSentTimestamp",
    "firstConsumedFlowTimestamp",
    "earliestMsgPublishTimeInBacklogs",
)
_KEPT = ("backlogQuotaLimitSize", "backlogQuotaLimitTime", "producerId")
_MEAN = ("averageMsgSize",)
_CLEARED = (
    "avgMessagesPerEntry",
    "lastAckedTimestamp",
    "lastConsumedFlowTimestamp",
    "lastConsumedTimestamp",
    "lastExpireTimestamp",
    "lastMarkDeleteAdvancedTimestamp",
    "oldestBacklogMessageAgeSeconds",
)
"""What makes no sense of several partitions together is zero."""

_NEVER = "1970-01-01T00:00:00Z"
_OF_ONE_TOPIC = ("deduplicationStatus", "oldestBacklogMessageSubscriptionName", "ownerBroker", "topicEpoch")
_OF_ONE_CLIENT = (
    "accessMode",
    "address",
    "clientVersion",
    "connectedSince",
    "drainingHashes",
    "keyHashRangeArrays",
    "metadata",
)
_OF_ONE_CURSOR = ("activeConsumerName", "keySharedMode", "keySharedSelector")


def merged(parts: list[Fields]) -> Fields:
    """The sum; ``parts`` has at least one member."""
    total = _sum(parts, _OF_ONE_TOPIC)
    total["publishers"] = [_sum(row, (*_OF_ONE_CLIENT, "producerName")) for row in _columns(parts, "publishers")]
    subs: dict[str, list[Fields]] = {}
    for part in parts:
        for name, sub in cast("dict[str, Fields]", part["subscriptions"]).items():
            subs.setdefault(name, []).append(sub)
    total["subscriptions"] = {name: _subscription(rows) for name, rows in subs.items()}
    return total


def _subscription(rows: list[Fields]) -> Fields:
    total = _sum(rows, _OF_ONE_CURSOR)
    consumers = [_sum(row, _OF_ONE_CLIENT) for row in _columns(rows, "consumers")]
    for consumer in consumers:
        consumer["lastAckedTime"] = consumer["lastConsumedTime"] = _NEVER
    total["consumers"] = consumers
    return total


def _columns(parts: Iterable[Fields], field: str) -> list[list[Fields]]:
    """The first of each partition together, the second of each, and so on: that is how Pulsar adds clients up."""
    columns: list[list[Fields]] = []
    for part in parts:
        for at, one in enumerate(cast("list[Fields]", part[field])):
            if at == len(columns):
                columns.append([])
            columns[at].append(one)
    return columns


def _sum(rows: list[Fields], without: tuple[str, ...]) -> Fields:
    """Numbers added up, truths or-ed, everything else as in the first row."""
    total: Fields = {}
    for name, value in rows[0].items():
        if name in without:
            continue
        if isinstance(value, bool):
            total[name] = value if name in ("durable", "isDurable") else any(row.get(name) for row in rows)
        elif isinstance(value, (int, float)):
            total[name] = _number(name, value, [cast("float", row.get(name, 0)) for row in rows])
        else:
            total[name] = value
    return total


def _number(name: str, first: float, values: list[float]) -> float:
    if name in _CLEARED:
        return type(first)(0)
    if name in _KEPT:
        return first
    if name in _LAST:
        return max(values)
    if name in _FIRST:
        return min((value for value in values if value), default=type(first)(0))
    if name in _MEAN:
        return sum(values) / len(values)
    return sum(values)
