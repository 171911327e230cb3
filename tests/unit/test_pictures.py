"""The pictures in the guides are what their runs show, and the runs show what the guides say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.pictures import ahead, drain, restart, slots
from tools.pictures.__main__ import FOLDER, PICTURES
from tools.pictures.play import Play

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_picture_is_what_its_run_draws(name: str) -> None:
    drawn = PICTURES[name]()
    ElementTree.fromstring(drawn)
    assert (FOLDER / name).read_text(encoding="utf-8") == drawn, "run make docs"


def test_no_picture_is_left_over() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(PICTURES)


def test_pictures_do_not_depend_on_the_hash_seed() -> None:
    program = "from tools.pictures.__main__ import PICTURES; print([draw() for draw in PICTURES.values()])"
    drawn = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(drawn) == 1


def _first_times(run: Play) -> dict[str, list[int]]:
    """Per key its numbers in the order in which they were first sent."""
    found: dict[str, list[int]] = {}
    for one in run.deliveries:
        if one.number not in found.setdefault(one.key, []):
            found[one.key].append(one.number)
    return found


def test_a_key_drains_and_its_neighbour_does_not() -> None:
    run = drain.play()
    ((since, until),) = run.drains[drain.HELD]
    assert drain.FREE not in run.drains
    for one in run.deliveries:
        assert not one.together_with
        if (one.key, one.worker) == (drain.HELD, "A"):
            assert one.until_ms <= until
        elif one.key == drain.HELD:
            assert one.since_ms >= until
        else:
            assert one.since_ms == run.published[one.key, one.number]
    assert since == drain.JOIN_MS


def test_a_restart_breaks_the_contract_only_with_the_classic_dispatcher() -> None:
    draining, classic = restart.play(classic=False), restart.play(classic=True)
    assert not any(one.together_with for one in draining.deliveries)
    assert not any(restart.overlaps(draining, key) for key in restart.KEYS)
    assert draining.drains
    assert any(one.together_with for one in classic.deliveries)
    assert any(restart.overlaps(classic, key) for key in restart.KEYS)
    assert all(numbers == sorted(numbers) for numbers in _first_times(draining).values())


def test_only_slots_of_who_comes_or_goes_move_and_a_name_gets_its_slots_back() -> None:
    before, joined, left, back = slots.moments()
    pairs = [(before, joined, {"C"}), (joined, left, {"A", "C"}), (left, back, {"B"})]
    for one, other, gainers in pairs:
        moved = [(a, b) for a, b in zip(one.owners, other.owners, strict=True) if a != b]
        assert moved
        assert {b for _, b in moved} <= gainers
    assert back.owners == joined.owners
    assert joined.draining
    assert all(joined.owners[slot] == "C" != holder for slot, holder in joined.draining)


def test_a_stuck_worker_holds_up_its_own_keys_only() -> None:
    shown, read_next = ahead.cells()
    waiting = [offset for offset, cell in enumerate(shown) if cell.state == ahead.WAITS]
    assert len(waiting) == ahead.LOOK_AHEAD
    assert {shown[offset].owner for offset in waiting} == {"B"}
    assert read_next == waiting[-1] + 1
    skimmed = [cell for cell in shown[read_next:] if cell.state in (ahead.HELD, ahead.ACKNOWLEDGED)]
    assert {cell.owner for cell in skimmed} == {"A", "C"}
    assert {cell.state for cell in shown if cell.owner == "B"} == {ahead.HELD, ahead.WAITS, ahead.PASSED, ahead.UNREAD}
