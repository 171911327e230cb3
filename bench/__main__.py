"""``python -m bench``: every row of speed and memory, ours beside the rivals, in one run."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import admin, delayed, footprint, keyshared, rates, scrape, watching
from bench.arena import Arena, Row, say
from bench.brokers import OURS, Broker, rival_command
from bench.disk import in_memory, small_sync_ms
from bench.stats import MISSED
from bench.table import machine, render, write_json

Measure = Callable[[Arena], Row | list[Row]]

ROWS: dict[str, Measure] = {
    "publish": rates.publish,
    "consume": rates.consume,
    "both": rates.both,
    "key_shared": rates.key_shared,
    "key_shared_cost": keyshared.cost,
    "key_shared_stalls": keyshared.stalls,
    "draining_memory": keyshared.drains,
    "publish_batch": rates.publish_batch,
    "consume_batch": rates.consume_batch,
    "growth_publish_topics": partial(rates.growth, operation="publish", what="topics"),
    "growth_publish_connections": partial(rates.growth, operation="publish", what="connections"),
    "growth_consume_topics": partial(rates.growth, operation="consume", what="topics"),
    "growth_consume_connections": partial(rates.growth, operation="consume", what="connections"),
    "latency": footprint.latency,
    "start": footprint.start_and_idle,
    "backlog": footprint.backlog,
    "topics": footprint.many_topics,
    "watch": watching.watched_topics,
    "metrics": scrape.longest_stall,
    "delayed": delayed.memory,
    "admin_stats": admin.stats,
    "admin_load": admin.load,
}


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    out = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    out.add_argument("--quick", action="store_true", help="small loads and one round")
    out.add_argument("--only", action="append", choices=tuple(ROWS), metavar="ROW", help=", ".join(ROWS))
    out.add_argument("--rounds", type=int, default=0, help="runs of each contender in a row; 3, or 1 when quick")
    out.add_argument("--json", type=Path, metavar="FILE", help="write every sample there as well")
    out.add_argument("--dir", type=Path, metavar="DIR", help="where the brokers keep their data while they run")
    out.add_argument("--ours", default=OURS, metavar="COMMAND", help="with {data}, {port} and {http} in it")
    out.add_argument("--no-rival", action="store_true", help="leave pulsar-lite out")
    out.add_argument("--pulsar", metavar="HOST:PORT", help="an Apache Pulsar that runs already")
    out.add_argument("--strict", action="store_true", help="exit with code 1 where a target is missed")
    return out


def choose_folder(wanted: Path | None) -> Path:
    """Return a folder on a real disk: the one asked for, the usual place, or the current folder."""
    if wanted is not None:
        return wanted
    usual = Path(tempfile.gettempdir())
    return Path.cwd() if in_memory(usual) else usual


def main(arguments: list[str] | None = None) -> int:
    """Measure the rows that were asked for and print the table."""
    options = parser().parse_args(arguments)
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the brokers are stopped on the way out
    with tempfile.TemporaryDirectory(prefix="bench-", dir=choose_folder(options.dir)) as name:
        folder = Path(name)
        arena = _arena(options, folder)
        facts = machine()
        facts["small_sync_ms"] = small_sync_ms(folder)
        facts["disk_in_memory"] = in_memory(folder)
        if in_memory(folder):
            say("this folder lies in memory, a sync costs nothing here: give --dir on a real disk")
        rows: list[Row] = []
        for key in options.only or ROWS:
            result = ROWS[key](arena)
            rows += result if isinstance(result, list) else [result]
    facts["seconds"] = time.monotonic() - started
    sync = f"one synced write of 256 bytes takes {facts['small_sync_ms']:.3f} ms"
    mode = "quick" if options.quick else "full"
    busy = f"load average {os.getloadavg()[0]:.1f} after, {facts['load_average']:.1f} before"
    sys.stdout.write(
        f"{facts['cores']} cores ({busy}), Python {facts['python']}, {sync}; {mode}, {facts['seconds']:.0f} s\n\n"
    )
    sys.stdout.write(render(rows, arena.pulsar is not None))
    if options.json:
        write_json(options.json, rows, facts)
    return 1 if options.strict and any(row.verdict == MISSED for row in rows) else 0


def _arena(options: argparse.Namespace, folder: Path) -> Arena:
    ours = Broker("ours", options.ours, folder=folder)
    command = "" if options.no_rival else rival_command()
    if not command and not options.no_rival:
        say("pulsar-lite is not installed: the ratios to it stay empty (pip install pulsar-lite==0.2.0)")
    rival = Broker("pulsar-lite", command, folder=folder) if command else None
    pulsar = Broker("Apache Pulsar", address=options.pulsar) if options.pulsar else None
    return Arena(folder, ours, rival, pulsar, options.quick, options.rounds or (1 if options.quick else 3))


if __name__ == "__main__":
    sys.exit(main())
