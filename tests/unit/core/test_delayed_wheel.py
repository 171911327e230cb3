"""The timing wheel of delayed entries: exact times, nothing lost, little memory."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from magnetar.core.ackset import AckSet
from magnetar.core.dispatch.delayed import PART_ENTRIES, Delayed

START = 1_700_000_000_000
NONE = AckSet()


def take_all(wheel: Delayed, acks: AckSet = NONE) -> list[int]:
    return [offset for offset, _ in wheel.take(1 << 30, acks)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("span", [50, 5_000, 3_600_000, 40 * 86_400_000, 1 << 50])
def test_everything_is_due_at_its_time_and_not_before(seed: int, span: int) -> None:
    chance = random.Random(seed)
    wheel, now = Delayed(START), START
    waiting: dict[int, int] = {}
    for offset in range(2_000):
        now += chance.choice((0, 0, 1, span // 500))
        while not wheel.advance(now, 100):
            pass
        for gone in take_all(wheel):
            assert waiting.pop(gone) <= now
        assert all(time > now for time in waiting.values())
        time = now + chance.randint(1, span)
        wheel.add(offset, time, offset & 0x7FFFFFFF)
        waiting[offset] = time
    while waiting:
        due = wheel.next_ms()
        assert due <= min(waiting.values()), "nobody would come back in time"
        assert due > now
        assert wheel.first_ms() == min(waiting.values())
        now = due
        wheel.advance(now, 1 << 30)
        for offset, key_hash in wheel.take(1 << 30, NONE):
            assert key_hash == offset & 0x7FFFFFFF
            assert waiting.pop(offset) <= now
    assert (len(wheel), wheel.next_ms(), wheel.first_ms()) == (0, -1, -1)


def test_entries_of_one_time_come_in_order_of_offset() -> None:
    wheel = Delayed(START)
    for offset in range(5_000):
        wheel.add(offset, START + 86_400_000, 0)
    wheel.advance(START + 86_300_000, 1 << 30)
    wheel.advance(START + 86_400_000, 1 << 30)
    assert take_all(wheel) == list(range(5_000))


def test_spreading_goes_in_portions() -> None:
    wheel = Delayed(START)
    for offset in range(10 * PART_ENTRIES):
        wheel.add(offset, START + 1_000_000 + offset % 900, 0)
    rounds = 0
    while not wheel.advance(START + 999_999, PART_ENTRIES):
        rounds += 1
    assert rounds >= 9
    assert take_all(wheel) == []
    assert len(wheel) == 10 * PART_ENTRIES


def test_what_comes_while_a_slot_is_spread_is_not_lost() -> None:
    wheel = Delayed(START)
    for offset in range(3 * PART_ENTRIES):
        wheel.add(offset, START + 1_000_000 + offset % 900, 0)
    assert not wheel.advance(START + 999_990, 1)
    wheel.add(99_999, START + 1_000_010, 0)
    assert not wheel.advance(START + 1_000_009, 1)
    while not wheel.advance(START + 1_000_009, PART_ENTRIES):
        pass
    assert 99_999 not in take_all(wheel)
    while not wheel.advance(START + 1_000_010, PART_ENTRIES):
        pass
    assert 99_999 in take_all(wheel)


def test_a_clock_that_is_set_back_hides_nothing() -> None:
    wheel = Delayed(START)
    wheel.advance(START + 10_000, 100)
    wheel.add(1, START + 5_000, 0)
    assert wheel.next_ms() <= START + 10_000
    wheel.advance(START + 10_000, 100)
    assert take_all(wheel) == [1]


def test_taking_some_and_giving_some_back_keeps_the_order() -> None:
    wheel = Delayed(START)
    for offset in range(10):
        wheel.add(offset, START + 1, offset)
    wheel.advance(START + 1, 100)
    assert wheel.take(3, NONE) == [(0, 0), (1, 1), (2, 2)]
    wheel.give_back([(1, 1)])
    assert len(wheel) == 8
    assert take_all(wheel) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert len(wheel) == 0


def test_acknowledged_ones_are_passed_over_and_swept() -> None:
    wheel, acks = Delayed(START), AckSet()
    for offset in range(4 * PART_ENTRIES):
        wheel.add(offset, START + 100 + offset, 0)
    for offset in range(1, 3 * PART_ENTRIES):
        acks.add(offset)
        wheel.acked(acks)
        assert len(wheel) == 4 * PART_ENTRIES - offset
    assert wheel.entries < 3 * PART_ENTRIES, "the dead are kept for ever"
    wheel.advance(START + 1_000_000, 1 << 30)
    assert take_all(wheel, acks) == [0, *range(3 * PART_ENTRIES, 4 * PART_ENTRIES)]
    assert (len(wheel), wheel.dead, wheel.entries) == (0, 0, 0)


def test_release_makes_everything_due() -> None:
    wheel = Delayed(START)
    for offset in range(100):
        wheel.add(offset, START + (1 << offset % 40), 0)
    wheel.release()
    assert sorted(take_all(wheel)) == list(range(100))
    assert wheel.next_ms() == -1


@pytest.mark.parametrize("spread_ms", [1, 1_000, 86_400_000])
def test_an_entry_costs_less_than_thirty_bytes(spread_ms: int) -> None:
    entries = 100_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        wheel = Delayed(START)
        for offset in range(entries):
            wheel.add(offset, START + 3_600_000 + offset * 7919 % spread_ms, offset)
        tracemalloc.reset_peak()
        while not wheel.advance(START + 3_600_000 - 1, 10_000):
            pass
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert len(wheel) == entries
    assert peak / entries < 30
