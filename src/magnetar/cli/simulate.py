"""``magnetar simulate``: the broker's core in simulated worlds, seed after seed."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from magnetar.sim.run import Outcome, run, run_seed
from magnetar.sim.scenario import WORLDS, Scenario
from magnetar.sim.shrink import shrink

__all__ = ["command"]

TELL_EVERY_S = 2.0


@click.command("simulate")
@click.option("--world", type=click.Choice(WORLDS), default="key_shared", show_default=True, help="Which world.")
@click.option("--seed", type=int, help="Run this seed only.")
@click.option("--seeds", type=int, default=1_000, show_default=True, help="How many seeds; 0: until you stop it.")
@click.option("--start", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--steps", type=int, default=300, show_default=True, help="Actions of each seed.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("."), help="Where traces go.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Run a trace again.")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
def command(
    world: str, seed: int | None, seeds: int, start: int, steps: int, out: Path, replay: Path | None, as_json: bool
) -> None:
    """Run the real broker core in a simulated world and check what must always hold.

    Everything that happens in a world follows from its seed: what clients do, when the log is slow or fails, when the
    process is killed. A seed that breaks a rule is cut down to the few steps that it takes, and written to a file.

    The exit code is 0 when every rule held, and 1 when one did not.
    """
    if replay is not None:
        _replay(replay)
        return
    picked: Iterable[int] = range(start, start + seeds) if seeds else itertools.count(start)
    began, told = time.monotonic(), time.monotonic()
    count = done = delivered = 0
    failed: Outcome | None = None
    try:
        for number in [seed] if seed is not None else picked:
            outcome = run_seed(world, number, steps)
            count += 1
            done += len(outcome.actions)
            delivered += outcome.deliveries
            if outcome.violation is not None:
                failed = outcome
                break
            if time.monotonic() - told >= TELL_EVERY_S:
                told = time.monotonic()
                _tell(f"{count} seeds, {done} steps, {_per_minute(done, told - began)} steps a minute")
    except KeyboardInterrupt:
        _tell("stopped")
    seconds = time.monotonic() - began
    result = {"world": world, "seeds": count, "steps": done, "deliveries": delivered, "violation": None}
    if failed is None:
        if as_json:
            click.echo(json.dumps(result))
        else:
            rate = _per_minute(done, seconds)
            click.echo(
                f"{count} seeds of {world}, {done} steps, {delivered} deliveries, {rate} steps a minute: all rules held"
            )
        return
    path = _cut_down(failed, out)
    if as_json:
        click.echo(
            json.dumps({**result, "seed": failed.scenario.seed, "violation": str(failed.violation), "trace": str(path)})
        )
    raise SystemExit(1)


def _per_minute(steps: int, seconds: float) -> int:
    return round(steps / seconds * 60) if seconds > 0 else 0


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _cut_down(outcome: Outcome, out: Path) -> Path:
    """Say what was found, look for fewer steps that do the same, and write them down."""
    scenario = outcome.scenario
    _tell(f"seed {scenario.seed} of {scenario.world} breaks a rule after {len(outcome.actions)} steps")
    _tell(f"  {outcome.violation}")
    _tell(
        f"to see it again: magnetar simulate --world {scenario.world} --seed {scenario.seed} --steps {scenario.steps}"
    )
    short = shrink(outcome, lambda size: click.echo(f"\rcutting down: {size} steps ", nl=False, err=True))
    _tell("")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{scenario.world}-{scenario.seed}.json"
    trace = {"violation": str(short.violation), "scenario": scenario.to_json(), "actions": short.actions}
    path.write_text(json.dumps(trace, indent=1) + "\n")
    for action in short.actions:
        _tell("  " + " ".join(map(str, action)))
    _tell(f"  {short.violation}")
    _tell(f"to see the {len(short.actions)} steps again: magnetar simulate --replay {path}")
    return path


def _replay(path: Path) -> None:
    trace = json.loads(path.read_text())
    actions = [(str(name), int(a), int(b), int(c)) for name, a, b, c in trace["actions"]]
    outcome = run(Scenario.from_json(trace["scenario"]), actions, audit_every=1)
    if outcome.violation is None:
        click.echo(f"{len(actions)} steps: all rules held")
        return
    click.echo(str(outcome.violation))
    sys.exit(1)
