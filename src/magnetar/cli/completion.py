"""``magnetar completion``: what a shell needs to complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]

_PROGRAM, _VARIABLE = "magnetar", "_MAGNETAR_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL; put 'eval "$(magnetar completion bash)"' into its start-up file."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(kind(click.Command(_PROGRAM), {}, _PROGRAM, _VARIABLE).source())
