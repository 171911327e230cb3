"""How answers look: JSON for programs, tables and outlines for people. Data goes to stdout, talk to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

__all__ = ["columns", "cut", "outline", "say", "show", "show_json", "written"]

_INDENT = "  "


def say(sentence: str) -> None:
    """Talk."""
    click.echo(sentence, err=True)


def show_json(value: object) -> None:
    """One JSON value on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def show(lines: Iterable[str]) -> None:
    """Lines of data."""
    for line in lines:
        click.echo(line)


def written(value: object) -> str:
    """A value in a cell: whole numbers as they are, others with as many places as matter."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) else f"{value:.2f}"
    return "" if value is None else str(value)


def cut(text: str, width: int) -> str:
    """The end of a text that is too long; names differ at their ends."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table with aligned columns, numbers to the right."""
    body = [list(row) for row in rows]
    cells = [[written(value) for value in row] for row in body]
    widths = [max(len(text) for text in (name, *(row[at] for row in cells))) for at, name in enumerate(header)]
    right = [bool(body) and all(isinstance(row[at], int | float) for row in body) for at in range(len(header))]
    found = []
    for line in [list(header), *cells]:
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        found.append("  ".join(padded).rstrip())
    return found


def outline(value: Any, indent: str = "") -> list[str]:
    """An answer as a list of names and values, what belongs to a name below it and further in."""
    if isinstance(value, dict):
        found = []
        for name, inner in value.items():
            if inner and isinstance(inner, dict | list):
                found += [f"{indent}{name}:", *outline(inner, indent + _INDENT)]
            else:
                found.append(f"{indent}{name}: {_plain(inner)}")
        return found
    if isinstance(value, list):
        found = []
        for inner in value:
            lines = outline(inner, indent + _INDENT)
            if isinstance(inner, dict | list) and lines:
                lines[0] = f"{indent}- {lines[0].lstrip()}"
            else:
                lines = [f"{indent}{_plain(inner)}"]
            found += lines
        return found
    return [f"{indent}{_plain(value)}"]


def _plain(value: object) -> str:
    if value in ({}, []):
        return "none"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
