"""Every failure that was ever found stays found: its few actions are run again, on the broker as it is and as it was.

A line of ``regressions.jsonl`` keeps its meaning when seeds come to mean something else, because it has the scenario
and the actions themselves. ``python -m tests.sim.keep`` writes one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from magnetar.sim.run import run
from magnetar.sim.scenario import Scenario
from tests.sim.faults import FAULTS
from tests.sim.plant import plant, run_python

LINES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("regressions.jsonl").read_text().splitlines()
]
_REPLAY = """
import json, sys
from magnetar.sim.run import run
from magnetar.sim.scenario import Scenario
line = json.loads(sys.argv[1])
outcome = run(Scenario.from_json(line["scenario"]), map(tuple, line["actions"]), audit_every=1)
print(outcome.violation.rule if outcome.violation is not None else "")
"""

every_line = pytest.mark.parametrize("line", LINES, ids=lambda line: line["story"])


@every_line
def test_all_rules_hold_now(line: dict[str, Any]) -> None:
    actions = [(name, a, b, c) for name, a, b, c in line["actions"]]
    outcome = run(Scenario.from_json(line["scenario"]), actions, audit_every=1)
    assert outcome.violation is None, f"{line['story']}: {outcome.violation}"


@pytest.mark.parametrize("line", [line for line in LINES if "fault" in line], ids=lambda line: line["story"])
def test_the_trace_still_shows_the_fault(line: dict[str, Any], tmp_path: Path) -> None:
    plant(next(fault for fault in FAULTS if fault.name == line["fault"]), tmp_path)
    found = run_python(_REPLAY, json.dumps(line), folder=tmp_path).strip()
    assert found in line["rules"], f"{line['story']}: {found or 'nothing was noticed'}"
