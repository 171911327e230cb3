"""``magnetar standalone``: the broker in this process, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import click

from magnetar.admin.start import start_admin
from magnetar.errors import MagnetarError
from magnetar.server.run import serve
from magnetar.server.settings_load import SettingsError, load_settings

__all__ = ["command"]


@click.command("standalone")
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), help="Folder for messages and metadata.")
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=int, help="Port for clients; 0 takes a free one [6650].")
@click.option("--http-port", type=int, help="Port for administration and metrics; 0 takes a free one [8080].")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A broker.conf.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One setting; may be repeated.")
@click.option("--memory", is_flag=True, help="Keep everything in memory only; nothing survives the process.")
@click.option("--verbose", "-v", is_flag=True, help="Say more on stderr.")
def command(
    data: Path | None,
    host: str | None,
    port: int | None,
    http_port: int | None,
    config: Path | None,
    options: tuple[str, ...],
    memory: bool,
    verbose: bool,
) -> None:
    """Run the broker in this terminal. Settings have the names of Pulsar's broker.conf."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    given = list(options)
    for name, value in (
        ("dataDirectory", data),
        ("bindAddress", host),
        ("brokerServicePort", port),
        ("webServicePort", http_port),
    ):
        if value is not None:
            given.append(f"{name}={value}")
    try:
        loaded = load_settings(config, os.environ, given)
    except SettingsError as error:
        click.echo(str(error), err=True)
        raise SystemExit(2) from None
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    try:
        serve(loaded.settings, memory, click.echo, start_admin)
    except MagnetarError as error:
        click.echo(f"magnetar: {error}", err=True)
        raise SystemExit(1) from None
