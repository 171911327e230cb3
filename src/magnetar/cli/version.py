"""``magnetar version``."""

from __future__ import annotations

import platform

import click

from magnetar import __version__

__all__ = ["command"]


@click.command("version")
def command() -> None:
    """Print the version of Magnetar and of the Python that runs it."""
    click.echo(f"magnetar {__version__} on {platform.python_implementation()} {platform.python_version()}")
