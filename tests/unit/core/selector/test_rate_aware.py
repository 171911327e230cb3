"""The rate-aware selector: who gives on a join, who inherits on a leave, and where rates say nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from magnetar.core.selector.load import HALF_LIFE_MS
from magnetar.core.selector.rateaware import DECISIONS_MAX
from tests.unit.core.selector.crowd import LAST, Crowd

HALF, QUARTER = 32_768, 16_384


def test_the_picture_of_pip_32() -> None:
    crowd = Crowd()
    crowd.join("C1")
    assert crowd.ranges() == {"C1": (0, LAST)}
    crowd.send(0, LAST, 65_536)
    crowd.join("C2")
    assert crowd.ranges() == {"C1": (0, HALF - 1), "C2": (HALF, LAST)}
    crowd.send(HALF, LAST, 65_536)
    crowd.join("C3")
    assert crowd.ranges() == {"C1": (0, HALF - 1), "C2": (HALF, HALF + QUARTER - 1), "C3": (HALF + QUARTER, LAST)}
    crowd.leave("C1")
    assert crowd.ranges() == {"C2": (0, HALF + QUARTER - 1), "C3": (HALF + QUARTER, LAST)}
    crowd.leave("C2")
    assert crowd.ranges() == {"C3": (0, LAST)}


def test_the_busiest_is_cut_where_half_of_its_load_is_reached() -> None:
    crowd = Crowd()
    crowd.join("a", "b")
    crowd.send(0, HALF - 1, 100)
    crowd.send(HALF, HALF + 1_599, 600)
    crowd.send(HALF + 1_600, LAST, 200)
    crowd.join("c")
    first, last = crowd.ranges()["c"]
    assert last == LAST
    assert first == HALF + 1_072  # 400 of 600 messages lie in the first two thirds of 1,600 slots
    assert crowd.rates()["b"] == pytest.approx(crowd.rates()["c"], rel=0.02)
    assert crowd.selector.decisions[-1].other == "b"
    assert "the highest rate" in crowd.selector.decisions[-1].why


def test_without_loads_the_widest_is_halved_and_the_narrower_neighbour_inherits() -> None:
    crowd = Crowd()
    crowd.join("a", "b", "c")
    assert crowd.ranges() == {"a": (0, QUARTER - 1), "c": (QUARTER, HALF - 1), "b": (HALF, LAST)}
    crowd.leave("c")
    assert crowd.ranges() == {"a": (0, HALF - 1), "b": (HALF, LAST)}
    crowd.join("c", "d", "e")
    crowd.leave("d")
    assert all(last - first + 1 >= QUARTER // 2 for first, last in crowd.ranges().values())


def test_equal_rates_do_not_let_the_slightly_busier_give_more_than_the_widest() -> None:
    crowd = Crowd()
    crowd.join("a", "b", "c")
    crowd.send(*crowd.ranges()["a"], 1_050)
    crowd.send(*crowd.ranges()["c"], 1_000)
    crowd.send(*crowd.ranges()["b"], 1_000)
    crowd.join("d")
    assert crowd.selector.decisions[-1].other == "b"
    before = crowd.ranges()
    crowd.join("e")
    crowd.leave("e")
    assert crowd.ranges() == before


def test_who_leaves_is_inherited_by_the_neighbour_with_the_lower_rate() -> None:
    for busy, heir in (("a", "b"), ("b", "a")):
        crowd = Crowd()
        crowd.join("a", "b", "c")
        assert list(crowd.ranges()) == ["a", "c", "b"]
        crowd.send(*crowd.ranges()[busy], 1_000)
        crowd.send(*crowd.ranges()[heir], 500)
        theirs = crowd.ranges()["c"]
        crowd.leave("c")
        low, high = crowd.ranges()[heir]
        assert low <= theirs[0] <= theirs[1] <= high
        assert "the lower rate" in crowd.selector.decisions[-1].why


def test_a_range_that_is_busy_with_one_key_is_not_cut() -> None:
    crowd = Crowd()
    crowd.join("a", "b")
    crowd.send(100, 100, 5_000)
    crowd.send(HALF, LAST, 1_000)
    crowd.join("c")
    assert crowd.ranges()["a"] == (0, HALF - 1)
    assert "single key" in crowd.selector.decisions[-1].why


def test_rates_forget() -> None:
    crowd = Crowd()
    crowd.join("a", "b")
    for _ in range(240):
        crowd.send(0, HALF - 1, 100)
        crowd.pass_ms(1_000)
    assert crowd.rates()["a"] == pytest.approx(100, rel=0.02)
    for _ in range(4):
        before = crowd.rates()["a"]
        crowd.pass_ms(HALF_LIFE_MS)
        assert crowd.rates()["a"] == pytest.approx(before / 2, rel=0.01)
    crowd.send(HALF, LAST, 2_000)
    assert crowd.rates()["b"] > crowd.rates()["a"]
    crowd.pass_ms(1 << 50)
    assert sum(crowd.rates().values()) < 1e-9
    crowd.send(0, HALF - 1, 100)
    assert crowd.rates()["a"] > 0


def test_a_range_can_be_cut_down_to_one_slot_and_decisions_are_bounded() -> None:
    crowd = Crowd()
    crowd.join("first")
    crowd.send(0, LAST, 65_536)
    crowd.join(*(f"c{number}" for number in range(300)))
    crowd.send(5, 5, 1_000_000)
    crowd.join(*(f"d{number}" for number in range(20)))
    rows = crowd.selector.ranges()
    assert rows[0][0] == 0
    assert rows[-1][1] == LAST
    assert all(low[1] + 1 == high[0] for low, high in pairwise(rows))
    assert len(crowd.selector.decisions) == DECISIONS_MAX
