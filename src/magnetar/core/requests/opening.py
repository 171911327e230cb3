"""Cursors come into being: by a subscribe, by a producer's initial subscription, by the admin interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.subscription import Subscription, cursor_key
from magnetar.errors import ConsumerBusy, NotAllowed
from magnetar.ports.log import Put

if TYPE_CHECKING:
    from magnetar.core.topic import Topic

__all__ = ["NAME_BYTES_MAX", "check_consumers", "create_cursor", "delete_cursor"]

NAME_BYTES_MAX = 4096
"""The longest name of a subscription or producer; they are keys and values of fixed width in the log."""

_RESERVED = ("pulsar.repl", "pulsar.dedup", "__compaction")


def create_cursor(topic: Topic, name: str, offset: int) -> Subscription:
    """A durable subscription whose first unacknowledged entry is ``offset``; durable with the open commit."""
    if name.startswith(_RESERVED):
        raise NotAllowed(f"'{name}' is a name that the broker keeps for itself; choose another subscription name")
    if len(cursor_key(name)) > NAME_BYTES_MAX:
        raise NotAllowed(f"the name of a subscription may have {NAME_BYTES_MAX} bytes at most")
    most = topic.policies.max_subscriptions
    if most and sum(sub.durable for sub in topic.subscriptions.values()) >= most:
        raise NotAllowed(f"{topic.name} has its {most} subscriptions (maxSubscriptionsPerTopic)")
    topic.ensure_ledger()
    sub = Subscription(topic, name, True, offset)
    topic.subscriptions[name] = sub
    topic.broker.commit.records.append(Put(topic.stream, cursor_key(name), sub.encode()))
    topic.broker.commit.cursors.append(sub)
    return sub


def check_consumers(topic: Topic, sub: Subscription) -> None:
    """Raise when the subscription or the topic has as many consumers as its policies let it have."""
    policies = topic.policies
    if policies.max_consumers_per_subscription and len(sub.consumers) >= policies.max_consumers_per_subscription:
        raise ConsumerBusy(f"subscription {sub.name} has its consumers (maxConsumersPerSubscription)")
    if policies.max_consumers and len(topic.consumers()) >= policies.max_consumers:
        raise ConsumerBusy(f"{topic.name} has its consumers (maxConsumersPerTopic)")


def delete_cursor(sub: Subscription) -> None:
    """The subscription and its cursor are gone, durably with the open commit; its consumers are told to come back."""
    topic = sub.topic
    for consumer in list(sub.consumers):
        consumer.session.drop_consumer(consumer)
    topic.subscriptions.pop(sub.name, None)
    topic.messages_out_gone += sub.messages_out
    topic.bytes_out_gone += sub.bytes_out
    sub.drop(topic.broker.commit.records)
