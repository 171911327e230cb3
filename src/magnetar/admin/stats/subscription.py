"""Statistics of subscriptions and their consumers. ``msgBacklog`` counts entries, ``unackedMessages`` messages."""

from __future__ import annotations

from magnetar.admin.answers import Fields
from magnetar.admin.explain import failover_fields, selector_fields
from magnetar.admin.rates import Rate, Sampler, bytes_out
from magnetar.admin.stats.common import iso
from magnetar.core.backlog import backlog_bytes
from magnetar.core.consumer import Consumer
from magnetar.core.dispatch.classic import ClassicKeyShared
from magnetar.core.dispatch.delayed import ENTRY_BYTES
from magnetar.core.dispatch.delaying import DelayingDispatcher
from magnetar.core.dispatch.gate import BY_BROKER, BY_SUBSCRIPTION, BY_TOPIC
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.explain.failover import failover_facts
from magnetar.core.explain.keyed import slots_held_for_others
from magnetar.core.explain.selector import explain_selector, owned_ranges
from magnetar.core.subscription import Subscription

__all__ = ["RANGES_MAX", "blocked", "delayed_index_bytes", "subscription_stats"]

RANGES_MAX = 10_000
"""Acknowledged ranges of one cursor that are counted or listed."""

_KEY_SHARED = "Key_Shared"
_SINGLE = ("Exclusive", "Failover")


def blocked(sub: Subscription) -> bool:
    """Whether the subscription has reached its limit of unacknowledged messages."""
    return isinstance(sub.dispatcher, PendingDispatcher) and sub.dispatcher.blocked


def delayed_index_bytes(sub: Subscription) -> int:
    """The memory that goes into keeping delayed messages until their time."""
    dispatcher = sub.dispatcher
    if not isinstance(dispatcher, DelayingDispatcher) or dispatcher.delayed is None:
        return 0
    return dispatcher.delayed.entries * ENTRY_BYTES


def subscription_stats(sub: Subscription, rates: Sampler, with_consumers: bool) -> Fields:
    dispatcher = sub.dispatcher
    rate = rates.rate(sub)
    backlog = sub.backlog()
    drains = _drains(sub)
    delayed = dispatcher.delayed_count() if dispatcher is not None else 0
    found: Fields = {
        "msgRateOut": rate.messages,
        "msgThroughputOut": rate.bytes,
        "bytesOutCounter": bytes_out(sub),
        "msgOutCounter": sub.messages_out,
        "msgRateRedeliver": rate.third,
        "messageAckRate": rate.fourth,
        "chunkedMessageRate": 0.0,
        "msgBacklog": backlog,
        "backlogSize": backlog_bytes(sub.topic, sub.acks.floor),
        "earliestMsgPublishTimeInBacklog": 0,
        "msgBacklogNoDelayed": backlog - delayed,
        "blockedSubscriptionOnUnackedMsgs": blocked(sub),
        "msgDelayed": delayed,
        "msgInReplay": dispatcher.waiting() if dispatcher is not None else 0,
        "unackedMessages": dispatcher.unacked() if dispatcher is not None else 0,
    }
    found["type"] = sub.kind or "None"
    found.update(
        **_active(sub),
        msgRateExpired=0.0,
        msgExpired=sub.expired_count,
        totalMsgExpired=sub.expired_count,
        lastExpireTimestamp=sub.last_expired_ms,
        lastConsumedFlowTimestamp=sub.last_flow_ms,
        lastConsumedTimestamp=sub.last_sent_ms,
        lastAckedTimestamp=sub.last_acked_ms,
        lastMarkDeleteAdvancedTimestamp=sub.last_moved_ms,
        consumers=_consumers(sub, rates, drains) if with_consumers else [],
        isDurable=sub.durable,
        isReplicated=False,
        allowOutOfOrderDelivery=sub.out_of_order,
    )
    if sub.kind == _KEY_SHARED:
        found["keySharedMode"] = "STICKY" if sub.sticky else "AUTO_SPLIT"
        found.update(_selector(sub) if with_consumers else {})
    found.update(
        consumersAfterMarkDeletePosition=_newcomers(sub),
        drainingHashesCount=sum(len(rows) for rows in drains.values()),
        drainingHashesClearedTotal=dispatcher.drains.cleared_total if isinstance(dispatcher, KeyShared) else 0,
        drainingHashesUnackedMessages=sum(count for rows in drains.values() for _, count, _ in rows),
        nonContiguousDeletedMessagesRanges=len(sub.acks.ranges(RANGES_MAX)) if sub.acks.above else 0,
        nonContiguousDeletedMessagesRangesSerializedSize=0,
        delayedMessageIndexSizeInBytes=delayed_index_bytes(sub),
        subscriptionProperties=sub.properties,
        **_ZEROS,
        **_throttled(sub),
        durable=sub.durable,
        replicated=False,
    )
    return found


def _selector(sub: Subscription) -> Fields:
    """How keys are shared out, which Pulsar does not say."""
    found = explain_selector(sub)
    return {"keySharedSelector": selector_fields(found)} if found is not None else {}


_ZEROS: Fields = dict.fromkeys(
    (
        "filterProcessedMsgCount",
        "filterAcceptedMsgCount",
        "filterRejectedMsgCount",
        "filterRescheduledMsgCount",
    ),
    0,
)


