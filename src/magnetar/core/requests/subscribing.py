"""SUBSCRIBE, UNSUBSCRIBE and CLOSE_CONSUMER."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.batchmask import open_mask
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.consumer import Consumer
from magnetar.core.dispatch.choose import KINDS, outdated
from magnetar.core.liveness import probe
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.requests import opening
from magnetar.core.schemas.clients import is_auto_consume, with_topic_to_read
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.errors import (
    ConsumerAssignFailed,
    ConsumerBusy,
    MagnetarError,
    MetadataFailed,
    NotAllowed,
    ServiceNotReady,
    SubscriptionNotFound,
    TopicNotFound,
)
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["close_consumer", "start_offset", "subscribe", "unsubscribe"]

_EXCLUSIVE, _KEY_SHARED = 0, 3
_EARLIEST_POSITION, _STICKY = 1, 1


def subscribe(broker: Broker, session: Session, message: pb.CommandSubscribe) -> None:
    """SUBSCRIBE. An id that is open already is answered again; one whose opening is under way is told to wait."""
    ident = message.consumer_id
    if ident in session.consumers:
        broker.when_durable(lambda error: session.answer(message.request_id, error))
        return
    if -1 - ident in session.opening:
        raise ServiceNotReady(f"consumer {ident} is being opened already; wait for the answer")
    _check(broker, message)
    session.opening[-1 - ident] = message.request_id

    def opened(topic: Topic | None, error: Exception | None) -> None:
        if session.opening.get(-1 - ident) != message.request_id:
            return
        if topic is None:
            session.opening.pop(-1 - ident, None)
            session.error(message.request_id, error or ServiceNotReady("try again"))
            return
        _admit(broker, session, message, topic, True)

    try:
        with_topic_to_read(broker, message, opened)
    except MagnetarError:
        session.opening.pop(-1 - ident, None)
        raise


def _check(broker: Broker, message: pb.CommandSubscribe) -> None:
    """What can be refused before the topic is looked at."""
    if not message.subscription.strip():
        raise NotAllowed("a subscription needs a name")
    if message.subscription == COMPACTION_CURSOR:
        raise NotAllowed(f"{COMPACTION_CURSOR} is the broker's own; choose another subscription name")
    if message.read_compacted and KINDS[message.subType] not in ("Exclusive", "Failover"):
        raise NotAllowed("readCompacted goes with Exclusive and Failover subscriptions only")
    most = broker.options.subscription_metadata_bytes
    for pairs in (message.metadata, message.subscription_properties):
        if sum(len(pair.key) + len(pair.value) for pair in pairs) > most:
            raise NotAllowed(f"metadata and properties of a subscription may have {most} bytes at most")


def _admit(broker: Broker, session: Session, message: pb.CommandSubscribe, topic: Topic, may_probe: bool) -> None:
    """Check against what is there and let the consumer in; whoever is in the way is asked for a sign of life first."""
    if session.closed or session.opening.get(-1 - message.consumer_id) != message.request_id:
        return
    if may_probe:
        rival = _rival(topic, message)
        if rival is not None and rival.session is not session:
            probe(rival.session, lambda alive: _admit(broker, session, message, topic, False))
            return
    del session.opening[-1 - message.consumer_id]
    sub: Subscription | None = None
    try:
        kind = KINDS[message.subType]
        if kind not in topic.policies.subscription_types:
            raise NotAllowed(f"subscription type {kind} is not enabled here (subscriptionTypesEnabled)")
        opening.check_subscribe_rate(topic, session, message)
        sub = _subscription(broker, message, topic)
        _compatible(broker, sub, message)
        opening.check_consumer_limits(topic, sub)
        consumer = _make(broker, session, message, sub)
        consumer.end_told = sub.durable  # it may hear of the end of the topic once it has heard that it is let in
        sub.join(consumer)
    except MagnetarError as error:
        if sub is not None:
            topic.consumer_left(sub)
        session.error(message.request_id, error)
        return
    session.consumers[consumer.id] = consumer
    if not sub.durable:
        session.success(message.request_id)
        sub.tell_end()
        return

    def durable(error: Exception | None) -> None:
        there = session.consumers.get(consumer.id) is consumer
        if error is None and there:
            session.success(message.request_id)
            consumer.end_told = False
            consumer.subscription.tell_end()
            return
        if there:
            del session.consumers[consumer.id]
            consumer.subscription.leave(consumer)
        session.error(message.request_id, error or ServiceNotReady("the consumer was disconnected; subscribe again"))

    broker.when_durable(durable)


def _rival(topic: Topic, message: pb.CommandSubscribe) -> Consumer | None:
    """A connected consumer that may stand in the way and may be a dead connection's."""
    sub = topic.subscriptions.get(message.subscription)
    if sub is None or not sub.consumers:
        return None
    if message.subType == _EXCLUSIVE or sub.kind == "Exclusive":
        return sub.consumers[0]
    if message.subType == _KEY_SHARED and message.keySharedMeta.keySharedMode == _STICKY and sub.sticky:
        wanted = [(part.start, part.end) for part in message.keySharedMeta.hashRanges]
        for consumer in sub.consumers:
            if any(low <= last and first <= high for first, last in consumer.key_ranges for low, high in wanted):
                return consumer
    return None


