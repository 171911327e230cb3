"""The screen of ``magnetar top``, and the keys that change it."""

from __future__ import annotations

import select
import sys
import termios
import tty
from dataclasses import dataclass
from types import TracebackType

from magnetar.cli.admin.output import columns, cut
from magnetar.cli.admin.scrape import Scrape
from magnetar.cli.admin.toprows import SORTS, Row, make_rows, slow_consumers, totals

__all__ = ["Keys", "View", "amount", "screen"]

CONSUMERS_SHOWN = 5
_ROWS_UNSEEN = 50
"""Rows where nobody says how many fit."""
_HEADER = ("TOPIC", "SUBSCRIPTION", "IN/S", "OUT/S", "IN B/S", "OUT B/S", "BACKLOG", "AGE", "UNACKED", "CONS", "STATE")
_NAMES_SHARE = 0.28
_FRAME_LINES = 8


@dataclass(slots=True)
class View:
    """What of it is shown."""

    sort: str = "backlog"
    most: int | None = None
    page: int = 0

    def press(self, key: str) -> None:
        """A key was pressed."""
        names = list(SORTS)
        if key == "s":
            self.sort, self.page = names[(names.index(self.sort) + 1) % len(names)], 0
        elif key in ("n", " "):
            self.page += 1
        elif key == "p":
            self.page = max(self.page - 1, 0)


def amount(number: float) -> str:
    """A number in few signs: 12, 3.4k, 5.6M."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(number) < 999.5 or unit == "T":
            return f"{number:.0f}{unit}" if not unit or abs(number) >= 99.5 else f"{number:.1f}{unit}"
        number /= 1000
    return ""


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s" if seconds else ""


def screen(now: Scrape, before: Scrape | None, view: View, size: tuple[int, int]) -> list[str]:
    """The lines for a terminal of so many columns and lines; 0: nobody knows."""
    width, height = size
    rows = make_rows(now, before, view.sort)
    slow = _slow(now, width)
    fit = view.most or (max(height - _FRAME_LINES - len(slow), 1) if height else _ROWS_UNSEEN)
    pages = max((len(rows) + fit - 1) // fit, 1)
    view.page = min(view.page, pages - 1)
    first = view.page * fit
    shown = rows[first : first + fit]
    found = [*_head(now, before), ""]
    found += columns(_HEADER, [_cells(row, width) for row in shown])
    found += ["", *slow] if slow else []
    last = f"{first + 1}-{first + len(shown)} of {len(rows)}" if shown else "no topics"
    keys = "; q ends, n and p turn pages, s sorts" if height else ""
    found += ["", f"{last}, by {view.sort}{keys}"]
    return [line[:width] for line in found] if width else found


def _head(now: Scrape, before: Scrape | None) -> list[str]:
    sums = totals(now, before)
    since = f"over {now.at_s - before.at_s:.1f} s" if before else "as the broker averages them"
    return [
        (
            f"{sums.topics} topics, {sums.subscriptions} subscriptions, {sums.producers} producers, "
            f"{sums.consumers} consumers; rates {since}"
        ),
        (
            f"in {amount(sums.rate_in)} msg/s, {amount(sums.bytes_in)}B/s; out {amount(sums.rate_out)} msg/s, "
            f"{amount(sums.bytes_out)}B/s; backlog {amount(sums.backlog)}; stored {amount(sums.storage)}B"
        ),
    ]


def _cells(row: Row, width: int) -> tuple[str, ...]:
    names = max(int(width * _NAMES_SHARE), 16) if width else 200
    topic = row.topic.removeprefix("persistent://").removeprefix("public/default/")
    return (
        cut(topic, names),
        cut(row.subscription or "-", max(names * 2 // 3, 12)),
        *(f"{amount(value):>6}" for value in (row.rate_in, row.rate_out, row.bytes_in, row.bytes_out)),
        f"{amount(row.backlog):>7}",
        f"{_age(row.backlog_age_s):>4}",
        f"{amount(row.unacked):>7}",
        f"{row.consumers:>4}",
        row.state,
    )


def _slow(now: Scrape, width: int) -> list[str]:
    found = slow_consumers(now, CONSUMERS_SHOWN)
    if not found:
        return []
    names = max(int(width * _NAMES_SHARE), 16) if width else 200
    rows = [
        (
            cut(str(one["consumer"]), names),
            one["unacked"],
            one["permits"],
            one["blocked"],
            cut(f"{one['topic']} {one['subscription']}", names * 2),
        )
        for one in found
    ]
    return columns(("CONSUMER", "UNACKED", "PERMITS", "BLOCKED", "OF"), rows)


class Keys:
    """Keys as they are pressed, without the return key; nothing where stdin is no terminal."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno() if sys.stdin.isatty() else -1
        self._before: list[object] = []

    def __enter__(self) -> Keys:
        if self._fd >= 0:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._fd >= 0:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def wait(self, seconds: float) -> str:
        """The next key, empty when none was pressed for so long."""
        watched = [self._fd] if self._fd >= 0 else []
        ready, _, _ = select.select(watched, [], [], max(seconds, 0))
        return sys.stdin.read(1) if ready else ""
