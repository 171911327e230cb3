"""Every rule has been seen to fail: each planted fault is noticed within the number of seeds that it states."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.faults import FAULTS
from tests.sim.plant import Planted, hunt


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_noticed(fault: Planted, tmp_path: Path) -> None:
    found = hunt(fault, tmp_path)
    assert found is not None, f"{fault.story}: nothing was noticed in {fault.seeds} seeds"
    assert found.rule in fault.rules, f"{fault.story}: {found}"
