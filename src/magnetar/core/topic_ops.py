"""What an operator does to a topic and its subscriptions; ``done`` is called when it is durable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.compaction.runner import forget
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.creating import create_partitioned, create_topic
from magnetar.core.history import DISCONNECTED, note
from magnetar.core.names import TopicName
from magnetar.core.requests.opening import create_cursor, delete_cursor
from magnetar.core.topic import Topic
from magnetar.core.upkeep import expire, expire_to
from magnetar.errors import NothingToExpire, ServiceNotReady, SubscriptionNotFound

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.subscription import Subscription

__all__ = [
    "create_subscription",
    "delete_subscription",
    "disconnect",
    "expire_before",
    "expire_through",
    "grow_partitions",
    "skip",
    "terminate",
    "unload",
]

EXPIRY_ALWAYS_FROM = 1_000
"""With this backlog or more an expiry counts as done although nothing was old enough, as in Pulsar."""

Done = Callable[[Exception | None], None]


def terminate(topic: Topic, done: Done) -> None:
    """Nothing can be published any more; what was published before is durable when ``done`` hears of it."""
    if topic.terminated:
        topic.broker.when_durable(done)
        return
    topic.ensure_ledger()
    topic.terminated = True
    topic.pending_runs += 1  # until the end is durable nobody is told of it; a commit that fails sets this to zero
    topic.write_facts()

    def durable(error: Exception | None) -> None:
        if error is not None:
            topic.terminated = False
            topic.write_facts()
        else:
            topic.pending_runs -= 1
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
    if sub.name == COMPACTION_CURSOR:
        forget(sub.topic)
    sub.topic.broker.when_durable(done)


def skip(sub: Subscription, entries: int, done: Done) -> None:
    """Acknowledge the first entries of the backlog, all of it below 0. What a Key_Shared consumer holds stays held."""
    refuse_moving(sub)
    end = sub.topic.tail.end
    sub.move_floor(end if entries < 0 else min(sub.acks.behind(entries), end))
    sub.topic.broker.when_durable(done)


def expire_before(sub: Subscription, before_ms: int, done: Done) -> None:
    """Acknowledge what was published before the given time; refused where there is nothing to do, as in Pulsar."""
    refuse_moving(sub)
    expected = sub.backlog() > 0 and (not sub.consumers or sub.backlog() >= EXPIRY_ALWAYS_FROM)

    def over(moved: bool) -> None:
        if moved or expected:
            sub.topic.broker.when_durable(done)
        else:
            done(NothingToExpire(f"{_NOT_ISSUED.format('timestamp', sub.topic.name)}: {sub.name} has nothing that old"))

    expire(sub, before_ms, over)


def expire_through(sub: Subscription, offset: int, done: Done) -> None:
    """Acknowledge everything up to and including the offset; as in Pulsar it is no mistake if it was before."""
    refuse_moving(sub)
    if offset >= sub.topic.tail.end:
        reason = f"the topic ends before the message up to which {sub.name} is to expire"
        raise NothingToExpire(f"{_NOT_ISSUED.format('position', sub.topic.name)}: {reason}")
    expire_to(sub, offset + 1)
    sub.topic.broker.when_durable(done)


_NOT_ISSUED = "Expire message by {} not issued on topic {}"


def refuse_moving(sub: Subscription) -> None:
    """Raise when the cursor is being set elsewhere just now, or is gone."""
    if sub.deleted:
        raise SubscriptionNotFound(f"Subscription {sub.name} not found for topic {sub.topic.name}")
    if sub.fenced:
        raise ServiceNotReady(f"subscription {sub.name} is being moved; try again")


def disconnect(sub: Subscription, name: str) -> int:
    """Disconnect the consumers of this name, whose messages go to others in order; how many there were."""
    found = [consumer for consumer in sub.consumers if consumer.name == name]
    for consumer in found:
        note(sub, DISCONNECTED, consumer, 0, len(consumer.pending))
        consumer.session.drop_consumer(consumer)
    return len(found)


def grow_partitions(broker: Broker, name: TopicName, partitions: int, done: Done) -> None:
    """Let the partitioned topic have ``partitions`` partitions.

    The new ones come first, with the durable subscriptions of the first partition at their beginning: what a producer
    publishes to them the moment they are known is then kept for consumers that learn of them later.
    """
    before = broker.catalog.partitions(name)
    first = broker.topics.get(str(name.with_partition(0)))
    names = (
        [sub.name for sub in first.subscriptions.values() if sub.durable and sub.name != COMPACTION_CURSOR]
        if first is not None
        else []
    )
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
