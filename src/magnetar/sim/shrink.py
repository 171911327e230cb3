"""Shrinking: take actions away from a failing run for as long as the same rule is violated.

First halves, then quarters, down to single actions and again until none can be spared; then the numbers of what is
left are made small. What remains is not the shortest run there is, but short enough to be read.
"""

from __future__ import annotations

from collections.abc import Callable

from magnetar.sim.actions import Action
from magnetar.sim.run import Outcome, run

__all__ = ["shrink"]

RUNS_MAX = 3_000


def shrink(outcome: Outcome, tell: Callable[[int], None] | None = None) -> Outcome:
    """A shorter run of the same scenario that violates the same rule; ``tell`` hears how long it is now."""
    assert outcome.violation is not None
    rule = outcome.violation.rule
    best = outcome
    runs = 0

    def fails(actions: list[Action]) -> bool:
        nonlocal best, runs
        runs += 1
        found = run(outcome.scenario, actions, audit_every=1)
        if found.violation is None or found.violation.rule != rule:
            return False
        best = found
        if tell is not None:
            tell(len(found.actions))
        return True

    fails(outcome.actions)
    size = max(len(best.actions) // 2, 1)
    while runs < RUNS_MAX:
        before, at = len(best.actions), 0
        while at < len(best.actions) and runs < RUNS_MAX:
            actions = best.actions
            if not fails(actions[:at] + actions[at + size :]):
                at += size
        if size == 1 and len(best.actions) == before:
            break
        size = max(size // 2, 1)
    for at in range(len(best.actions)):
        for place in (1, 2, 3):
            for smaller in (0, 1, 2):
                actions = best.actions
                if at < len(actions) and actions[at][place] > smaller and runs < RUNS_MAX:  # type: ignore[operator]
                    action = list(actions[at])
                    action[place] = smaller
                    if fails([*actions[:at], tuple(action), *actions[at + 1 :]]):  # type: ignore[list-item]
                        break
    return best
