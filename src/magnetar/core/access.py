"""The four ways in which producers share or own a topic.

Access modes as a table; "others" are the producers that are connected to the topic already:

=====================  ======================================================================================
Shared                 refused with ProducerBusy while an exclusive producer is connected or waiting is granted
Exclusive              refused with ProducerFenced while anyone else is connected
WaitForExclusive       joins a queue and becomes exclusive when everyone else has gone
ExclusiveWithFencing   disconnects everyone else, refuses the waiting ones, and becomes exclusive
=====================  ======================================================================================

Whoever becomes exclusive raises the topic's epoch, durably; a producer that comes back with an older epoch than the
topic's has been fenced and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.producer import EXCLUSIVE, FENCING, SHARED, WAITING
from magnetar.core.schemas.info import version_bytes
from magnetar.errors import NotAllowed, ProducerBusy, ProducerFenced, ServiceNotReady
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.producer import Producer
    from magnetar.core.topic import Topic

__all__ = ["EPOCH_MAX", "answer_open", "enter", "grant_exclusive", "leave"]

EPOCH_MAX = 1 << 62
"""The highest epoch that a producer may claim: far beyond any true one, and leaving room for those that follow."""


def enter(topic: Topic, producer: Producer) -> None:
    """Let the producer in, queue it, or refuse it, by its access mode."""
    mode = producer.mode
    if producer.topic_epoch > EPOCH_MAX:
        raise NotAllowed(f"{producer.topic_epoch} cannot be an epoch of {topic.name}: leave it out to get the next one")
    if 0 <= producer.topic_epoch < topic.epoch:
        raise ProducerFenced(f"an exclusive producer of a later epoch ({topic.epoch}) took over {topic.name}")
    if mode == SHARED:
        if topic.exclusive is not None or topic.waiting:
            raise ProducerBusy(f"{topic.name} has an exclusive producer")
    elif mode == EXCLUSIVE:
        if topic.producers:
            raise ProducerFenced(f"{topic.name} has other producers, so this one cannot be exclusive")
    elif mode == WAITING:
        if topic.producers:
            topic.waiting.append(producer)
            producer.session.waiting[producer.id] = producer
            answer_open(producer, producer.request_id, ready=False)
            return
    elif mode == FENCING:
        _fence(topic)
    if mode != SHARED:
        grant_exclusive(producer)
        return
    topic.producers[producer.name] = producer
    producer.session.producers[producer.id] = producer
    answer_open(producer, producer.request_id)


def leave(producer: Producer) -> None:
    """The producer is gone; a waiting one may take its place."""
    topic = producer.topic
    topic.limits.last_used_ms = topic.broker.now_ms
    if topic.producers.get(producer.name) is producer:
        del topic.producers[producer.name]
    if producer in topic.waiting:
        topic.waiting.remove(producer)
        producer.session.waiting.pop(producer.id, None)
    if topic.exclusive is producer:
        topic.exclusive = None
    if topic.waiting and not topic.producers:
        grant_exclusive(topic.waiting.pop(0))


def _fence(topic: Topic) -> None:
    """Everyone leaves. Those who wait go first, or each would own the topic for a moment."""
    for other in list(topic.waiting):
        topic.broker.close_producer(other)
        other.session.error(other.request_id, ProducerFenced(f"another producer took {topic.name} for itself"))
    for other in list(topic.producers.values()):
        other.session.drop_producer(other)


def grant_exclusive(producer: Producer) -> None:
    """The producer owns the topic now; it hears of it when the new epoch is durable."""
    topic = producer.topic
    topic.exclusive = producer
    producer.session.waiting.pop(producer.id, None)
    topic.producers[producer.name] = producer
    producer.session.producers[producer.id] = producer
    topic.epoch = producer.topic_epoch if producer.topic_epoch > topic.epoch else topic.epoch + 1
    producer.topic_epoch = topic.epoch
    topic.write_facts()

    def answer(error: Exception | None) -> None:
        if error is not None:
            # The topic has sent all its producers away already, but this one's request is still without an answer.
            topic.broker.close_producer(producer)
            producer.session.error(producer.request_id, error)
        elif producer.closed:
            producer.session.error(producer.request_id, ServiceNotReady("the producer was disconnected; open it again"))
        else:
            answer_open(producer, producer.request_id)

    topic.broker.when_durable(answer)


def answer_open(producer: Producer, request_id: int, ready: bool = True) -> None:
    """PRODUCER_SUCCESS; ``ready`` False means that it waits to become exclusive."""
    topic = producer.topic
    answer = pb.CommandProducerSuccess(
        request_id=request_id,
        producer_name=producer.name,
        last_sequence_id=topic.dedup.last(producer.name) if topic.dedup is not None else -1,
        schema_version=version_bytes(producer.schema_version),
        producer_ready=ready,
    )
    if topic.epoch >= 0:
        answer.topic_epoch = topic.epoch
    producer.session.reply(answer)
