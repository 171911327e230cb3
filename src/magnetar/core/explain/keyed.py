"""What is in the way on Key_Shared subscriptions: drains, keys in nack order, slots of nobody, the look-ahead."""

from __future__ import annotations

from magnetar.core.consumer import Consumer, pending_hash
from magnetar.core.dispatch.classic import ClassicKeyShared
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.explain import codes
from magnetar.core.explain.report import MESSAGES_MAX, NAMES_MAX, Finding

__all__ = ["held_for_others", "keyed_findings", "nack_order", "newcomers", "slots_held_for_others", "unblocking"]

HOLDERS_MAX = 10
"""Consumers whose drains are described one by one, those that wait longest first."""


def keyed_findings(dispatcher: KeyShared) -> list[Finding]:
    found: list[Finding] = []
    limit = dispatcher.look_ahead()
    waiting = dispatcher.waiting()
    if waiting >= limit and dispatcher.read_next < dispatcher.subscription.topic.tail.end:
        found.append(Finding(codes.LOOK_AHEAD_FULL, waiting=waiting, limit=limit))
    found += _drains(dispatcher)
    if dispatcher.nacked:
        held = sorted(offset for offsets in dispatcher.nacked.values() for offset in offsets)
        keys = dispatcher.waiting_keys.keys
        behind = sum(len(keys[key]) for key in dispatcher.nacked if key in keys)
        found.append(
            Finding(
                codes.NACK_ORDER,
                messages=held[:MESSAGES_MAX],
                message_count=len(held),
                keys=len(dispatcher.nacked),
                waiting=behind,
            )
        )
    found += _uncovered(dispatcher)
    found += unblocking(dispatcher, len(dispatcher.freed))
    return found


def unblocking(dispatcher: KeyShared, keys: int) -> list[Finding]:
    """Keys whose drain has ended and that are served with the next unblocking."""
    if not keys or dispatcher.unblock_timer is None:
        return []
    return [Finding(codes.UNBLOCKING, keys=keys, until_ms=dispatcher.unblock_timer.due_ms)]


def held_for_others(dispatcher: KeyShared, consumer: Consumer) -> dict[int, int]:
    """The keys that drain at the consumer, with its entries of each: a walk over everything that it holds."""
    found: dict[int, int] = {}
    drains, slot_of = dispatcher.drains, dispatcher.selector.slot_of
    keys, coarse = drains.keys, drains.keys_left_out
    if drains.active:
        for word in consumer.pending.values():
            key_hash = pending_hash(word)
            if key_hash in keys or (coarse and drains.is_coarse(slot_of(key_hash))):
                found[key_hash] = found.get(key_hash, 0) + 1
    return {key: count for key, count in found.items() if dispatcher.owner(slot_of(key)) is not consumer}


def slots_held_for_others(dispatcher: KeyShared, consumer: Consumer) -> dict[int, int]:
    """The slots that drain at the consumer, with its entries in each: those are what Pulsar counts."""
    found: dict[int, int] = {}
    for key_hash, count in held_for_others(dispatcher, consumer).items():
        slot = dispatcher.selector.slot_of(key_hash)
        found[slot] = found.get(slot, 0) + count
    return found


def _drains(dispatcher: KeyShared) -> list[Finding]:
    """Who holds what others wait for: one walk over everything pending, and only while something drains."""
    if not dispatcher.drains.active:
        return []
    found = [_held_for_others(dispatcher, consumer) for consumer in dispatcher.subscription.consumers]
    holders = [finding for finding in found if finding.message_count]
    holders.sort(key=lambda finding: (finding.since_ms, finding.sent_ms))
    return holders[:HOLDERS_MAX]


def _held_for_others(dispatcher: KeyShared, consumer: Consumer) -> Finding:
    drains, waiting = dispatcher.drains, dispatcher.waiting_keys.keys
    found = Finding(codes.DRAINING, [consumer.name], 1)
    keys = held_for_others(dispatcher, consumer)
    if not keys:
        return found
    slots = dict.fromkeys(map(dispatcher.selector.slot_of, keys), True)
    found.keys, found.slots, found.message_count = len(keys), len(slots), sum(keys.values())
    found.since_ms = min(map(drains.since_ms, slots))
    found.waiting = sum(len(waiting[key_hash]) for key_hash in keys if key_hash in waiting)
    for offset, word in consumer.pending.items():
        if pending_hash(word) in keys:
            if not found.messages:
                found.sent_ms = consumer.pending_sent_ms(word)
            found.messages.append(offset)
            if len(found.messages) == MESSAGES_MAX:
                break
    return found


def _uncovered(dispatcher: KeyShared) -> list[Finding]:
    """Entries whose slot no consumer in STICKY mode has named."""
    if not dispatcher.subscription.sticky:
        return []
    found = Finding(codes.SLOT_UNCOVERED)
    slots: dict[int, bool] = {}
    for key_hash, waiting in dispatcher.waiting_keys.keys.items():
        slot = dispatcher.selector.slot_of(key_hash)
        if dispatcher.owner(slot) is None:
            slots[slot] = True
            found.keys += 1
            found.waiting += len(waiting)
            found.messages = sorted(found.messages + waiting[:MESSAGES_MAX])[:MESSAGES_MAX]
    found.slots = len(slots)
    found.message_count = found.waiting
    return [found] if found.keys else []


def nack_order(dispatcher: KeyShared, key_hash: int) -> list[Finding]:
    """Whether the key gives out one entry at a time, because some of it were given back."""
    held = dispatcher.nacked.get(key_hash)
    if held is None:
        return []
    behind = len(dispatcher.waiting_keys.keys.get(key_hash, ()))
    return [Finding(codes.NACK_ORDER, [], 0, sorted(held)[:MESSAGES_MAX], len(held), 1, waiting=behind)]


def newcomers(dispatcher: ClassicKeyShared) -> list[Finding]:
    """The classic dispatcher: who joined recently, and gets nothing behind the place where reading stood then."""
    recent = dispatcher.recent
    if not recent:
        return []
    names = [consumer.name for consumer in recent]
    floor = dispatcher.subscription.acks.floor
    return [Finding(codes.RECENTLY_JOINED, names[:NAMES_MAX], len(names), [floor], waiting=dispatcher.waiting())]
