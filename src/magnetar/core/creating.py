"""Topics come and go: creation on first use, partitions, deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.catalog import DELETING, LIVE, NAMESPACES, PARTITIONED, TOPICS, Row
from magnetar.core.compaction.runner import forget
from magnetar.core.names import PERSISTENT, TopicName
from magnetar.core.nonpersistent.opening import close_topic, open_topic
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.systemtopics import is_system_topic
from magnetar.core.topic import Topic
from magnetar.core.unfinished import streams_of
from magnetar.errors import NotAllowed, TopicNotFound
from magnetar.ports.log import DropStream

if TYPE_CHECKING:
    from magnetar.core.broker import Broker

__all__ = [
    "auto_partitions",
    "create_partitioned",
    "create_topic",
    "delete_partitioned",
    "delete_topic",
    "may_create",
    "with_topic",
]

Then = Callable[[Topic | None, Exception | None], None]
Done = Callable[[Exception | None], None]


def may_create(broker: Broker, name: TopicName) -> bool:
    """Whether a topic of this name may come into being by being used."""
    if not broker.policies.namespace_value(name.namespace, "autoTopicCreationOverride")["allowAutoTopicCreation"]:
        return False
    parent = broker.catalog.partitioned.get(f"{name.domain}://{name.namespace}/{name.parent}")
    return parent is None or name.partition < 0 or name.partition < int(parent["partitions"])


def auto_partitions(broker: Broker, name: TopicName) -> int:
    """How many partitions a topic gets that comes into being by being used; 0 for a topic without partitions."""
    found = broker.policies.namespace_value(name.namespace, "autoTopicCreationOverride")
    if found["topicType"] != "partitioned":
        return 0
    partitions = int(found["defaultNumPartitions"]) or broker.options.default_partitions
    if 0 < broker.options.max_partitions < partitions:
        raise NotAllowed(
            f"{name} would be created with {partitions} partitions, and may have {broker.options.max_partitions} "
            "(maxNumPartitionsPerPartitionedTopic)"
        )
    return partitions


def with_topic(broker: Broker, text: str, create: bool, then: Then) -> None:
    """Call ``then`` with the topic, created first when it is missing and ``create`` allows; or with the error."""
    topic = broker.topics.get(text)
    if topic is not None:
        then(topic, None)
        return
    name = TopicName(text)
    full = str(name)
    topic = broker.topics.get(full)
    if topic is not None:
        then(topic, None)
        return
    if broker.catalog.partitions(name):
        raise NotAllowed(f"{full} is a partitioned topic: use its partitions, {full}-partition-0 and so on")
    exists = _exists_as_partition(broker, name)
    if not exists and not (create and may_create(broker, name)):
        raise TopicNotFound(f"Topic {full} does not exist, and creating it by use is not allowed")
    create_topic(broker, name, then)


def _exists_as_partition(broker: Broker, name: TopicName) -> bool:
    """A partition of a partitioned topic exists from the moment its parent does."""
    if name.partition < 0:
        return False
    parent = broker.catalog.partitioned.get(f"{name.domain}://{name.namespace}/{name.parent}")
    return parent is not None and name.partition < int(parent["partitions"])


def _check_namespace(broker: Broker, name: TopicName, new: int) -> None:
    """Whether the namespace is there and has room for so many topics more. What is listed already was counted then."""
    if name.namespace not in broker.catalog.namespaces:
        raise TopicNotFound(f"Namespace {name.namespace} does not exist: create it first ({NAMESPACES}...)")
    most = int(broker.policies.namespace_value(name.namespace, "max_topics_per_namespace"))
    counted = name.domain == PERSISTENT and not broker.catalog.listed(str(name)) and not is_system_topic(str(name))
    if most and counted and broker.catalog.counts.get(name.namespace, 0) + new > most:
        raise NotAllowed(
            f"namespace {name.namespace} may have {most} topics (maxTopicsPerNamespace), and would have more"
        )


def create_topic(broker: Broker, name: TopicName, then: Then, properties: dict[str, str] | None = None) -> None:
    """Store the topic in the catalogue, then open it; a non-persistent one is only opened."""
    _check_namespace(broker, name, 1)
    full = str(name)
    if name.domain != PERSISTENT:
        then(open_topic(broker, name), None)
        return
    stream = broker.next_stream
    broker.next_stream += 1

    def stored(error: Exception | None) -> None:
        topic = broker.topics.get(full)
        if topic is None and error is None:
            topic = Topic(broker, name, stream)
            broker.topics[full] = topic
        then(topic, None if topic is not None else error)

    broker.meta_write(TOPICS + name.path, {"stream": stream, "properties": properties or {}}, True, stored)


def create_partitioned(
    broker: Broker,
    name: TopicName,
    partitions: int,
    create: bool,
    done: Done,
    properties: dict[str, str] | None = None,
) -> None:
    """Store a partitioned topic, or its new number of partitions; its partitions are created when they are used."""
    if create:
        _check_namespace(broker, name, partitions)

    def change(before: Row | None) -> Row | None:
        return {"properties": properties or {}, **(before or {}), "partitions": partitions}

    broker.rows.change(PARTITIONED + name.path, change, create, done)


def delete_topic(broker: Broker, topic: Topic, done: Done) -> None:
    """Take the topic out of the catalogue, then out of the log; clients are disconnected at once."""
    topic.deleted = True
    for producer in list(topic.producers.values()) + list(topic.waiting):
        producer.session.drop_producer(producer)
    for sub in list(topic.subscriptions.values()):
        for consumer in list(sub.consumers):
            consumer.session.drop_consumer(consumer)
        sub.deleted = True

    if isinstance(topic, NonPersistentTopic):
        close_topic(broker, topic)
        if str(topic.name) in broker.catalog.live_policies:
            broker.meta_write(LIVE + topic.name.path, None, False, done)
        else:
            done(None)
        return

    def removed(error: Exception | None) -> None:
        if error is not None:
            topic.deleted = False
            for sub in topic.subscriptions.values():
                sub.deleted = False
            done(error)
            return
        broker.topics.pop(str(topic.name), None)
        forget(topic)
        broker.commit.records.append(DropStream(topic.stream))
        broker.when_durable(done)

    broker.meta_write(TOPICS + topic.name.path, None, False, removed)


def delete_partitioned(broker: Broker, name: TopicName, done: Done) -> None:
    """Delete a partitioned topic: its row first, so that it is gone or not, then its partitions.

    A partition that cannot be taken out of the catalogue stays until the next start (``core/unfinished``).
    """
    partitions, streams = broker.catalog.partitions(name), streams_of(broker, name)
    left = 1
    failed = False

    def noted(error: Exception | None) -> None:
        if error is not None:
            done(error)
        else:
            broker.meta_write(PARTITIONED + name.path, None, False, removed)

    def removed(error: Exception | None) -> None:
        nonlocal left
        if error is not None:
            _forget_note(broker, name, streams, lambda _: done(error))
            return
        opened = [broker.topics.get(str(name.with_partition(index))) for index in range(partitions)]
        topics = [topic for topic in opened if topic is not None and not topic.deleted]
        left += len(topics)
        for topic in topics:
            delete_topic(broker, topic, gone)
        gone(None)

    def gone(error: Exception | None) -> None:
        nonlocal left, failed
        left -= 1
        failed = failed or error is not None
        if not left and failed:
            broker.when_durable(done)
        elif not left:
            _forget_note(broker, name, streams, done)

    if streams:
        broker.meta_write(DELETING + name.path, {"streams": streams}, False, noted)
    else:
        noted(None)


def _forget_note(broker: Broker, name: TopicName, streams: list[int], done: Done) -> None:
    if streams:
        # A note that stays names only streams that are gone.
        broker.meta_write(DELETING + name.path, None, False, lambda _: done(None))
    else:
        done(None)
