"""What an operator does to a topic: terminate, unload, delete its subscriptions, make them, let partitions grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.creating import create_partitioned, create_topic
from magnetar.core.names import TopicName
from magnetar.core.requests.opening import create_cursor, delete_cursor
from magnetar.core.topic import Topic

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.subscription import Subscription

__all__ = ["create_subscription", "delete_subscription", "grow_partitions", "terminate", "unload"]

Done = Callable[[Exception | None], None]


def terminate(topic: Topic, done: Done) -> None:
    """Nothing can be published any more; what was published before is durable when ``done`` hears of it."""
    if topic.terminated:
        topic.broker.when_durable(done)
        return
    topic.ensure_ledger()
    topic.terminated = True
    topic.write_facts()

    def durable(error: Exception | None) -> None:
        if error is not None:
            topic.terminated = False
            topic.write_facts()
        else:
            topic.wake()
        done(error)

    topic.broker.when_durable(durable)


def unload(topic: Topic) -> None:
    """Disconnect every producer and consumer; they look the topic up again and come back by themselves."""
    for producer in list(topic.waiting) + list(topic.producers.values()):
        producer.session.drop_producer(producer)
    for consumer in topic.consumers():
        consumer.session.drop_consumer(consumer)


def create_subscription(topic: Topic, name: str, offset: int, properties: dict[str, str], done: Done) -> None:
    """A durable subscription that nobody is connected to yet, from ``offset`` on."""
    sub = create_cursor(topic, name, max(offset, topic.first_offset))
    if properties:
        sub.properties = properties
        sub.write_whole()
    topic.broker.when_durable(done)


def delete_subscription(sub: Subscription, done: Done) -> None:
    """The subscription goes, and whoever is connected to it is sent away."""
    delete_cursor(sub)
    sub.topic.broker.when_durable(done)


def grow_partitions(broker: Broker, name: TopicName, partitions: int, done: Done) -> None:
    """Let the partitioned topic have ``partitions`` partitions.

    The new ones come first, with the durable subscriptions of the first partition at their beginning: what a producer
    publishes to them the moment they are known is then kept for consumers that learn of them later.
    """
    before = broker.catalog.partitions(name)
    first = broker.topics.get(str(name.with_partition(0)))
    names = [sub.name for sub in first.subscriptions.values() if sub.durable] if first is not None else []
    missing = list(range(before, partitions))
    failed: list[Exception] = []

    def opened(topic: Topic | None, error: Exception | None) -> None:
        missing.pop()
        if topic is None:
            failed.append(error if error is not None else RuntimeError(f"a partition of {name} was not created"))
        else:
            for sub in names:
                if sub not in topic.subscriptions:
                    create_cursor(topic, sub, topic.first_offset)
        if missing:
            return
        if failed:
            done(failed[0])
        else:
            create_partitioned(broker, name, partitions, False, stored)

    def stored(error: Exception | None) -> None:
        if error is not None:
            done(error)
        else:
            broker.when_durable(done)

    for index in range(before, partitions):
        there = broker.topics.get(str(name.with_partition(index)))
        if there is not None:
            opened(there, None)
        else:
            create_topic(broker, name.with_partition(index), opened)
