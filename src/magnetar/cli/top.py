"""``magnetar top``: live rates, backlogs and their age, and what is slow, out of a broker's metrics page.

One request for each look, however many topics there are; it works with any Pulsar. On a terminal the screen is
refreshed in place, elsewhere it is printed once.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import asdict

import click

from magnetar.cli.admin.output import show
from magnetar.cli.admin.scrape import Scrape, read_metrics
from magnetar.cli.admin.toprows import SORTS, make_rows, slow_consumers, totals
from magnetar.cli.admin.topscreen import Keys, View, screen
from magnetar.cli.adminclient import ADMIN_URL_OPTION, Admin

__all__ = ["command"]

CONSUMERS_SHOWN = 5
_BEGIN, _END = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


@click.command("top")
@click.argument("about", required=False, default="", metavar="[NAME]")
@click.option(
    "-i", "--interval", default=2.0, show_default=True, type=click.FloatRange(0), help="Seconds between looks."
)
@click.option(
    "-s", "--sort", default="backlog", show_default=True, type=click.Choice(list(SORTS)), help="What is first."
)
@click.option("-n", "--rows", "most", type=click.IntRange(1), help="How many rows.  [default: what fits, or 50]")
@click.option("--once", is_flag=True, help="Look, print, end; with an interval of 0 the rates are the broker's own.")
@click.option("--json", "as_json", is_flag=True, help="Print each look as one JSON object.")
@ADMIN_URL_OPTION
def command(
    about: str, interval: float, sort: str, most: int | None, once: bool, as_json: bool, admin_url: str
) -> None:
    """Show live rates, backlogs and slow consumers of the topics with NAME in their name, of all unless given.

    Keys: q ends, n and p turn pages, s sorts by the next column.
    """
    looks = _Looks(Admin(admin_url), about, interval)
    view = View(sort, most)
    try:
        if as_json:
            _print_json(looks, view, once)
        elif once or not sys.stdout.isatty():
            now, before = looks.pair()
            show(screen(now, before, view, (0, 0)))
        else:
            _live(looks, view)
    except KeyboardInterrupt:
        raise SystemExit(130 if once else 0) from None


class _Looks:
    """Looks at the metrics, one after another."""

    def __init__(self, admin: Admin, about: str, interval: float) -> None:
        self.admin = admin
        self.about = about
        self.interval = interval

    def look(self) -> Scrape:
        return self.admin.lines("/metrics/", lambda lines: read_metrics(lines, self.about))

    def pair(self) -> tuple[Scrape, Scrape | None]:
        """Two looks with the interval between them, or one where there is no interval."""
        first = self.look()
        if not self.interval:
            return first, None
        time.sleep(self.interval)
        return self.look(), first


def _print_json(looks: _Looks, view: View, once: bool) -> None:
    now, before = looks.pair()
    while True:
        rows = make_rows(now, before, view.sort)
        found = {
            "timestamp": int(time.time() * 1000),
            "seconds": round(now.at_s - before.at_s, 3) if before else None,
            "totals": asdict(totals(now, before)),
            "rowCount": len(rows),
            "rows": [row.fields() for row in rows[: view.most or 50]],
            "slowConsumers": slow_consumers(now, CONSUMERS_SHOWN),
        }
        click.echo(json.dumps(found, ensure_ascii=False))
        if once:
            return
        time.sleep(looks.interval)
        now, before = looks.look(), now


def _live(looks: _Looks, view: View) -> None:
    """Refresh in place until q or Ctrl-C. The first screen has the broker's own rates."""
    before: Scrape | None = None
    now = looks.look()
    with Keys() as keys:
        click.echo(_BEGIN, nl=False)
        try:
            while True:
                due = time.monotonic() + max(looks.interval, 0.1)
                while True:
                    size = shutil.get_terminal_size()
                    lines = screen(now, before, view, (size.columns, size.lines))
                    body = "".join(f"{line}{_REST_OF_LINE}\r\n" for line in lines[: size.lines - 1])
                    click.echo(f"{_HOME}{body}{_REST_OF_SCREEN}", nl=False)
                    key = keys.wait(due - time.monotonic())
                    if key == "q":
                        return
                    if not key:
                        break
                    view.press(key)
                now, before = looks.look(), now
        finally:
            click.echo(_END, nl=False)
