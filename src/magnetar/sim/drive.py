"""Carries actions out. A number that finds nothing to act on does nothing."""

from __future__ import annotations

from magnetar.sim.actions import Action
from magnetar.sim.doing.clients import CLIENTS
from magnetar.sim.doing.connections import CONNECTIONS
from magnetar.sim.doing.operators import OPERATORS
from magnetar.sim.doing.outside import OUTSIDE
from magnetar.sim.doing.pick import Act
from magnetar.sim.world import World

__all__ = ["ACTS", "apply"]

ACTS: dict[str, Act] = {**CLIENTS, **CONNECTIONS, **OPERATORS, **OUTSIDE}


def apply(world: World, action: Action) -> None:
    """Carry the action out, and let a little time go by."""
    name, a, b, c = action
    ACTS[name](world, a, b, c)
    if a & 3 == 0:
        world.advance(1 + (b & 3))
