"""``magnetar log``: read the log of a broker that is not running, without changing a byte of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import click

__all__ = ["command"]

_FOLDER = click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.group("log")
def command() -> None:
    """Look into the log of a broker that is not running.

    DIR is the broker's data folder, or the folder of its log.
    """


@command.command("inspect")
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each file.")
def inspect_command(folder: Path, as_json: bool) -> None:
    """List the files of a log and what is in them."""
    from magnetar.log.files.inspect import inspect, summaries

    with _refusals():
        if not as_json:
            for line in inspect(_log_folder(folder)):
                click.echo(line)
            return
        for summary in summaries(_log_folder(folder)):
            found: dict[str, object] = {
                "file": summary.name,
                "kind": summary.kind,
                "bytes": summary.size,
                "validBytes": summary.valid,
                "commits": summary.commits,
                "records": dict(summary.counts),
                "streams": {str(stream): list(span) for stream, span in sorted(summary.streams.items())},
                "damage": [{"byte": bad.position, "bytes": bad.size, "expected": bad.expected} for bad in summary.bad],
            }
            click.echo(json.dumps(found))


@command.command("verify")
@_FOLDER
def verify_command(folder: Path) -> None:
    """Read every byte of a log and check it; name the first bad byte.

    The exit code is 0 when all is as it was written, and 1 when something is damaged. The unfinished end that a crash
    leaves is no damage: nothing of it was acknowledged, and the next start cuts it.
    """
    from magnetar.log.files.inspect import verify

    with _refusals():
        report = verify(_log_folder(folder))
    for torn in report.torn:
        click.echo(f"{torn.file}, byte {torn.position}: {torn.size} bytes were not finished; the next start cuts them")
    for bad in report.bad:
        click.echo(f"DAMAGED {bad}")
    counts = "".join(f", {count} {what}" for what, count in sorted(report.counts.items()))
    click.echo(f"{'sound' if report.ok else 'damaged'}: {report.files} files, {report.commits} commits{counts}")
    if not report.ok:
        raise SystemExit(1)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    from magnetar.errors import MagnetarError

    try:
        yield
    except MagnetarError as error:
        click.echo(f"magnetar: {error}", err=True)
        raise SystemExit(1) from None


def _log_folder(folder: Path) -> Path:
    """The log is a folder inside the data folder, and people name either."""
    inside = folder / "log"
    return inside if inside.is_dir() else folder
