"""Statistics of topics of either kind. Those of non-persistent topics have fewer figures, and what was dropped."""

from __future__ import annotations

from typing import cast

from magnetar.admin.answers import Fields
from magnetar.admin.stats.internal import internal_stats
from magnetar.admin.stats.topic import View, topic_stats
from magnetar.core.broker import Broker
from magnetar.core.names import PERSISTENT, TopicName
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.topic import Topic

__all__ = ["internal_stats_of", "stats_of", "unused_topic"]

_ONLY_PERSISTENT = ("deduplicationStatus", "topicEpoch")
_ZERO = ("backlogQuotaLimitSize", "backlogQuotaLimitTime", "oldestBacklogMessageAgeSeconds")


def unused_topic(core: Broker, name: TopicName) -> Topic:
    """What a partition looks like that nobody has used yet."""
    return Topic(core, name, 0) if name.domain == PERSISTENT else NonPersistentTopic(core, name)


def stats_of(topic: Topic, view: View) -> Fields:
    """The statistics in the form that Pulsar gives them for the topic's kind."""
    found = topic_stats(topic, view)
    if not isinstance(topic, NonPersistentTopic):
        return found
    for name in _ONLY_PERSISTENT:
        found.pop(name, None)
    found.update(dict.fromkeys(_ZERO, 0))
    found["msgDropRate"] = view.rates.rate(topic).dropped
    if view.publishers:
        rows = cast("list[Fields]", found["publishers"])
        for producer, row in zip(topic.producers.values(), rows, strict=True):
            row["msgDropRate"] = view.rates.rate(producer).dropped
    for name, row in cast("dict[str, Fields]", found["subscriptions"]).items():
        row["msgDropRate"] = view.rates.rate(topic.subscriptions[name]).dropped
    return found


def internal_stats_of(topic: Topic) -> Fields:
    """Ledgers and cursors; of a topic without them only what it has counted."""
    if not isinstance(topic, NonPersistentTopic):
        return internal_stats(topic)
    return {
        "entriesAddedCounter": topic.entries_in,
        "numberOfEntries": 0,
        "totalSize": 0,
        "currentLedgerEntries": 0,
        "currentLedgerSize": 0,
        "waitingCursorsCount": 0,
        "pendingAddEntriesCount": 0,
        "cursors": dict.fromkeys(topic.subscriptions, _NO_CURSOR),
    }


_NO_CURSOR: Fields = {
    "waitingReadOp": False,
    "pendingReadOps": 0,
    "messagesConsumedCounter": 0,
    "cursorLedger": 0,
    "cursorLedgerLastEntry": 0,
    "active": False,
    "numberOfEntriesSinceFirstNotAckedMessage": 0,
    "totalNonContiguousDeletedMessagesRange": 0,
    "subscriptionHavePendingRead": False,
    "subscriptionHavePendingReplayRead": False,
}
