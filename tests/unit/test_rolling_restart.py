"""The judge of the rolling restart sees what it has to see, and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def play() -> Any:
    path = Path(__file__).resolve().parents[2] / "examples" / "rolling_restart.py"
    spec = importlib.util.spec_from_file_location("rolling_restart", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def judged(play: Any, text: str, ended: dict[str, int] | None = None) -> tuple[int, int, int]:
    """Deliveries, those at two workers, those out of order; ``a+1`` is worker a getting 1, ``a-1`` having done it."""
    notes = [
        play.Note(at, step[0], "key", int(step[2:]), step[1] == "-") for at, step in enumerate(text.split()) if step
    ]
    spans = play.held(notes, ended or {})
    return len(spans), len(list(play.at_two_workers(spans))), len(list(play.out_of_order(spans)))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("a+0 a-0 b+1 b-1", (2, 0, 0)),
        ("a+0 a+1 a-0 a-1 b+2 b-2", (3, 0, 0)),
        ("a+0 b+1 a-0 b-1", (2, 1, 0)),
        ("a+0 a+1 a-0 b+2 a-1 b-2", (3, 1, 0)),
        ("a+1 a-1 b+0 b-0", (2, 0, 1)),
        ("a+0 a-0 b+0 b-0 b+1 b-1", (3, 0, 0)),
        ("a+0 a-0 a+2 b+1 a-2 b-1", (3, 1, 1)),
        ("a+0 a+0 a-0 a-0 b+1 b-1", (3, 0, 0)),
        ("a+0 a+0 a-0 b+1 a-0 b-1", (3, 1, 0)),
    ],
)
def test_the_judge(play: Any, text: str, verdict: tuple[int, int, int]) -> None:
    assert judged(play, text) == verdict


def test_a_killed_worker_holds_until_it_is_killed(play: Any) -> None:
    assert judged(play, "a+0 b+0 b-0", {"a": 0}) == (2, 0, 0)
    assert judged(play, "a+0 b+0 b-0", {"a": 2}) == (2, 1, 0)