def _subscription(broker: Broker, message: pb.CommandSubscribe, topic: Topic) -> Subscription:
    """The subscription, made when it is not there."""
    if topic.deleted:
        raise ServiceNotReady(f"{topic.name} is being deleted; try again")
    if isinstance(topic, NonPersistentTopic):
        return topic.subscription(message.subscription, message.durable)
    sub = topic.subscriptions.get(message.subscription)
    if sub is not None:
        if sub.fenced or sub.deleted:
            raise ServiceNotReady(f"subscription {sub.name} is being moved; try again")
        if sub.durable != message.durable:
            raise NotAllowed(f"subscription {sub.name} exists and is {'' if sub.durable else 'not '}durable")
        if sub.durable and message.subscription_properties and not sub.properties:
            sub.properties = {pair.key: pair.value for pair in message.subscription_properties}
            sub.write_whole()
        return sub
    if not message.durable:
        topic.ensure_ledger()
        offset, left = start_offset(topic, message)
        sub = Subscription(topic, message.subscription, False, offset)
        if left > 0:
            sub.acks.parts[offset] = left
        topic.subscriptions[sub.name] = sub
        return sub
    if not topic.policies.auto_create_subscriptions:
        raise SubscriptionNotFound(f"subscription {message.subscription} does not exist, and creation by use is off")
    earliest = message.initialPosition == _EARLIEST_POSITION
    sub = opening.create_cursor(topic, message.subscription, topic.first_offset if earliest else topic.tail.end)
    sub.properties = {pair.key: pair.value for pair in message.subscription_properties}
    if sub.properties:
        sub.write_whole()
    return sub


def start_offset(topic: Topic, message: pb.CommandSubscribe) -> tuple[int, int]:
    """Where a reader begins, and what of the batch there it wants (a mask, or -1 for all of it)."""
    end, first = topic.tail.end, 0 if message.read_compacted else topic.first_offset
    if not message.HasField("start_message_id"):
        earliest = message.initialPosition == _EARLIEST_POSITION or message.read_compacted
        return (first if earliest else end), -1
    position = message.start_message_id
    offset = topic.ledgers.offset_from(position.ledgerId, position.entryId, end)
    exact = topic.ledgers.offset(position.ledgerId, position.entryId) == offset
    left = open_mask(topic, offset, position.ack_set) if position.ack_set and exact else -1
    return max(offset, first), left


def _compatible(broker: Broker, sub: Subscription, message: pb.CommandSubscribe) -> None:
    """The first consumer decides the type and the Key_Shared policy; the others must agree."""
    kind, meta = KINDS[message.subType], message.keySharedMeta
    sticky = message.subType == _KEY_SHARED and meta.keySharedMode == _STICKY
    out_of_order = message.subType == _KEY_SHARED and meta.allowOutOfOrderDelivery
    if not sub.consumers:
        if outdated(sub) or (sub.kind, sub.sticky, sub.out_of_order) != (kind, sticky, out_of_order):
            sub.use_kind(kind, sticky, out_of_order)
        return
    if kind == "Exclusive" and sub.kind == "Exclusive":
        raise ConsumerBusy("Exclusive consumer is already connected")
    if sub.kind != kind:
        raise ConsumerBusy(f"Subscription is of different type: it is {sub.kind} while consumers are connected")
    if kind == "Key_Shared" and (sub.sticky, sub.out_of_order) != (sticky, out_of_order):
        raise ConsumerBusy("Subscription has a different Key_Shared policy while consumers are connected")


def _make(broker: Broker, session: Session, message: pb.CommandSubscribe, sub: Subscription) -> Consumer:
    name = message.consumer_name or f"{session.number:x}-{message.consumer_id:x}"
    consumer = Consumer(session, message.consumer_id, name, sub)
    consumer.priority, consumer.connected_ms = message.priority_level, broker.now_ms
    consumer.auto_consume = is_auto_consume(message)
    consumer.read_compacted = message.read_compacted
    consumer.metadata = {pair.key: pair.value for pair in message.metadata}
    consumer.epoch = message.consumer_epoch if message.HasField("consumer_epoch") else -1
    if sub.sticky:
        consumer.key_ranges = [(part.start, part.end) for part in message.keySharedMeta.hashRanges]
        if not consumer.key_ranges:
            raise ConsumerAssignFailed("a consumer in STICKY mode must name its hash ranges; it named none")
    return consumer


def unsubscribe(broker: Broker, session: Session, message: pb.CommandUnsubscribe) -> None:
    """UNSUBSCRIBE: the only consumer may take the subscription away, or anyone by force."""
    consumer = session.consumers.get(message.consumer_id)
    if consumer is None:
        raise TopicNotFound(f"consumer {message.consumer_id} is not open on this connection")
    sub = consumer.subscription
    if len(sub.consumers) != 1 and not message.force:
        raise MetadataFailed(f"subscription {sub.name} has other consumers; close them first or use force")
    del session.consumers[consumer.id]
    sub.leave(consumer)
    opening.delete_cursor(sub)

    broker.when_durable(lambda error: session.answer(message.request_id, error))


def close_consumer(broker: Broker, session: Session, message: pb.CommandCloseConsumer) -> None:
    """CLOSE_CONSUMER: an id that is not open is closed already; one that is being opened will not be."""
    early = session.opening.pop(-1 - message.consumer_id, None)
    if early is not None:
        session.error(early, ServiceNotReady("the consumer was closed before it was open"))
    consumer = session.consumers.pop(message.consumer_id, None)
    if consumer is not None:
        consumer.subscription.leave(consumer)
    session.success(message.request_id)
