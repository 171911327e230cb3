"""Percentiles, medians, spreads, and whether a figure met its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MET = "met"
MISSED = "MISSED"
NO_TARGET = "-"


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the smallest value that at least `fraction` of all values do not exceed."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    rank = -(-len(ordered) * fraction // 1)
    return ordered[min(len(ordered), max(1, int(rank))) - 1]


def spread(values: Sequence[float]) -> float:
    """Return the distance of the extremes as a share of the median: 0.1 means ten percent between best and worst."""
    middle = median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def ratio(ours: float | None, rival: float | None) -> float | None:
    """Return ours over theirs, or None where one of the two did not answer."""
    if ours is None or rival is None or rival <= 0:
        return None
    return ours / rival


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure, and the bound it has to reach or to stay below; `value` is None where nothing was measured."""

    text: str
    value: float | None
    at_least: float | None = None
    below: float | None = None

    @property
    def met(self) -> bool:
        """Tell whether the figure is there and on the right side of its bound."""
        if self.value is None:
            return False
        above = self.at_least is None or self.value >= self.at_least
        return above and (self.below is None or self.value < self.below)


def verdict(goals: Sequence[Goal]) -> str:
    """Judge a row: one met goal is enough, since a target with two goals reads "this or that"."""
    if not goals:
        return NO_TARGET
    return MET if any(goal.met for goal in goals) else MISSED
