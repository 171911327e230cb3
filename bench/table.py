"""The table: one line a row, notes below, and the same as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from bench.arena import Row
from bench.stats import MISSED

EMPTY = "-"


def figure(value: float | None, unit: str) -> str:
    """Write a figure with its unit, short enough to compare."""
    if value is None:
        return EMPTY
    if unit == "rate":
        if value >= 1e6:
            return f"{value / 1e6:.2f} M/s"
        return f"{value / 1e3:.1f} k/s" if value >= 1e3 else f"{value:.0f} /s"
    if unit == "MB":
        return f"{value:.0f} MB"
    return f"{value:.3g} {unit}"


def number(value: float | None) -> str:
    """Write a plain number with two places."""
    return EMPTY if value is None else f"{value:.2f}"


def render(rows: Sequence[Row], with_pulsar: bool) -> str:
    """Return the table as aligned Markdown, and the notes under it."""
    head = ["row", "ours", "pulsar-lite"]
    head += ["Apache Pulsar"] if with_pulsar else []
    head += ["ratio", "target", "", "broker us/msg", "load us/msg", "spread"]
    lines = [head]
    for row in rows:
        rival = figure(row.rival, row.unit) + (f" ({row.rival_mark})" if row.rival_mark else "")
        values = [row.title, figure(row.ours, row.unit), rival]
        values += [figure(row.pulsar, row.unit)] if with_pulsar else []
        values += [number(row.ratio), row.target or EMPTY, row.verdict, number(row.broker_us), number(row.load_us)]
        values.append(_spreads(row))
        lines.append(values)
    out = _aligned(lines)
    missed = [row.title for row in rows if row.verdict == MISSED]
    out.append("")
    out.append(f"{len(missed)} missed: {'; '.join(missed)}" if missed else "No target missed.")
    out += [f"- {row.title}: {note}" for row in rows for note in row.notes]
    return "\n".join(out) + "\n"


def _spreads(row: Row) -> str:
    """Write how far the runs lie apart, ours and the rival's."""
    spreads = [EMPTY if value is None else f"{value:.0%}" for value in (row.spread, row.rival_spread)]
    return EMPTY if spreads == [EMPTY, EMPTY] else ", ".join(spreads)


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width for width in widths]
    out = []
    for line in [lines[0], rule, *lines[1:]]:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        out.append("| " + " | ".join(cells) + " |")
    return out


def machine() -> dict[str, object]:
    """Return what a reader needs to judge the figures: cores, kernel, Python, and how busy the machine was."""
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0],
    }


def write_json(path: Path, rows: Sequence[Row], facts: dict[str, object]) -> None:
    """Write every row with all its samples."""
    content = {"machine": facts, "rows": [dataclasses.asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=1) + "\n")
