"""The four ways in which producers share or own a topic.

Access modes as a table; "others" are the producers that are connected to the topic already:

=====================  ======================================================================================
Shared                 refused with ProducerBusy while an exclusive producer is connected or waiting is granted
Exclusive              refused with ProducerFenced while anyone else is connected
WaitForExclusive       joins a queue and becomes exclusive when everyone else has gone
ExclusiveWithFencing   disconnects everyone else, the waiting ones too, and becomes exclusive
=====================  ======================================================================================

Whoever becomes exclusive raises the topic's epoch, durably; a producer that comes back with an older epoch than the
topic's has been fenced and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.producer import EXCLUSIVE, FENCING, SHARED, WAITING
from magnetar.errors import ProducerBusy, ProducerFenced
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.producer import Producer
    from magnetar.core.topic import Topic

__all__ = ["answer_open", "enter", "grant_exclusive"]


def enter(topic: Topic, producer: Producer) -> None:
    """Let the producer in, queue it, or refuse it, by its access mode."""
    mode = producer.mode
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
        for other in list(topic.waiting) + list(topic.producers.values()):
            topic.waiting = []
            other.session.drop_producer(other)
    if mode != SHARED:
        grant_exclusive(producer)
        return
    topic.producers[producer.name] = producer
    producer.session.producers[producer.id] = producer
    answer_open(producer, producer.request_id)


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
        if producer.closed:
            return
        if error is None:
            answer_open(producer, producer.request_id)
        else:
            topic.broker.close_producer(producer)
            producer.session.error(producer.request_id, error)

    topic.broker.when_durable(answer)


def answer_open(producer: Producer, request_id: int, ready: bool = True) -> None:
    """PRODUCER_SUCCESS; ``ready`` False means that it waits to become exclusive."""
    topic = producer.topic
    answer = pb.CommandProducerSuccess(
        request_id=request_id,
        producer_name=producer.name,
        last_sequence_id=topic.dedup.last(producer.name) if topic.dedup is not None else -1,
        schema_version=b"",
        producer_ready=ready,
    )
    if topic.epoch >= 0:
        answer.topic_epoch = topic.epoch
    producer.session.reply(answer)
