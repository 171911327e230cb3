"""Runs the simulator over a copy of the package in which one place of the source is altered.

A copy, because compiled classes cannot be patched: only the ``.py`` files are taken along, the alteration is made, and
a process of its own runs the seeds there until a rule is broken.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import magnetar
from magnetar.sim.run import AUDIT_EVERY
from magnetar.sim.scenario import Place

__all__ = ["Found", "Planted", "copy_package", "hunt", "plant", "run_python", "trace_of"]

_HUNTER = """
import json, sys
from magnetar.sim.actions import draw_actions
from magnetar.sim.run import run
from magnetar.sim.scenario import Place, draw
from magnetar.sim.shrink import shrink
world, seeds, options, weights, places, audit_every, cut_down = json.loads(sys.argv[1])
for seed in range(seeds):
    scenario = draw(world, seed)
    scenario.options.update(options)
    scenario.weights.update(weights)
    scenario.places = [Place(**place) for place in places] or scenario.places
    outcome = run(scenario, draw_actions(scenario), audit_every=audit_every)
    if outcome.violation is not None:
        found = {"seed": seed, "rule": outcome.violation.rule, "text": outcome.violation.text}
        if cut_down:
            found = {"scenario": scenario.to_json(), "actions": shrink(outcome).actions}
        print(json.dumps(found))
        break
"""


@dataclass(frozen=True)
class Planted:
    """A fault, where it is planted, and what must notice it."""

    name: str
    story: str
    file: str
    old: str
    new: str
    rules: tuple[str, ...]
    """Any of these may be the first to notice."""
    world: str = "key_shared"
    seeds: int = 30
    """Within so many seeds."""
    options: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    """These subscriptions instead of what the seed has."""
    audit_every: int = AUDIT_EVERY
    """Many, where clients must notice before the broker's books are looked at."""


@dataclass(frozen=True)
class Found:
    """What noticed it, and in which seed."""

    seed: int
    rule: str
    text: str


def copy_package(folder: Path) -> Path:
    """The package in ``folder``, as plain Python."""
    copy = folder / "magnetar"
    shutil.copytree(Path(magnetar.__file__).parent, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return copy


def plant(fault: Planted, folder: Path) -> None:
    """The package with the fault, in ``folder``."""
    copy = copy_package(folder)
    if fault.file:
        path = copy / fault.file
        text = path.read_text()
        there = text.count(fault.old)
        assert there == 1, f"{fault.name}: the place in {fault.file} is there {there} times"
        path.write_text(text.replace(fault.old, fault.new))


def run_python(program: str, *words: str, folder: Path | None = None, **environment: str) -> str:
    """What a program prints that runs in a process of its own, with the package of ``folder`` if one is given."""
    path = str(folder if folder is not None else Path(magnetar.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def hunt(fault: Planted, folder: Path) -> Found | None:
    """Run seeds over the planted fault until a rule is broken."""
    plant(fault, folder)
    found = run_python(_HUNTER, _order(fault, cut_down=False), folder=folder)
    return Found(**json.loads(found)) if found else None


def trace_of(fault: Planted, folder: Path) -> dict[str, Any]:
    """A line for the regression file: the few actions that show the fault."""
    plant(fault, folder)
    found: dict[str, Any] = json.loads(run_python(_HUNTER, _order(fault, cut_down=True), folder=folder))
    return {"story": fault.story, "rules": fault.rules, "fault": fault.name, **found}


def _order(fault: Planted, cut_down: bool) -> str:
    places = [asdict(place) for place in fault.places]
    return json.dumps([fault.world, fault.seeds, fault.options, fault.weights, places, fault.audit_every, cut_down])
