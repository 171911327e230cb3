"""Another selector, or other ranges, for a Key_Shared subscription whose consumers stay connected.

To the contract of a key this is a change of ranges like any other: keys that have another owner now drain first. But
selectors differ in how they place a key into a slot, and what drains already is known by its slot. So those drains are
written down anew under the slots of the new selector before the owners change, with the time since when they last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.consumer import pending_hash
from magnetar.core.dispatch.draining import Drains
from magnetar.core.selector.load import LOAD_SLOTS, SlotLoad
from magnetar.core.selector.names import AUTO_SPLIT, RATE_AWARE, STICKY
from magnetar.core.selector.rateaware import RateAware
from magnetar.core.selector.ring import Ring
from magnetar.core.selector.split import SPLIT_SLOTS, WidestSplit
from magnetar.core.selector.sticky import STICKY_SLOTS, StickyRanges

if TYPE_CHECKING:
    from magnetar.core.dispatch.keyed import KeyedDispatcher
    from magnetar.core.dispatch.keyshared import KeyShared

__all__ = ["Selector", "make_selector", "moved_drains", "rebuilt_drains"]

Selector = Ring | WidestSplit | StickyRanges | RateAware


def make_selector(name: str, points: int, ring_slots: int, now_ms: int) -> tuple[Selector, int, int]:
    """A selector without consumers, how many slots it has, and the first of them."""
    if name == STICKY:
        return StickyRanges(), STICKY_SLOTS, 0
    if name == RATE_AWARE:
        return RateAware(SlotLoad(now_ms)), LOAD_SLOTS, 0
    if name == AUTO_SPLIT:
        return WidestSplit(), SPLIT_SLOTS, 0
    return Ring(points, ring_slots), ring_slots, 1


def moved_drains(dispatcher: KeyedDispatcher, before: Drains, selector: Selector) -> Drains:
    """What drains now, under the slots of another selector."""
    fresh, nothing = before.begin(), Drains()
    if not before.active:
        return fresh
    was, now = dispatcher.selector, selector
    for consumer in dispatcher.subscription.consumers:
        for word in consumer.pending.values():
            key_hash = pending_hash(word)
            slot = was.slot_of(key_hash)
            if was.select(slot) is not consumer:
                fresh.add(key_hash, now.slot_of(key_hash), before.since_ms(slot), nothing)
    if fresh.keys_left_out:
        fresh.coarsen({key_hash: now.slot_of(key_hash) for key_hash in fresh.keys})
    return fresh


def rebuilt_drains(dispatcher: KeyShared, before: Drains) -> Drains:
    """What drains under the owners of now."""
    fresh = before.begin()
    now_ms = dispatcher.subscription.topic.broker.now_ms
    slot_of = dispatcher.selector.slot_of
    for consumer in dispatcher.subscription.consumers:
        for word in consumer.pending.values():
            key_hash = pending_hash(word)
            slot = slot_of(key_hash)
            if dispatcher.owner(slot) is not consumer:
                fresh.add(key_hash, slot, now_ms, before)
    if fresh.keys_left_out:
        fresh.coarsen({key_hash: slot_of(key_hash) for key_hash in fresh.keys})
    fresh.cleared_total += before.ended(fresh)
    return fresh
