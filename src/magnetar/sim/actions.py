"""Actions: what a world is told to do, as short tuples of a name and three numbers.

The numbers mean nothing by themselves. Whoever carries an action out takes them modulo what there is: the third
consumer of five, the second of the messages that it holds. So an action never depends on another, any of them can be
left out, and a list of them is all that is needed to see the same run again.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from itertools import accumulate
from random import Random

from magnetar.sim.scenario import Scenario

__all__ = ["Action", "draw_actions"]

Action = tuple[str, int, int, int]

_RANGE = 1 << 16


def draw_actions(scenario: Scenario) -> Iterable[Action]:
    """The actions of a scenario, in order."""
    chance = Random(f"actions {scenario.world} {scenario.seed}")
    names = [name for name, weight in scenario.weights.items() if weight]
    edges = list(accumulate(scenario.weights[name] for name in names))
    yield from (("join", number, number, 0) for number in range(3))
    for _ in range(scenario.steps):
        name = names[bisect(edges, chance.random() * edges[-1])]
        bits = chance.getrandbits(48)
        yield name, bits % _RANGE, (bits >> 16) % _RANGE, bits >> 32
