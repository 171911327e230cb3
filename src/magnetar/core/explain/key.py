"""Why one key of a Key_Shared subscription does or does not move."""

from __future__ import annotations

from magnetar.core.consumer import Consumer, pending_word
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.explain import codes
from magnetar.core.explain.keyed import nack_order, unblocking
from magnetar.core.explain.report import MESSAGES_MAX, Finding, KeyReport
from magnetar.core.explain.subscription import busy, subscription_limit
from magnetar.core.subscription import Subscription
from magnetar.wire.hashing import murmur3

__all__ = ["explain_key"]


def explain_key(sub: Subscription, key: bytes) -> KeyReport:
    """The key as the broker sees it: ordering key or key of its messages, as bytes."""
    dispatcher = sub.dispatcher
    if not isinstance(dispatcher, KeyedDispatcher):
        return KeyReport(key, 0, findings=[Finding(codes.NOT_KEYED)])
    key_hash = murmur3(key)
    slot = dispatcher.selector.slot_of(key_hash)
    owner = dispatcher.selector.select(slot)
    found = KeyReport(key, slot)
    found.owner = found.owner_after = owner.name if owner is not None else ""
    holder = _held(sub, key_hash, found)
    if isinstance(dispatcher, KeyShared):
        waiting = dispatcher.waiting_keys.keys.get(key_hash, [])
        found.waiting, found.waiting_count = waiting[:MESSAGES_MAX], len(waiting)
        found.findings = _findings(dispatcher, key_hash, found, holder)
    elif owner is None:
        found.findings = [Finding(codes.SLOT_UNCOVERED if sub.consumers else codes.NO_CONSUMER, slots=1)]
    else:
        found.findings = subscription_limit(dispatcher) + busy([owner])
    if not found.findings:
        found.findings.append(Finding(codes.WAITING_FOR_ACKS if found.held_count else codes.READY))
    return found


def _held(sub: Subscription, key_hash: int, found: KeyReport) -> Consumer | None:
    """Who holds messages of the key; one consumer at most, as the contract has it."""
    holder: Consumer | None = None
    low, high = pending_word(key_hash, 0, 0), pending_word(key_hash + 1, 0, 0)
    for consumer in sub.consumers:
        held = [offset for offset, word in consumer.pending.items() if low <= word < high]
        if held:
            holder, found.held_by = consumer, consumer.name
            found.sent_ms = consumer.pending_sent_ms(consumer.pending[held[0]])
            found.held, found.held_count = held[:MESSAGES_MAX], len(held)
    return holder


def _findings(dispatcher: KeyShared, key_hash: int, found: KeyReport, holder: Consumer | None) -> list[Finding]:
    sub, drains, slot = dispatcher.subscription, dispatcher.drains, found.slot
    owner = dispatcher.owner(slot)
    if owner is None:
        return [
            Finding(codes.SLOT_UNCOVERED if sub.consumers else codes.NO_CONSUMER, slots=1, waiting=found.waiting_count)
        ]
    findings: list[Finding] = []
    if dispatcher.ordered and holder is not None and holder is not owner:
        found.owner = holder.name
        findings.append(
            Finding(
                codes.DRAINING,
                [holder.name],
                1,
                found.held,
                found.held_count,
                1,
                1,
                found.waiting_count,
                since_ms=drains.since_ms(slot),
                sent_ms=found.sent_ms,
            )
        )
    elif drains.blocks(key_hash, slot):
        findings.append(
            Finding(codes.SLOT_DRAINING, slots=1, waiting=found.waiting_count, since_ms=drains.since_ms(slot))
        )
    findings += nack_order(dispatcher, key_hash)
    findings += unblocking(dispatcher, int(key_hash in dispatcher.freed))
    findings += subscription_limit(dispatcher) + busy([owner])
    limit = dispatcher.look_ahead()
    if dispatcher.waiting() >= limit and dispatcher.read_next < sub.topic.tail.end:
        findings.append(Finding(codes.LOOK_AHEAD_FULL, waiting=dispatcher.waiting(), limit=limit))
    return findings
