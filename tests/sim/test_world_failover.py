"""The worlds with one active consumer: at least 1,000 seeds each in every run of the tests."""

from __future__ import annotations

import pytest

from tests.sim.worlds import hold, slices


@pytest.mark.parametrize("start", slices(1_000))
@pytest.mark.parametrize("world", ["failover", "exclusive"])
def test_all_rules_hold(world: str, start: int) -> None:
    hold(world, start)
