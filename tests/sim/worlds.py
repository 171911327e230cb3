"""Runs slices of a world's seeds; what a failure says is all that it takes to look at it."""

from __future__ import annotations

from magnetar.sim.run import run_seed
from magnetar.sim.shrink import shrink

__all__ = ["SLICE", "hold", "slices"]

SLICE = 50


def slices(seeds: int) -> range:
    """Where the slices of so many seeds begin."""
    return range(0, seeds, SLICE)


def hold(world: str, start: int) -> None:
    """All rules hold in the seeds of the slice."""
    for seed in range(start, start + SLICE):
        outcome = run_seed(world, seed)
        if outcome.violation is not None:
            short = shrink(outcome)
            trace = "\n".join(map(str, short.actions))
            command = f"magnetar simulate --world {world} --seed {seed}"
            raise AssertionError(f"{outcome.violation}\n{trace}\n{short.violation}\nto see it again: {command}")
