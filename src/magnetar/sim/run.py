"""Run a seed: carry out its actions, look at the books now and then, and at the end ask for quiet."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from magnetar.sim.actions import Action, draw_actions
from magnetar.sim.audit import audit
from magnetar.sim.book import Violation
from magnetar.sim.drive import apply
from magnetar.sim.quiet import quiet
from magnetar.sim.scenario import Scenario, draw
from magnetar.sim.world import World

__all__ = ["Outcome", "run", "run_seed"]

AUDIT_EVERY = 16


@dataclass(slots=True)
class Outcome:
    """How a run ended."""

    scenario: Scenario
    actions: list[Action]
    """What was carried out, up to the violation."""
    violation: Violation | None
    deliveries: int
    digest: str
    """Of every byte that left the broker, when it was asked for."""


def run_seed(world: str, seed: int, steps: int = 300) -> Outcome:
    """Run the world of a seed."""
    scenario = draw(world, seed, steps)
    return run(scenario, draw_actions(scenario))


def run(
    scenario: Scenario, actions: Iterable[Action], *, digest: bool = False, audit_every: int = AUDIT_EVERY
) -> Outcome:
    """Carry out the actions in the scenario's world."""
    done: list[Action] = []
    said = sha256()
    found: Violation | None = None
    world: World | None = None
    try:
        world = World(scenario)
        if digest:
            world.watch = said.update
        for action in actions:
            done.append(action)
            apply(world, action)
            if len(done) % audit_every == 0:
                audit(world)
        quiet(world)
    except Violation as violation:
        found = violation
    except Exception as error:  # noqa: BLE001  (whatever the core raises is what is looked for)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('magnetar/')[2]}:{last.lineno}"
        found = Violation("no_exception", f"{type(error).__name__}: {error} (at {where})")
        found.__cause__ = error
    return Outcome(scenario, done, found, world.deliveries if world is not None else 0, said.hexdigest())
