"""What nobody uses goes: topics after a while without producers and consumers, subscriptions without a consumer.

A topic is used while a producer or consumer is connected. Beyond that, by its policy, every subscription keeps it
(``delete_when_no_subscriptions``), or every one that has not consumed everything yet
(``delete_when_subscriptions_caught_up``). Retention keeps it as well, for as long as it keeps messages. Times count
from when the last one left, and from the start of the broker at the earliest.

Deciding and deleting is one turn, and from then on the topic refuses everybody with "try again": who comes in between
finds a new topic of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.catalog import PARTITIONED, Row
from magnetar.core.compaction.state import COMPACTION_CURSOR, RUNNING
from magnetar.core.creating import delete_topic
from magnetar.core.names import TopicName
from magnetar.core.requests.opening import RESERVED, delete_cursor
from magnetar.core.systemtopics import is_system_topic

if TYPE_CHECKING:
    from magnetar.core.topic import Topic

__all__ = ["delete_if_unused", "expire_subscriptions"]


def _is_used(topic: Topic) -> bool:
    """Whether something keeps the topic that has nothing to do with time."""
    if topic.producers or topic.waiting or topic.pending_runs or any(topic.consumers()):
        return True
    if topic.compaction.status == RUNNING:
        return True
    # What compaction holds for itself is no use of the topic.
    subs = [sub for sub in topic.subscriptions.values() if sub.name != COMPACTION_CURSOR]
    return any(sub.backlog() for sub in subs) if topic.policies.inactive.caught_up else bool(subs)


def delete_if_unused(topic: Topic) -> None:
    """Delete the topic if it is time."""
    policies, now = topic.policies, topic.broker.now_ms
    if not policies.inactive.deletes or topic.deleted or topic.stream < 0 or is_system_topic(str(topic.name)):
        return
    if _is_used(topic):
        topic.limits.last_used_ms = now
        return
    unused_ms = now - topic.limits.last_used_ms
    kept = policies.retention_ms < 0 or unused_ms < policies.retention_ms
    if not kept and unused_ms >= policies.inactive.after_ms:
        delete_topic(topic.broker, topic, lambda error: _deleted(topic, error))


def _deleted(topic: Topic, error: Exception | None) -> None:
    """With the last of its partitions a partitioned topic may go as well."""
    broker, name = topic.broker, topic.name
    if error is not None or name.partition < 0 or not broker.options.delete_inactive_partitioned:
        return
    parent = TopicName(f"{name.domain}://{name.namespace}/{name.parent}")

    def change(row: Row | None) -> Row | None:
        if row is None:
            return None
        topics = broker.catalog.topics
        there = any(str(parent.with_partition(index)) in topics for index in range(int(row["partitions"])))
        return row if there else None

    if broker.catalog.partitions(parent):
        broker.rows.change(PARTITIONED + parent.path, change, False, _ignore)


def _ignore(error: Exception | None) -> None:
    """The row stays, and goes with a partition that is deleted later."""


def expire_subscriptions(topic: Topic) -> None:
    """Delete the subscriptions that were without a consumer for too long."""
    expiration_ms = topic.policies.subscription_expiration_ms
    if expiration_ms <= 0 or topic.deleted:
        return
    before_ms = topic.broker.now_ms - expiration_ms
    for sub in list(topic.subscriptions.values()):
        if not sub.durable or sub.consumers or sub.fenced or sub.name.startswith(RESERVED):
            continue
        if sub.idle_since_ms < before_ms:
            delete_cursor(sub)
