"""SEEK, GET_LAST_MESSAGE_ID and CONSUMER_STATS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.ackset import AckSet
from magnetar.core.batchmask import open_mask
from magnetar.core.compaction.state import Compacted, unpack
from magnetar.core.consumer import Consumer
from magnetar.core.entryinfo import last_batch_index
from magnetar.core.ledgers import EARLIEST
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.subscription import Subscription
from magnetar.core.timesearch import search_time
from magnetar.core.topic import Topic
from magnetar.errors import ConsumerBusy, ConsumerNotFound, MetadataFailed, SubscriptionNotFound
from magnetar.ports.log import ReadDone
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["consumer_stats", "last_message_id", "move_cursor", "seek", "with_last_entry"]

_U64 = (1 << 64) - 1


def seek(broker: Broker, session: Session, message: pb.CommandSeek) -> None:
    """SEEK: everyone is sent away, the cursor moves, then the answer; clients come back by themselves."""
    consumer = session.consumers.get(message.consumer_id)
    if consumer is None:
        raise ConsumerNotFound(f"consumer {message.consumer_id} is not open on this connection")
    sub = consumer.subscription
    if sub.fenced:
        raise ConsumerBusy(f"subscription {sub.name} is being moved already")
    request = message.request_id
    topic = sub.topic
    if isinstance(topic, NonPersistentTopic):
        session.success(request)
        return

    def done(error: Exception | None) -> None:
        session.answer(request, error)

    if message.HasField("message_id"):
        position = message.message_id
        offset = topic.ledgers.offset_from(position.ledgerId, position.entryId, topic.tail.end)
        left = -1
        if position.ack_set and topic.ledgers.offset(position.ledgerId, position.entryId) == offset:
            left = open_mask(topic, offset, position.ack_set)
        move_cursor(sub, offset, left, done)
    else:
        sub.fenced = True

        def found(offset: int) -> None:
            sub.fenced = False
            if sub.deleted:
                done(SubscriptionNotFound(f"subscription {sub.name} went away while the place was looked for"))
            else:
                move_cursor(sub, offset, -1, done)

        search_time(topic, topic.first_offset, message.message_publish_time, found)


def move_cursor(sub: Subscription, offset: int, left: int, done: Callable[[Exception | None], None]) -> None:
    """Set the cursor to ``offset``; consumers are disconnected, ``done`` hears when it is durable."""
    topic = sub.topic
    sub.fenced = True
    for consumer in list(sub.consumers):
        consumer.session.drop_consumer(consumer)
    sub.seek(max(offset, topic.first_offset), left)
    if not sub.durable:
        # A reader's cursor lives with its consumer: hold it over the reconnect that the seek brings about.
        topic.subscriptions[sub.name] = sub
        sub.deleted = False
        topic.broker.timers.at(topic.broker.now_ms + topic.broker.options.keep_alive_ms, _Forget(sub, sub.acks))

    def durable(error: Exception | None) -> None:
        sub.fenced = False
        done(error)

    topic.broker.when_durable(durable)


class _Forget:
    """Drop a reader's cursor whose reader did not come back; one that was moved once more has a later time to come."""

    def __init__(self, sub: Subscription, acks: AckSet) -> None:
        self.sub: Subscription = sub
        self.acks: AckSet = acks

    def __call__(self) -> None:
        if self.sub.acks is self.acks:
            self.sub.topic.consumer_left(self.sub)


