"""The simulator itself: the same seed is the same run anywhere, traces can be written down, and runs are cut down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from magnetar.sim.actions import draw_actions
from magnetar.sim.run import run, run_seed
from magnetar.sim.scenario import WORLDS, Place, Scenario, draw
from tests.sim.faults import FAULTS
from tests.sim.plant import copy_package, run_python, trace_of

_DIGESTS = """
import sys
from magnetar.sim.actions import draw_actions
from magnetar.sim.run import run
from magnetar.sim.scenario import WORLDS, draw
for world in WORLDS:
    for seed in range(4):
        scenario = draw(world, seed)
        print(world, seed, run(scenario, draw_actions(scenario), digest=True).digest)
"""


def test_a_seed_is_the_same_run_in_every_process_compiled_or_not(tmp_path: Path) -> None:
    copy_package(tmp_path)
    said = {
        run_python(_DIGESTS, folder=folder, PYTHONHASHSEED=seed) for folder in (None, tmp_path) for seed in ("1", "2")
    }
    assert len(said) == 1
    assert len(set(said.pop().splitlines())) == 4 * len(WORLDS)


def test_other_seeds_are_other_runs() -> None:
    digests = {run(draw("shared", seed), draw_actions(draw("shared", seed)), digest=True).digest for seed in range(5)}
    assert len(digests) == 5


@pytest.mark.parametrize("world", WORLDS)
def test_a_scenario_is_the_same_after_it_was_written_as_json(world: str) -> None:
    scenario = draw(world, 11)
    again = Scenario.from_json(json.loads(json.dumps(scenario.to_json())))
    assert again == scenario
    assert isinstance(again.places[0], Place)


@pytest.mark.parametrize("world", WORLDS)
def test_something_happens_in_every_world(world: str) -> None:
    outcomes = [run_seed(world, seed) for seed in range(10)]
    assert sum(outcome.deliveries for outcome in outcomes) > 500
    assert {len(outcome.actions) for outcome in outcomes} == {303}


def test_a_failing_run_is_cut_down_to_a_few_actions(tmp_path: Path) -> None:
    line = trace_of(next(fault for fault in FAULTS if fault.name == "permit_given"), tmp_path)
    names = [name for name, *_ in line["actions"]]
    # Somebody must be let in; asking for messages comes with the quiet at the end.
    assert set(names) <= {"join", "store", "commit", "flow"}, names
    assert 1 <= len(names) <= 6
