"""``magnetar simulate``: the broker's core in simulated worlds, seed after seed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from magnetar.cli.simulate_runs import Progress, jobs_of, run_jobs
from magnetar.sim.run import Outcome, run
from magnetar.sim.scenario import WORLDS, Scenario
from magnetar.sim.shrink import shrink

__all__ = ["command"]


@click.command("simulate")
@click.option("--world", type=click.Choice([*WORLDS, "all"]), default="key_shared", show_default=True)
@click.option("--seed", type=int, help="Run this seed only.")
@click.option("--seeds", type=int, default=1_000, show_default=True, help="How many of each world; 0: until stopped.")
@click.option("--start", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--steps", type=int, default=300, show_default=True, help="Actions of each seed.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that share the seeds.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Where traces go.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Run a trace again.")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
def command(
    world: str,
    seed: int | None,
    seeds: int,
    start: int,
    steps: int,
    jobs: int,
    out: Path,
    replay: Path | None,
    as_json: bool,
) -> None:
    """Run the real broker core in a simulated world and check what must always hold.

    Everything that happens in a world follows from its seed: what clients do, when the log is slow or fails, when the
    process is killed. A seed that breaks a rule is cut down to the few steps that it takes, and written to a file.

    The exit code is 0 when every rule held, and 1 when one did not.
    """
    if replay is not None:
        _replay(replay)
        return
    worlds = WORLDS if world == "all" else (world,)
    first, count = (start, seeds) if seed is None else (seed, 1)
    progress = Progress(_tell)
    failed = run_jobs(jobs_of(worlds, first, count, steps), jobs, progress)
    result = {"world": world, **progress.numbers(), "violation": None}
    if failed is None:
        click.echo(json.dumps(result) if as_json else f"{progress.line()}: all rules held")
        return
    path = _cut_down(failed, out)
    if as_json:
        scenario = failed.scenario
        found = {"world": scenario.world, "seed": scenario.seed, "violation": str(failed.violation), "trace": str(path)}
        click.echo(json.dumps({**result, **found}))
    raise SystemExit(1)


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
