"""Percentiles, spreads, ratios and verdicts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.stats import MET, MISSED, NO_TARGET, Goal, percentile, ratio, spread, verdict


def test_percentiles_are_values_that_were_seen() -> None:
    values = [float(number) for number in range(1, 101)]
    assert [percentile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 50.0, 99.0, 100.0]
    assert percentile([3.0], 0.99) == 3.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_percentile_covers_its_share(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


def test_spread_is_a_share_of_the_median() -> None:
    assert spread([90.0, 100.0, 120.0]) == pytest.approx(0.3)
    assert spread([0.0, 0.0]) == 0.0


def test_a_ratio_needs_both_sides() -> None:
    assert ratio(6.0, 3.0) == 2.0
    assert ratio(None, 3.0) is None
    assert ratio(6.0, None) is None
    assert ratio(6.0, 0.0) is None


def test_one_met_goal_is_enough_and_nothing_measured_is_missed() -> None:
    slow, fast, absent = Goal("a", 1.0, at_least=2.0), Goal("b", 3.0, at_least=3.0), Goal("c", None, below=9.0)
    assert verdict([slow, fast]) == MET
    assert verdict([slow]) == verdict([absent]) == MISSED
    assert verdict([]) == NO_TARGET


def test_below_is_strict() -> None:
    assert not Goal("a", 70.0, below=70.0).met
    assert Goal("a", 69.9, below=70.0).met
