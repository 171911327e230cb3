"""The worlds of Shared, and of several subscriptions on two topics: at least 1,000 seeds each in every run."""

from __future__ import annotations

import pytest

from tests.sim.worlds import hold, slices


@pytest.mark.parametrize("start", slices(1_000))
@pytest.mark.parametrize("world", ["shared", "mixed"])
def test_all_rules_hold(world: str, start: int) -> None:
    hold(world, start)
