"""Clients that ask for anything at any time, while commits and stores are late or fail; see ``crowd``."""

from __future__ import annotations

import os

import pytest

from tests.property.core.crowd import Crowd

SEEDS = 20_000 if os.environ.get("MAGNETAR_NIGHTLY") else 200
EACH = 50
"""Seeds in one test; a failure names the one."""


@pytest.mark.parametrize("first", range(0, SEEDS, EACH))
def test_the_books_balance_and_nothing_is_stuck_or_left(first: int) -> None:
    for seed in range(first, first + EACH):
        try:
            crowd = Crowd(seed)
            crowd.play(100)
            crowd.settle()
            crowd.leave()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
