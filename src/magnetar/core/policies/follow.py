"""Topics follow their policies: what is done to them when a row of the catalogue or a setting has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.activity import write_activity
from magnetar.core.catalog import LIVE, NAMESPACES, PARTITIONED, TOPICS
from magnetar.core.dedup import STATE_KEY, Dedup
from magnetar.core.dispatch.gate import gate_of
from magnetar.core.names import TopicName
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.throttled import meter
from magnetar.ports.log import Drop

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.topic import Topic

__all__ = ["options_changed", "row_changed"]


def options_changed(broker: Broker) -> None:
    """Some default of the broker is another now."""
    broker.policies.forget()
    for topic in broker.topics.values():
        _follow(topic)


def row_changed(broker: Broker, path: str) -> None:
    """The row at ``path`` is another now: the topics below it take over what it says."""
    if path.startswith(NAMESPACES):
        namespace = path[len(NAMESPACES) :]
        broker.policies.forget()
        for topic in broker.topics.values():
            if topic.name.namespace == namespace:
                _follow(topic)
    elif path.startswith((TOPICS, LIVE)):
        prefix = TOPICS if path.startswith(TOPICS) else LIVE
        found = broker.topics.get(str(TopicName.from_path(path[len(prefix) :])))
        if found is not None:
            _follow(found)
    elif path.startswith(PARTITIONED):
        name = TopicName.from_path(path[len(PARTITIONED) :])
        for index in range(broker.catalog.partitions(name)):
            found = broker.topics.get(str(name.with_partition(index)))
            if found is not None:
                _follow(found)


def _follow(topic: Topic) -> None:
    """The topic's policies may be others now; who was let in by the former ones stays."""
    before = topic.policies.subscription_expiration_ms
    topic.policies = policies = topic.broker.policies.of(topic.name)
    if isinstance(topic, NonPersistentTopic):
        pass  # there is nothing in which a message could come twice
    elif policies.deduplication and topic.dedup is None:
        topic.dedup = Dedup(topic.broker.options.dedup_producers_max)
    elif not policies.deduplication and topic.dedup is not None:
        # What was known must not call later messages duplicates, should deduplication come back.
        topic.dedup = None
        topic.broker.commit.records.append(Drop(topic.stream, STATE_KEY))
    topic.limits.follow(policies, topic.broker.now_ms)
    meter(topic)
    for sub in topic.subscriptions.values():
        sub.gate = gate_of(sub)
        if sub.durable and policies.subscription_expiration_ms > 0 >= before:
            write_activity(sub)
        if sub.dispatcher is not None:
            sub.dispatcher.follow_policies(policies)
