"""The planted faults: each breaks a promise of the broker in one place, and each must be noticed."""

from __future__ import annotations

from tests.sim.faults.active import ACTIVE
from tests.sim.faults.answers import ANSWERS
from tests.sim.faults.counts import COUNTS
from tests.sim.faults.cursors import CURSORS
from tests.sim.faults.keys import KEYS
from tests.sim.faults.publishing import PUBLISHING
from tests.sim.plant import Planted

__all__ = ["FAULTS"]

FAULTS: tuple[Planted, ...] = (*KEYS, *COUNTS, *CURSORS, *PUBLISHING, *ACTIVE, *ANSWERS)
"""In the order of the promises that they break."""
