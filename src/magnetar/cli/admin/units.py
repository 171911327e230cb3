"""Durations and sizes with units, as pulsar-admin takes them: ``10m``, ``3d``, ``1G``, ``-1``."""

from __future__ import annotations

import re

import click

__all__ = ["BYTES", "MEGABYTES", "MILLISECONDS", "MINUTES", "SECONDS", "Duration", "Size"]

_WRITTEN = re.compile(r"(-?\d+)\s*([a-zA-Z]*)\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_BYTES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Duration(click.ParamType[int]):
    """Some time, in thousandths of a second or whole multiples of it; a number without a unit is in ``bare``."""

    name = "duration"

    def __init__(self, unit_ms: int, called: str, bare: str = "s") -> None:
        self.unit_ms: int = unit_ms
        self.called: str = called
        self.bare: str = bare

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = _WRITTEN.match(str(value).strip())
        unit = found[2].lower() or self.bare if found else ""
        if found is None or unit not in _SECONDS:
            self.fail(f"'{value}' is not a duration such as 90s, 10m, 3h, 7d, 5w or -1", param, ctx)
        number = int(found[1])
        if number < 0:
            return -1
        thousandths = number * _SECONDS[unit] * 1000
        if thousandths % self.unit_ms:
            self.fail(f"'{value}' is not a whole number of {self.called}, which is how it is kept", param, ctx)
        return thousandths // self.unit_ms


class Size(click.ParamType[int]):
    """An amount of bytes, or of multiples of it."""

    name = "size"

    def __init__(self, unit: int, called: str) -> None:
        self.unit: int = unit
        self.called: str = called

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = _WRITTEN.match(str(value).strip())
        unit = found[2].lower().removesuffix("b") if found else ""
        if found is None or (unit and unit not in _BYTES):
            self.fail(f"'{value}' is not a size such as 4096, 64k, 10M, 16G, 3T or -1", param, ctx)
        number = int(found[1])
        if number < 0:
            return -1
        size = number * _BYTES.get(unit, 1)
        if size % self.unit:
            self.fail(f"'{value}' is not a whole number of {self.called}, which is how it is kept", param, ctx)
        return size // self.unit


MILLISECONDS = Duration(1, "milliseconds")
SECONDS = Duration(1_000, "seconds")
MINUTES = Duration(60_000, "minutes")
BYTES = Size(1, "bytes")
MEGABYTES = Size(1 << 20, "megabytes")
