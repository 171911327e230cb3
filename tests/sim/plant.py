"""Runs the simulator over a copy of the package in which one place of the source is altered.

A copy, because compiled classes cannot be patched: only the ``.py`` files are taken along, the alteration is made, and a
process of its own runs the seeds there until a rule is broken.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import magnetar

__all__ = ["Found", "Planted", "hunt", "plant"]

_HUNTER = """
import json, sys
from magnetar.sim.actions import draw_actions
from magnetar.sim.run import run
from magnetar.sim.scenario import draw
world, seeds, options, weights = json.loads(sys.argv[1])
for seed in range(seeds):
    scenario = draw(world, seed)
    scenario.options.update(options)
    scenario.weights.update(weights)
    outcome = run(scenario, draw_actions(scenario))
    if outcome.violation is not None:
        found = {"seed": seed, "rule": outcome.violation.rule, "text": outcome.violation.text}
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


@dataclass(frozen=True)
class Found:
    """What noticed it, and in which seed."""

    seed: int
    rule: str
    text: str


def plant(fault: Planted, folder: Path) -> Path:
    """The package with the fault, in ``folder``."""
    source = Path(magnetar.__file__).parent
    copy = folder / "magnetar"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    if fault.file:
        path = copy / fault.file
        text = path.read_text()
        assert text.count(fault.old) == 1, (
            f"{fault.name}: the place in {fault.file} is there {text.count(fault.old)} times"
        )
        path.write_text(text.replace(fault.old, fault.new))
    return folder


def hunt(fault: Planted, folder: Path) -> Found | None:
    """Run seeds over the planted fault until a rule is broken."""
    plant(fault, folder)
    wanted = json.dumps([fault.world, fault.seeds, fault.options, fault.weights])
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", _HUNTER, wanted], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return Found(**json.loads(ran.stdout)) if ran.stdout else None
