"""The world of Key_Shared: at least 2,000 seeds in every run of the tests."""

from __future__ import annotations

import pytest

from tests.sim.worlds import hold, slices


@pytest.mark.parametrize("start", slices(2_000))
def test_all_rules_hold(start: int) -> None:
    hold("key_shared", start)
