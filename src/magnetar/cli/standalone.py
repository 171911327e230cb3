"""``magnetar standalone``: the broker in this process, until Ctrl-C or SIGTERM.

Stdout gets one line once the broker listens: where it does, and where its data lies. Everything else, warnings
included, goes to stderr. Reasons not to start are a sentence each: wrong settings end with exit code 2, a machine that
does not allow it (a taken port, a data folder that is in use, damaged or of another format) with 1.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from magnetar.server.settings_load import Loaded

__all__ = ["command"]


def _complete_option(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from magnetar.server.settings import keys

    return [CompletionItem(f"{name}=") for name in keys() if name.lower().startswith(incomplete.lower())]


@click.command("standalone")
@click.option("--data", metavar="FOLDER", help="Folder for messages and metadata, made if missing.  [default: data]")
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1, this machine only]")
@click.option("--port", metavar="PORT", help="Port for clients; 0 takes a free one.  [default: 6650]")
@click.option(
    "--http-port", metavar="PORT", help="Port for administration and metrics; 0 takes a free one.  [default: 8080]"
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of settings in the format of Pulsar's broker.conf.",
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=_complete_option,
    help="One setting, stronger than the file and the environment. May be repeated.",
)
@click.option("--memory", is_flag=True, help="Keep everything in memory; nothing outlives the process.")
@click.option("-v", "--verbose", is_flag=True, help="Say more on stderr.")
def command(
    data: str | None,
    host: str | None,
    port: str | None,
    http_port: str | None,
    config: Path | None,
    options: tuple[str, ...],
    memory: bool,
    verbose: bool,
) -> None:
    """Run the broker in this terminal.

    Settings have the names of Pulsar's broker.conf. From weakest to strongest they come from the defaults, the file of
    --config, environment variables (PULSAR_PREFIX_ and the name), and this command line.

    Ctrl-C or SIGTERM stop the broker cleanly; a second one ends it at once, which loses nothing but makes the
    next start longer.
    """
    _configure_logging(verbose)
    own = (("dataDirectory", data), ("bindAddress", host), ("brokerServicePort", port), ("webServicePort", http_port))
    _run(_settings(config, [*options, *(f"{name}={value}" for name, value in own if value is not None)]), memory)


def _configure_logging(verbose: bool) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


def _settings(config: Path | None, options: list[str]) -> Loaded:
    from magnetar.server.settings_load import SettingsError, load_settings

    try:
        loaded = load_settings(config, os.environ, options)
    except SettingsError as error:
        for line in str(error).splitlines():
            click.echo(f"magnetar: {line}", err=True)
        raise SystemExit(2) from None
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not _is_loopback(loaded.settings.bindAddress):
        click.echo(
            f"warning: listening on {loaded.settings.bindAddress}: whoever reaches this address can read and change "
            "everything, because this version asks nobody who they are",
            err=True,
        )
    return loaded


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _run(loaded: Loaded, memory: bool) -> None:
    from magnetar.admin.start import start_admin
    from magnetar.errors import MagnetarError
    from magnetar.server.run import serve

    try:
        serve(loaded.settings, memory, click.echo, start_admin)
    except MagnetarError as error:
        click.echo(f"magnetar: {error}", err=True)
        raise SystemExit(1) from None
