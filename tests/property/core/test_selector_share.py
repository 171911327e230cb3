"""How many slots a consumer owns agrees with asking for the owner of every slot."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.core.consumer import Consumer
from magnetar.core.selector.ring import Ring
from magnetar.core.selector.split import WidestSplit
from magnetar.core.selector.sticky import StickyRanges
from tests.support.corebroker import CoreBroker

Selector = Ring | WidestSplit | StickyRanges


def named(name: str, first: int) -> Consumer:
    """A consumer of that name, with a range for those who state one."""
    broker = CoreBroker()
    client = broker.client()
    client.consumer("t")
    consumer = Consumer(client.session, 1, name, broker.sub())
    consumer.key_ranges = [(first, first + 5_000 + first // 9_000)]
    return consumer


def made(which: str) -> Selector:
    return {"ring": lambda: Ring(100), "split": WidestSplit, "sticky": StickyRanges}[which]()


@settings(max_examples=15)
@pytest.mark.parametrize("which", ["ring", "split", "sticky"])
@given(
    names=st.lists(st.sampled_from(["a", "b", "worker-a", "worker-b"]), min_size=1, max_size=6), leave=st.integers(0)
)
def test_shares_are_what_the_selector_gives(which: str, names: list[str], leave: int) -> None:
    selector = made(which)
    first, last = {"ring": (1, 65_535), "split": (1, 65_536), "sticky": (0, 65_535)}[which]
    consumers = [named(name, n * 9_000) for n, name in enumerate(names)]
    for consumer in consumers:
        selector.add(consumer)
    if len(consumers) > 1:
        selector.remove(consumers.pop(leave % len(consumers)))
    counted: Counter[Consumer | None] = Counter(selector.select(slot) for slot in range(first, last + 1))
    for consumer in consumers:
        assert selector.share(consumer) == counted[consumer]


@settings(max_examples=15)
@given(names=st.lists(st.sampled_from(["a", "b", "worker-a"]), min_size=2, max_size=6), leave=st.integers(0))
def test_what_a_ring_keeps_at_hand_follows_who_joins_and_leaves(names: list[str], leave: int) -> None:
    ring = Ring(100)
    consumers = [named(name, n * 9_000) for n, name in enumerate(names)]

    def check() -> None:
        listed = ((low, high, owner) for owner, each in ring.shares().items() for low, high in each)
        assert sorted(listed, key=lambda row: row[0]) == ring.ranges()

    for consumer in consumers:
        ring.add(consumer)
        check()
    ring.remove(consumers[leave % len(consumers)])
    check()
