"""What the broker tells clients unasked."""

from __future__ import annotations

from magnetar.wire.commands import encode, pb

__all__ = ["active_change", "close_consumer", "close_producer", "end_of_topic"]

_BROKER_REQUEST = 0


def active_change(consumer_id: int, active: bool) -> bytes:
    return encode(pb.CommandActiveConsumerChange(consumer_id=consumer_id, is_active=active))


def end_of_topic(consumer_id: int) -> bytes:
    return encode(pb.CommandReachedEndOfTopic(consumer_id=consumer_id))


def close_consumer(consumer_id: int) -> bytes:
    """The client is to look the topic up again and subscribe anew."""
    return encode(pb.CommandCloseConsumer(consumer_id=consumer_id, request_id=_BROKER_REQUEST))


def close_producer(producer_id: int) -> bytes:
    """The client is to look the topic up again and reopen its producer."""
    return encode(pb.CommandCloseProducer(producer_id=producer_id, request_id=_BROKER_REQUEST))