def last_message_id(broker: Broker, session: Session, message: pb.CommandGetLastMessageId) -> None:
    """GET_LAST_MESSAGE_ID: the last durable entry, with the index of its last message when it is a batch."""
    consumer = session.consumers.get(message.consumer_id)
    if consumer is None:
        raise MetadataFailed(f"consumer {message.consumer_id} is not open on this connection")
    topic = consumer.subscription.topic
    open_now: Consumer = consumer
    request = message.request_id

    def answer(offset: int, batch_index: int) -> None:
        answer_place(*(topic.ledgers.position(offset) if offset >= 0 else (EARLIEST, EARLIEST)), batch_index)

    def answer_place(ledger: int, number: int, batch_index: int) -> None:
        reply = pb.CommandGetLastMessageIdResponse(request_id=request)
        reply.last_message_id.ledgerId = ledger
        reply.last_message_id.entryId = number
        reply.last_message_id.partition = topic.name.partition
        reply.last_message_id.batch_index = batch_index
        if topic.ledgers.ids:
            ledger, number = topic.ledgers.position_before(open_now.subscription.acks.floor)
            reply.consumer_mark_delete_position.ledgerId = ledger
            reply.consumer_mark_delete_position.entryId = number & _U64
        session.reply(reply)

    view = topic.compaction.view
    if open_now.read_compacted and view is not None and view.horizon >= topic.tail.end:
        with_last_compacted(topic, view, answer_place)
    else:
        with_last_entry(topic, answer)


def with_last_compacted(topic: Topic, view: Compacted, call: Callable[[int, int, int], None]) -> None:
    """Call with ledger, entry and batch index of what comes last in the compacted view; EARLIEST when it is empty."""
    if not view.entries:
        call(EARLIEST, EARLIEST, -1)
        return

    def arrived(ticket: int, wanted: int, answer: ReadDone) -> None:
        entry = answer.entries[0] if answer.entries else None
        if entry is None:
            with_last_entry(topic, lambda offset, index: call(*topic.ledgers.position(max(offset, 0)), index))
            return
        kept = unpack(entry)
        index = last_batch_index(kept.entry) if kept.left < 0 else kept.left.bit_length() - 1
        call(kept.ledger, kept.number, index)

    topic.broker.read(view.stream, view.entries - 1, 1, 1, arrived)


def with_last_entry(topic: Topic, call: Callable[[int, int], None]) -> None:
    """Call with the offset of the topic's last entry (-1 when it is empty) and its last batch index (-1 for none)."""
    last = topic.tail.end - 1
    if last < topic.first_offset:
        call(-1, -1)
        return
    tail = topic.tail
    if last >= tail.base:
        call(last, last_batch_index(tail.entries[last - tail.base + tail.gone]))
        return

    def arrived(ticket: int, wanted: int, answer: ReadDone) -> None:
        entry = answer.entries[0] if answer.entries else None
        call(last, last_batch_index(entry) if entry else -1)

    topic.broker.read(topic.stream, last, 1, 1, arrived)


def consumer_stats(broker: Broker, session: Session, message: pb.CommandConsumerStats) -> None:
    """CONSUMER_STATS: what the broker knows of one consumer."""
    answer = pb.CommandConsumerStatsResponse(request_id=message.request_id)
    consumer = session.consumers.get(message.consumer_id)
    if consumer is None:
        answer.error_code = pb.ServerError.ConsumerNotFound
        answer.error_message = f"consumer {message.consumer_id} is not open on this connection"
    else:
        sub = consumer.subscription
        answer.consumerName = consumer.name
        answer.availablePermits = max(consumer.permits, 0)
        answer.unackedMessages = consumer.unacked
        answer.blockedConsumerOnUnackedMsgs = consumer.blocked
        answer.address = session.address
        answer.connectedSince = str(consumer.connected_ms)
        answer.type = sub.kind
        answer.msgBacklog = sub.backlog()
        answer.msgRateOut = broker.rates.rate(consumer.messages_out, consumer.connected_ms)
        answer.msgThroughputOut = broker.rates.rate(consumer.bytes_out, consumer.connected_ms)
        answer.msgRateRedeliver = broker.rates.rate(consumer.redelivered, consumer.connected_ms)
        answer.messageAckRate = broker.rates.rate(consumer.acked, consumer.connected_ms)
        answer.msgRateExpired = 0.0
    session.reply(answer)
