"""Every rule has been seen to fail: each planted fault is noticed within the number of seeds that it states."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import magnetar.sim
from tests.sim.faults import FAULTS
from tests.sim.plant import Planted, hunt


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_noticed(fault: Planted, tmp_path: Path) -> None:
    found = hunt(fault, tmp_path)
    assert found is not None, f"{fault.story}: nothing was noticed in {fault.seeds} seeds"
    assert found.rule in fault.rules, f"{fault.story}: {found}"


def rules_in_source() -> set[str]:
    """The names of all rules: what a Violation is made with."""
    found = set()
    for path in Path(magnetar.sim.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Violation":
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{path.name}:{node.lineno}: the rule is not named there"
                found.add(str(name.value))
    return found


def test_every_rule_has_a_fault_that_only_it_may_notice() -> None:
    assert {fault.rules[0] for fault in FAULTS if len(fault.rules) == 1} == rules_in_source()


def test_faults_name_rules_that_there_are() -> None:
    assert {rule for fault in FAULTS for rule in fault.rules} == rules_in_source()
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_the_guide_lists_the_rules_that_there_are() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "simulator.md"
    listed = re.findall(r"^\| `(\w+)` \|", guide.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(rules_in_source())
