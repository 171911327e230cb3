"""How a Key_Shared subscription shares out its keys: selector, shares and rates, the last decisions, and what to know.

Hot keys and batches of several keys are not counted while messages pass. They are looked for, when somebody asks,
among the latest entries of the topic that are still in memory, so they cost nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from magnetar.core.consumer import Consumer
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.reselect import Selector
from magnetar.core.entryinfo import COUNT
from magnetar.core.selector.rateaware import Decision, RateAware
from magnetar.core.selector.ring import Ring
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.wire.batch import iter_batch
from magnetar.wire.entry import metadata_bounds
from magnetar.wire.errors import WireError
from magnetar.wire.hashing import murmur3
from magnetar.wire.metadata import peek, sticky_key

__all__ = [
    "ENTRIES_MAX",
    "HotKey",
    "MixedBatches",
    "SelectorReport",
    "Share",
    "explain_selector",
    "max_over_mean",
    "owned_ranges",
]

ENTRIES_MAX = 1_000
"""The latest entries of the topic that are looked at."""
BATCHES_MAX = 50
"""Of those so many batches are looked into, and of each so many messages."""
_MESSAGES_MAX = 10
_HOT_MESSAGES = 100
"""Fewer messages say nothing about what a key's share is."""
_HOT_MAX = 10
_RANGES_SHOWN = 10


@dataclass(slots=True)
class Share:
    """What one consumer has of the slots."""

    consumer: str
    slots: int
    part: float
    """Of all slots."""
    range_count: int
    ranges: list[tuple[int, int]]
    """The first of them; a ring has very many."""
    rate: float = -1.0
    """Messages a second, below 0 where the selector does not know it."""


@dataclass(slots=True)
class HotKey:
    """A key that has more messages than every consumer would have if all had the same."""

    key: bytes
    part: float
    owner: str


@dataclass(slots=True)
class MixedBatches:
    """A producer some of whose batches hold several keys; all of such a batch goes by the key of its first message."""

    producer: str
    batches: int
    mixed: int


@dataclass(slots=True)
class SelectorReport:
    """See the module's text."""

    name: str
    shares: list[Share]
    decisions: list[Decision] = field(default_factory=list)
    moved_slots: int = 0
    hot_keys: list[HotKey] = field(default_factory=list)
    mixed: list[MixedBatches] = field(default_factory=list)


def explain_selector(sub: Subscription) -> SelectorReport | None:
    """None where keys do not matter."""
    dispatcher = sub.dispatcher
    if not isinstance(dispatcher, KeyedDispatcher):
        return None
    selector = dispatcher.selector
    found = SelectorReport(dispatcher.selector_name, _shares(dispatcher))
    if isinstance(selector, RateAware):
        found.decisions = list(selector.decisions)
        found.moved_slots = selector.moved_slots
    latest = _latest(sub.topic)
    found.hot_keys = _hot(dispatcher, latest)
    found.mixed = _mixed([entry for entry, count in latest if count > 1])
    return found


def max_over_mean(shares: list[Share]) -> float:
    """How many times the mean rate the busiest has; 0 where rates are not known."""
    total = sum(share.rate for share in shares)
    return max(share.rate for share in shares) * len(shares) / total if total > 0 else 0.0


def _shares(dispatcher: KeyedDispatcher) -> list[Share]:
    selector = dispatcher.selector
    if isinstance(selector, RateAware):
        selector.load.tick(dispatcher.subscription.topic.broker.now_ms)
    rates = selector.rates() if isinstance(selector, RateAware) else {}
    found = []
    rows = owned_ranges(selector)
    for consumer in dispatcher.subscription.consumers:
        mine, slots = rows.get(consumer, []), selector.share(consumer)
        found.append(
            Share(
                consumer.name,
                slots,
                slots / dispatcher.slots,
                len(mine),
                mine[:_RANGES_SHOWN],
                rates.get(consumer, -1.0),
            )
        )
    return found


def owned_ranges(selector: Selector) -> dict[Consumer, list[tuple[int, int]]]:
    """The ranges of slots that each consumer owns; a ring has very many and keeps them at hand."""
    if isinstance(selector, Ring):
        return selector.shares()
    found: dict[Consumer, list[tuple[int, int]]] = {}
    for low, high, owner in selector.ranges():
        found.setdefault(owner, []).append((low, high))
    return found


def _latest(topic: Topic) -> list[tuple[bytes, int]]:
    """The latest entries in memory, each with its count of messages."""
    tail = topic.tail
    first = max(len(tail.entries) - ENTRIES_MAX, tail.gone)
    pairs = zip(tail.entries[first:], tail.counts[first:], strict=True)
    return [(entry, count & COUNT) for entry, count in pairs]


def _hot(dispatcher: KeyedDispatcher, latest: list[tuple[bytes, int]]) -> list[HotKey]:
    consumers = len(dispatcher.subscription.consumers)
    total = sum(count for _, count in latest)
    if consumers < 2 or total < _HOT_MESSAGES:
        return []
    counts: dict[int, int] = {}
    keys: dict[int, bytes] = {}
    for entry, count in latest:
        key = sticky_key(entry)
        key_hash = murmur3(key)
        counts[key_hash] = counts.get(key_hash, 0) + count
        keys[key_hash] = key
    hot = sorted((key_hash for key_hash in counts if counts[key_hash] * consumers > total), key=lambda h: -counts[h])
    found = []
    for key_hash in hot[:_HOT_MAX]:
        owner = dispatcher.selector.select(dispatcher.selector.slot_of(key_hash))
        found.append(HotKey(keys[key_hash], counts[key_hash] / total, owner.name if owner is not None else ""))
    return found


def _mixed(batches: list[bytes]) -> list[MixedBatches]:
    """Producers of batches that hold several keys, as far as batches can be looked into."""
    found: dict[str, MixedBatches] = {}
    for entry in batches[-BATCHES_MAX:]:
        try:
            metadata = peek(entry)
            if metadata.encrypted or metadata.compression or not metadata.is_batch:
                continue
            payload = entry[metadata_bounds(entry)[1] :]
            messages = iter_batch(payload, min(metadata.num_messages, _MESSAGES_MAX))
        except WireError:
            continue
        keys = dict.fromkeys(one.ordering_key or one.partition_key.encode() for one, _ in messages)
        row = found.setdefault(metadata.producer_name, MixedBatches(metadata.producer_name, 0, 0))
        row.batches += 1
        row.mixed += len(keys) > 1
    return [row for row in found.values() if row.mixed]
