"""PRODUCER and CLOSE_PRODUCER: who may publish to a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.creating import with_topic
from magnetar.core.producer import EXCLUSIVE, FENCING, SHARED, WAITING, Producer
from magnetar.core.requests.opening import create_cursor
from magnetar.core.topic import Topic
from magnetar.errors import MagnetarError, ProducerBusy, ProducerFenced, ServiceNotReady, TopicTerminated
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["close_producer", "grant_exclusive", "open_producer"]


def open_producer(broker: Broker, session: Session, message: pb.CommandProducer) -> None:
    """PRODUCER. An id that is open already is answered again; one whose opening is under way is told to wait."""
    ident = message.producer_id
    if ident in session.opening:
        raise ServiceNotReady(f"producer {ident} is being opened already; wait for the answer")
    open_now = session.producers.get(ident)
    if open_now is not None:
        if open_now.epoch >= message.epoch:
            _answer(open_now, message.request_id)
            return
        broker.close_producer(open_now)
    session.opening[ident] = message.topic

    def opened(topic: Topic | None, error: Exception | None) -> None:
        if session.closed:
            return
        if topic is None:
            session.opening.pop(ident, None)
            session.error(message.request_id, error or ServiceNotReady("try again"))
            return
        _admit(broker, session, message, topic, True)

    try:
        with_topic(broker, message.topic, True, opened)
    except MagnetarError:
        session.opening.pop(ident, None)
        raise


def _admit(broker: Broker, session: Session, message: pb.CommandProducer, topic: Topic, may_probe: bool) -> None:
    """Check everything and let the producer in. A producer of the same name is asked for a sign of life first."""
    name = message.producer_name
    other = topic.producers.get(name) if name else None
    if other is not None and not message.user_provided_producer_name:
        name, other = "", None
    if other is not None and other.session is session and message.epoch > other.epoch:
        broker.close_producer(other)
        other = None
    if other is not None and may_probe and other.session is not session:
        other.session.probe(lambda alive: _admit(broker, session, message, topic, False))
        return
    session.opening.pop(message.producer_id, None)
    if session.closed:
        return
    try:
        if other is not None:
            raise ProducerBusy(f"Producer with name '{name}' is already connected to {topic.name}")
        producer = _make(broker, session, message, topic, name)
        _enter(topic, producer)
    except MagnetarError as error:
        session.error(message.request_id, error)


def _make(broker: Broker, session: Session, message: pb.CommandProducer, topic: Topic, name: str) -> Producer:
    if topic.deleted:
        raise ServiceNotReady(f"{topic.name} is being deleted; try again")
    if topic.terminated:
        raise TopicTerminated(f"Topic {topic.name} was terminated; nothing more can be published to it")
    most = broker.options.max_producers_per_topic
    if most and len(topic.producers) >= most:
        raise ProducerBusy(f"{topic.name} has its {most} producers (maxProducersPerTopic)")
    if not name:
        name = f"{broker.options.cluster}-{broker.instance}-{broker.names_given}"
        broker.names_given += 1
    producer = Producer(session, message.producer_id, name, topic)
    producer.mode = message.producer_access_mode
    producer.epoch = message.epoch
    producer.given_name = message.user_provided_producer_name
    producer.encrypted = message.encrypted
    producer.request_id = message.request_id
    producer.connected_ms = broker.now_ms
    producer.topic_epoch = message.topic_epoch if message.HasField("topic_epoch") else -1
    producer.metadata = {pair.key: pair.value for pair in message.metadata}
    if message.initial_subscription_name and message.initial_subscription_name not in topic.subscriptions:
        create_cursor(topic, message.initial_subscription_name, topic.tail.end)
    return producer


def _enter(topic: Topic, producer: Producer) -> None:
    """The table of access modes; see ``core/producer``."""
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
            producer.session.producers[producer.id] = producer
            _answer(producer, producer.request_id, ready=False)
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
    _answer(producer, producer.request_id)


def grant_exclusive(producer: Producer) -> None:
    """The producer owns the topic now; it hears of it when the new epoch is durable."""
    topic = producer.topic
    topic.exclusive = producer
    topic.producers[producer.name] = producer
    producer.session.producers[producer.id] = producer
    topic.epoch = producer.topic_epoch if producer.topic_epoch > topic.epoch else topic.epoch + 1
    producer.topic_epoch = topic.epoch
    topic.write_facts()

    def answer(error: Exception | None) -> None:
        if producer.closed:
            return
        if error is None:
            _answer(producer, producer.request_id)
        else:
            topic.broker.close_producer(producer)
            producer.session.error(producer.request_id, error)

    topic.broker.when_durable(answer)


def _answer(producer: Producer, request_id: int, ready: bool = True) -> None:
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


def close_producer(broker: Broker, session: Session, message: pb.CommandCloseProducer) -> None:
    """CLOSE_PRODUCER: answered when everything that the producer sent before is durable."""
    producer = session.producers.get(message.producer_id)
    request = message.request_id
    if producer is None or not producer.pending:
        if producer is not None:
            broker.close_producer(producer)
        session.success(request)
        return
    open_now = producer

    def closed(error: Exception | None) -> None:
        broker.close_producer(open_now)
        session.success(request)

    broker.when_durable(closed)
