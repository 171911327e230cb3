"""Pending acknowledgements in pages: who holds which entry, since when, delivered how often.

A page has the lowest offsets behind a given one, so a list can be followed while it changes. Exclusive and Failover
keep no list of what is pending; there it is what lies between the cursor and the place where reading stands.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from magnetar.core.consumer import Consumer, pending_count, pending_hash
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.dispatch.single import SingleActive
from magnetar.core.subscription import Subscription

__all__ = ["PendingAck", "Wanted", "pending_page"]

LOOKED_AT_MAX = 100_000
"""Offsets that are looked at for one page of an Exclusive or Failover subscription; the page may then be short."""


@dataclass(slots=True, frozen=True)
class Wanted:
    """Which pending acknowledgements: behind an offset, of one consumer only, of one slot only."""

    after: int = -1
    limit: int = 100
    consumer: str | None = None
    slot: int | None = None


@dataclass(slots=True, frozen=True)
class PendingAck:
    """One entry that a consumer holds."""

    consumer: Consumer
    offset: int
    slot: int
    """-1 where there are no slots."""
    draining: bool
    sent_ms: int
    """0 where it is not known."""
    deliveries: int
    open: int
    """Messages of it that are not acknowledged; 0 for all, where they are not counted."""


def pending_page(sub: Subscription, wanted: Wanted) -> tuple[list[PendingAck], int]:
    """A page, and the offset to go on behind, -1 when there is nothing more."""
    dispatcher = sub.dispatcher
    if isinstance(dispatcher, PendingDispatcher):
        found = heapq.nsmallest(wanted.limit + 1, _held(dispatcher, wanted))
        rows = [_row(dispatcher, offset) for offset in found[: wanted.limit]]
        return rows, rows[-1].offset if len(found) > wanted.limit else -1
    if isinstance(dispatcher, SingleActive):
        return _single(dispatcher, wanted)
    return [], -1


def _held(dispatcher: PendingDispatcher, wanted: Wanted) -> list[int]:
    """The offsets of everything that is wanted, in no order."""
    slot_of = dispatcher.selector.slot_of if isinstance(dispatcher, KeyedDispatcher) else None
    after, slot = wanted.after, wanted.slot
    found: list[int] = []
    for consumer in dispatcher.subscription.consumers:
        if wanted.consumer not in (None, consumer.name):
            continue
        if slot is None:
            found += [offset for offset in consumer.pending if offset > after]
        elif slot_of is not None:
            held = [(offset, word) for offset, word in consumer.pending.items() if offset > after]
            found += [offset for offset, word in held if slot_of(pending_hash(word)) == slot]
    return found


def _row(dispatcher: PendingDispatcher, offset: int) -> PendingAck:
    consumer = next(consumer for consumer in dispatcher.subscription.consumers if offset in consumer.pending)
    word = consumer.pending[offset]
    slot, draining = -1, False
    if isinstance(dispatcher, KeyedDispatcher):
        slot = dispatcher.selector.slot_of(pending_hash(word))
        draining = dispatcher.selector.select(slot) is not consumer
    deliveries = dispatcher.redelivered.get(offset, 0) + 1
    return PendingAck(consumer, offset, slot, draining, consumer.pending_sent_ms(word), deliveries, pending_count(word))


def _single(dispatcher: SingleActive, wanted: Wanted) -> tuple[list[PendingAck], int]:
    consumer, acks = dispatcher.current, dispatcher.subscription.acks
    if consumer is None or wanted.slot is not None or wanted.consumer not in (None, consumer.name):
        return [], -1
    rows: list[PendingAck] = []
    first = max(wanted.after + 1, acks.floor)
    for offset in range(first, dispatcher.read_next):
        if len(rows) == wanted.limit or offset - first == LOOKED_AT_MAX:
            return rows, offset - 1
        if not acks.contains(offset):
            left = acks.part(offset)
            deliveries = dispatcher.redelivered.get(offset, 0) + 1
            rows.append(PendingAck(consumer, offset, -1, False, 0, deliveries, max(left, 0).bit_count()))
    return rows, -1
