"""PRODUCER and CLOSE_PRODUCER: who may publish to a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.access import answer_open, enter
from magnetar.core.liveness import probe
from magnetar.core.producer import Producer
from magnetar.core.quota import refuse_over_quota, with_quota_known
from magnetar.core.requests.opening import NAME_BYTES_MAX, create_cursor
from magnetar.core.schemas.clients import with_topic_to_write
from magnetar.core.topic import Topic
from magnetar.errors import MagnetarError, NotAllowed, ProducerBusy, ServiceNotReady, TopicTerminated
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["close_producer", "open_producer"]


def open_producer(broker: Broker, session: Session, message: pb.CommandProducer) -> None:
    """PRODUCER. An id that is open already is answered again; one whose opening is under way is told to wait."""
    ident = message.producer_id
    if len(message.producer_name.encode()) > NAME_BYTES_MAX:
        raise NotAllowed(f"the name of a producer may have {NAME_BYTES_MAX} bytes at most")
    if ident in session.opening:
        raise ServiceNotReady(f"producer {ident} is being opened already; wait for the answer")
    open_now = session.producers.get(ident) or session.waiting.get(ident)
    if open_now is not None:
        if open_now.epoch >= message.epoch:
            open_now.request_id = message.request_id
            broker.when_durable(lambda error: _again(open_now, message.request_id, error))
            return
        broker.close_producer(open_now)
    session.opening[ident] = message.request_id

    def opened(topic: Topic | None, version: int, error: Exception | None) -> None:
        if session.opening.get(ident) != message.request_id:
            return
        if topic is None:
            session.opening.pop(ident, None)
            session.error(message.request_id, error or ServiceNotReady("try again"))
            return
        found: Topic = topic
        with_quota_known(found, lambda: _admit(broker, session, message, found, version, True))

    try:
        with_topic_to_write(broker, message, opened)
    except MagnetarError:
        session.opening.pop(ident, None)
        raise


def _again(producer: Producer, request_id: int, error: Exception | None) -> None:
    """A producer that is open already is answered when the epoch that it was given is durable."""
    if error is not None or producer.closed:
        gone = ServiceNotReady("the producer was disconnected; open it again")
        producer.session.error(request_id, error or gone)
    else:
        answer_open(producer, request_id, producer.id not in producer.session.waiting)


def _admit(
    broker: Broker, session: Session, message: pb.CommandProducer, topic: Topic, version: int, may_probe: bool
) -> None:
    """Check everything and let the producer in. A producer of the same name is asked for a sign of life first."""
    if session.closed or session.opening.get(message.producer_id) != message.request_id:
        return
    name = message.producer_name
    other = topic.producers.get(name) if name else None
    if other is not None and not message.user_provided_producer_name:
        name, other = "", None
    if other is not None and other.session is session and message.epoch > other.epoch:
        broker.close_producer(other)
        other = None
    if other is not None and may_probe and other.session is not session:
        probe(other.session, lambda alive: _admit(broker, session, message, topic, version, False))
        return
    del session.opening[message.producer_id]
    try:
        if other is not None:
            raise ProducerBusy(f"Producer with name '{name}' is already connected to {topic.name}")
        producer = _make(broker, session, message, topic, name)
        producer.schema_version = version
        enter(topic, producer)
    except MagnetarError as error:
        session.error(message.request_id, error)


def _make(broker: Broker, session: Session, message: pb.CommandProducer, topic: Topic, name: str) -> Producer:
    if topic.deleted:
        raise ServiceNotReady(f"{topic.name} is being deleted; try again")
    if topic.terminated:
        raise TopicTerminated(f"Topic {topic.name} was terminated; nothing more can be published to it")
    refuse_over_quota(topic)
    most = topic.policies.max_producers
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
    session.metered = session.metered or topic.limits.publish is not None
    producer.metadata = {pair.key: pair.value for pair in message.metadata}
    if message.initial_subscription_name and message.initial_subscription_name not in topic.subscriptions:
        create_cursor(topic, message.initial_subscription_name, topic.tail.end)
    return producer


def close_producer(broker: Broker, session: Session, message: pb.CommandCloseProducer) -> None:
    """CLOSE_PRODUCER: answered when everything that the producer sent before is durable. It may come before the answer
    to PRODUCER, from a client that did not want to wait any longer."""
    early = session.opening.pop(message.producer_id, None)
    if early is not None:
        session.error(early, ServiceNotReady("the producer was closed before it was open"))
    producer = session.producers.get(message.producer_id) or session.waiting.get(message.producer_id)
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
