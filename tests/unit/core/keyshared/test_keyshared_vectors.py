"""Slots and selectors, number by number as Apache Pulsar has them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from magnetar.core.consumer import Consumer
from magnetar.core.selector.ring import CLASSIC_RING_SLOTS, RING_SLOTS, Ring
from magnetar.core.selector.split import SPLIT_SLOTS, WidestSplit
from magnetar.core.selector.sticky import StickyRanges, check_ranges
from magnetar.errors import ConsumerAssignFailed
from magnetar.wire.hashing import murmur3
from tests.support.corebroker import CoreBroker

HASHES = [
    ("anyKey", 1587856074, 8560, 49866),
    ("key-0", 1664612543, 23544, 63679),
    ("key-1", 414258592, 11858, 5536),
    ("key-2", 1945654540, 51461, 21772),
    ("a", 1009084850, 42456, 27058),
    ("", 0, 1, 1),
    ("NONE_KEY", 504741539, 56505, 48803),
]


Make = Callable[[str], Consumer]


@pytest.fixture
def make() -> Make:
    """Makes consumers by name."""
    broker = CoreBroker()
    client = broker.client()
    client.consumer("t")
    sub = broker.sub()

    def consumer(name: str) -> Consumer:
        return Consumer(client.session, 1, name, sub)

    return consumer


def named(selector: Ring | WidestSplit | StickyRanges) -> list[tuple[int, int, str]]:
    return [(first, last, owner.name) for first, last, owner in selector.ranges()]


def shares(selector: Ring | WidestSplit) -> dict[str, int]:
    found: dict[str, int] = {}
    for first, last, owner in selector.ranges():
        found[owner.name] = found.get(owner.name, 0) + last - first + 1
    return found


@pytest.mark.parametrize(("key", "masked", "ring", "split"), HASHES)
def test_slots(key: str, masked: int, ring: int, split: int) -> None:
    key_hash = murmur3(key.encode())
    assert key_hash == masked
    assert Ring(1).slot_of(key_hash) == ring
    assert WidestSplit().slot_of(key_hash) == StickyRanges().slot_of(key_hash) == split


def test_slots_are_never_zero_and_stay_in_their_range() -> None:
    for key_hash in (0, 1, 65535, 65536, 65537, 131070, (1 << 31) - 2, (1 << 31) - 1):
        assert 1 <= Ring(1).slot_of(key_hash) <= RING_SLOTS
        assert 1 <= Ring(1, CLASSIC_RING_SLOTS).slot_of(key_hash) <= CLASSIC_RING_SLOTS
        assert 1 <= WidestSplit().slot_of(key_hash) < SPLIT_SLOTS
    assert Ring(1, CLASSIC_RING_SLOTS).slot_of((1 << 31) - 1) == 2


def test_the_ring_with_three_points(make: Make) -> None:
    ring = Ring(3)
    for number in (1, 2, 3):
        ring.add(make(f"consumer{number}"))
    assert [(first, last, name.removeprefix("consumer")) for first, last, name in named(ring)] == [
        (1, 6668, "2"), (6669, 14358, "3"), (14359, 18366, "1"), (18367, 29990, "3"), (29991, 39817, "1"),
        (39818, 52979, "2"), (52980, 60442, "1"), (60443, 63679, "2"), (63680, 65183, "3"), (65184, 65535, "2"),
    ]  # fmt: skip


def test_the_ring_with_a_hundred_points(make: Make) -> None:
    ring = Ring(100)
    ring.add(make("c1"))
    assert named(ring) == [(1, 65535, "c1")]
    ring.add(make("c2"))
    assert shares(ring) == {"c1": 30966, "c2": 34569}
    assert len(ring.ranges()) == 103
    ring.add(make("c3"))
    assert shares(ring) == {"c1": 20340, "c2": 21396, "c3": 23799}


def test_three_consumers_of_one_name_have_points_of_their_own(make: Make) -> None:
    ring = Ring(100)
    all_three = [make("consumer") for _ in range(3)]
    for one in all_three:
        ring.add(one)
    sizes = [sum(last - first + 1 for first, last, owner in ring.ranges() if owner is one) for one in all_three]
    assert sizes == [21508, 21958, 22069]


def test_who_rejoins_under_its_name_gets_its_old_slots_back(make: Make) -> None:
    ring = Ring(100)
    first, second, third = (make("consumer") for _ in range(3))
    for one in (first, second, third):
        ring.add(one)
    second_had = [row[:2] for row in ring.ranges() if row[2] is second]
    ring.remove(second)
    again = make("consumer")
    ring.add(again)
    assert [row[:2] for row in ring.ranges() if row[2] is again] == second_had
    for one in (first, third, again):
        ring.remove(one)
    assert (ring.ranges(), ring.select(5), ring.numbers, ring.owners, ring.order) == ([], None, {}, {}, [])


def test_names_that_run_together_with_numbers_do_not_share_points(make: Make) -> None:
    ring = Ring(100)
    ring.add(make("c1"))
    ring.add(make("c11"))
    points = [len(owners) for owners in ring.owners.values()]
    assert len(points) == 200
    assert set(points) == {1}


def test_of_two_on_one_point_the_earlier_keeps_it(make: Make) -> None:
    """With few slots points collide; whoever waits takes over when the one before it leaves."""
    ring = Ring(4, 3)
    first, second, third = make("a"), make("b"), make("c")
    for one in (first, second, third):
        ring.add(one)
    crowded = {at: [owner.name for owner in owners] for at, owners in ring.owners.items() if len(owners) > 1}
    assert crowded
    for at, names in crowded.items():
        assert ring.select(at).name == names[0]
        assert names == sorted(names)
    ring.remove(first)
    for at, names in crowded.items():
        left = [name for name in names if name != "a"]
        if left:
            assert ring.select(at).name == left[0]


def test_only_the_slots_of_who_joins_or_leaves_change_hands(make: Make) -> None:
    ring = Ring(20)
    there: list[Consumer] = []

    def owners() -> list[Consumer]:
        return [ring.select(at) for at in range(1, RING_SLOTS + 1, 7)]

    for number in range(8):
        before = owners() if there else []
        joined = make(f"c{number % 5}")
        ring.add(joined)
        there.append(joined)
        assert all(now is was or now is joined for was, now in zip(before, owners(), strict=False))
    while len(there) > 1:
        before = owners()
        gone = there.pop(0)
        ring.remove(gone)
        assert all(now is was or was is gone for was, now in zip(before, owners(), strict=True))


@pytest.mark.parametrize(
    ("consumers", "low", "high"), [(3, 0.87, 1.12), (5, 0.93, 1.22), (10, 0.91, 1.19), (20, 0.84, 1.14)]
)
def test_the_ring_shares_evenly(make: Make, consumers: int, low: float, high: float) -> None:
    ring = Ring(100)
    for number in range(consumers):
        ring.add(make(f"consumer-{number}"))
    mean = RING_SLOTS / consumers
    sizes = shares(ring).values()
    assert (round(min(sizes) / mean, 2), round(max(sizes) / mean, 2)) == (low, high)


# The widest split.


def split_of(make: Make, *steps: str) -> WidestSplit:
    split = WidestSplit()
    known: dict[str, Consumer] = {}
    for step in steps:
        if step[0] == "+":
            known[step[1:]] = make(step[1:])
            split.add(known[step[1:]])
        else:
            split.remove(known.pop(step[1:]))
    return split


def bounds(split: WidestSplit) -> list[tuple[int, str]]:
    return [(last, name) for _, last, name in named(split)]


def test_the_widest_range_is_split(make: Make) -> None:
    split = split_of(make, "+c1", "+c2", "+c3", "+c4", "+c5")
    assert bounds(split) == [(8192, "c5"), (16384, "c3"), (32768, "c2"), (49152, "c4"), (65536, "c1")]
    assert split.ranges()[0][0] == 0
    assert split.ranges()[1][0] == 8193


def test_whoever_leaves_is_replaced_by_the_next_higher_and_the_top_by_the_next_lower(make: Make) -> None:
    assert bounds(split_of(make, "+c1", "+c2", "+c3", "-c1")) == [(16384, "c3"), (65536, "c2")]
    assert bounds(split_of(make, "+c1", "+c2", "-c2")) == [(65536, "c1")]
    assert bounds(split_of(make, "+c1", "+c2", "-c1", "-c2")) == []
    assert split_of(make, "+c1", "-c1").select(7) is None


def test_ten_joined_and_three_left(make: Make) -> None:
    split = split_of(make, *(f"+c{n}" for n in range(1, 11)), "-c1", "-c3", "-c5")
    assert shares(split) == {
        "c9": 4097, "c10": 8192, "c6": 12288, "c2": 8192, "c7": 8192, "c4": 8192, "c8": 16384,
    }  # fmt: skip


def test_every_slot_of_the_split_has_the_owner_that_its_ranges_say(make: Make) -> None:
    split = split_of(make, "+a", "+b", "+c", "-b", "+d", "-a")
    for first, last, owner in split.ranges():
        for at in (first, last):
            assert split.select(at) is owner


def test_when_ranges_are_one_slot_wide_nobody_can_join(make: Make) -> None:
    split = WidestSplit()
    split.add(make("first"))
    split.bounds = list(range(1, SPLIT_SLOTS + 1))
    split.owners = [split.owners[0]] * SPLIT_SLOTS
    with pytest.raises(ConsumerAssignFailed):
        split.add(make("late"))
    assert len(split.bounds) == SPLIT_SLOTS


# STICKY ranges.


@pytest.mark.parametrize(
    "ranges",
    [[], [(5, 4)], [(-1, 4)], [(0, 10), (10, 20)], [(0, 100), (50, 60)], [(5, 5), (5, 5)], [(30, 40), (0, 35)]],
)
def test_ranges_that_cannot_be(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(ConsumerAssignFailed):
        check_ranges(ranges)


@pytest.mark.parametrize("ranges", [[(0, 0)], [(0, 10), (11, 20)], [(40, 50), (0, 39)], [(0, 65535)], [(65535, 70000)]])
def test_ranges_that_can_be(ranges: list[tuple[int, int]]) -> None:
    check_ranges(ranges)


@pytest.mark.parametrize(
    ("wanted", "conflicts"),
    [
        ((10, 19), True), ((0, 10), True), ((19, 30), True), ((12, 15), True), ((0, 65535), True), ((10, 10), True),
        ((0, 9), False), ((20, 20), False), ((21, 65535), False),
    ],
)  # fmt: skip
def test_conflicts_with_another_consumers_ranges(make: Make, wanted: tuple[int, int], conflicts: bool) -> None:
    sticky = StickyRanges()
    holder, late = make("holder"), make("late")
    holder.key_ranges = [(10, 19), (40_000, 40_000)] if wanted[1] < 40_000 else [(10, 19)]
    late.key_ranges = [wanted]
    sticky.add(holder)
    if conflicts:
        with pytest.raises(ConsumerAssignFailed, match="Range conflict with consumer holder"):
            sticky.add(late)
        assert [owner.name for _, _, owner in sticky.ranges()] == ["holder"] * len(holder.key_ranges)
    else:
        sticky.add(late)
        assert sticky.select(wanted[0]) is sticky.select(wanted[1]) is late


def test_a_slot_that_nobody_named_has_no_consumer(make: Make) -> None:
    sticky = StickyRanges()
    one = make("one")
    one.key_ranges = [(100, 200), (300, 300)]
    sticky.add(one)
    assert [sticky.select(at) is one for at in (99, 100, 200, 201, 299, 300, 301, 65535)] == [
        False, True, True, False, False, True, False, False,
    ]  # fmt: skip
    sticky.remove(one)
    assert sticky.select(150) is None