def _active(sub: Subscription) -> Fields:
    """Who is served, and for Failover what there is to say about the choice."""
    found: Fields = {}
    active = sub.dispatcher.active() if sub.dispatcher is not None else None
    if sub.kind in _SINGLE and active is not None:
        found["activeConsumerName"] = active.name
    failover = failover_facts(sub)
    if failover is not None:
        found["failover"] = failover_fields(failover)
    return found


def _throttled(sub: Subscription) -> Fields:
    """How often a dispatch rate has made the subscription wait, by whose rate it was."""
    found: Fields = {}
    for level, whose in ((BY_SUBSCRIPTION, "Subscription"), (BY_TOPIC, "Topic"), (BY_BROKER, "Broker")):
        found[f"dispatchThrottledMsgEventsBy{whose}Limit"] = sub.gate.limited_messages[level] if sub.gate else 0
        found[f"dispatchThrottledBytesEventsBy{whose}Limit"] = sub.gate.limited_bytes[level] if sub.gate else 0
    return found


Drain = tuple[int, int, int]
"""A slot that drains, the entries that wait for acknowledgement, and how often it held something up."""

Drains = dict[Consumer, list[Drain]]
"""By the consumer that holds them."""


def _drains(sub: Subscription) -> Drains:
    dispatcher = sub.dispatcher
    found: Drains = {}
    if isinstance(dispatcher, KeyShared):
        for consumer in sub.consumers:
            held = slots_held_for_others(dispatcher, consumer)
            if held:
                found[consumer] = [(slot, held[slot], dispatcher.drains.blocked(slot)) for slot in sorted(held)]
    return found


def _consumers(sub: Subscription, rates: Sampler, drains: Drains) -> list[Fields]:
    ranges = owned_ranges(sub.dispatcher.selector) if isinstance(sub.dispatcher, KeyedDispatcher) else {}
    return [_consumer(one, rates.rate(one), drains.get(one, []), ranges.get(one, [])) for one in sub.consumers]


def _consumer(consumer: Consumer, rate: Rate, draining: list[Drain], ranges: list[tuple[int, int]]) -> Fields:
    sub, session = consumer.subscription, consumer.session
    found: Fields = {
        "msgRateOut": rate.messages,
        "msgThroughputOut": rate.bytes,
        "bytesOutCounter": consumer.bytes_out,
        "msgOutCounter": consumer.messages_out,
        "msgRateRedeliver": rate.third,
        "messageAckRate": rate.fourth,
        "chunkedMessageRate": 0.0,
        "consumerName": consumer.name,
        "availablePermits": consumer.permits,
        "unackedMessages": consumer.unacked,
        "avgMessagesPerEntry": _per_entry(consumer),
        "blockedConsumerOnUnackedMsgs": consumer.blocked,
    }
    if isinstance(sub.dispatcher, ClassicKeyShared):
        found["readPositionWhenJoining"] = _place(sub, sub.dispatcher.joined_at[consumer])
    found.update(
        drainingHashesCount=len(draining),
        drainingHashesClearedTotal=consumer.drained_total,
        drainingHashesUnackedMessages=sum(count for _, count, _ in draining),
    )
    if isinstance(sub.dispatcher, KeyShared):
        found["drainingHashes"] = [
            {"hash": slot, "unackMsgs": count, "blockedAttempts": held} for slot, count, held in draining
        ]
    found["address"] = session.address
    found["connectedSince"] = iso(consumer.connected_ms)
    if session.client_version:
        found["clientVersion"] = session.client_version
    found.update(
        lastAckedTimestamp=consumer.last_acked_ms,
        lastConsumedTimestamp=consumer.last_sent_ms,
        firstMessagesSentTimestamp=consumer.first_sent_ms,
        lastConsumedFlowTimestamp=consumer.last_flow_ms,
        firstConsumedFlowTimestamp=consumer.first_flow_ms,
    )
    if isinstance(sub.dispatcher, ClassicKeyShared):
        found["keyHashRanges"] = [f"[{low}, {high}]" for low, high in ranges]
    elif sub.kind == _KEY_SHARED:
        found["keyHashRangeArrays"] = ranges
    found["metadata"] = consumer.metadata
    found["lastAckedTime"] = iso(consumer.last_acked_ms)
    found["lastConsumedTime"] = iso(consumer.last_sent_ms)
    return found


def _newcomers(sub: Subscription) -> dict[str, str]:
    """With the classic dispatcher: who still waits for what was out when they joined, and up to where."""
    if not isinstance(sub.dispatcher, ClassicKeyShared):
        return {}
    return {consumer.name: _place(sub, offset) for consumer, offset in sub.dispatcher.recent.items()}


def _place(sub: Subscription, offset: int) -> str:
    """An offset as Pulsar writes positions."""
    ledger, entry = sub.topic.ledgers.position(offset)
    return f"{ledger}:{entry}"


def _per_entry(consumer: Consumer) -> int:
    """Messages in an entry on average, as far as the consumer was sent any."""
    topic = consumer.subscription.topic
    if not consumer.messages_out:
        return 0
    return max(round(topic.messages_in / topic.entries_in), 1) if topic.entries_in else 1
