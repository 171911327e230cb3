"""The ``magnetar`` command. Each subcommand lives in a module of its own, imported only when it is used.

What all of them hold to: data goes to stdout and talk to stderr; the exit code is 0 when what was asked for is done,
1 when it could not be done, 2 when the command line or the settings are wrong, 3 when nobody answered at the
--admin-url, 130 after Ctrl-C in the middle.
"""

from __future__ import annotations

import importlib

import click

from magnetar import __version__

__all__ = ["main"]

_COMMANDS = {
    "standalone": ("magnetar.cli.standalone", "Run the broker in this terminal."),
    "produce": ("magnetar.cli.produce", "Send messages to a topic."),
    "consume": ("magnetar.cli.consume", "Print the messages of a topic."),
    "topics": ("magnetar.cli.admin.topics", "Topics and their policies: list, create, look into, change."),
    "subscriptions": ("magnetar.cli.admin.subscriptions", "Subscriptions: list, create, move their cursors."),
    "namespaces": ("magnetar.cli.admin.namespaces", "Namespaces and their policies."),
    "tenants": ("magnetar.cli.admin.tenants", "Tenants: list, create, change, delete."),
    "schemas": ("magnetar.cli.admin.schemas", "Schemas of topics: get, upload, delete, try."),
    "brokers": ("magnetar.cli.admin.brokers", "Whether the broker serves, and its settings."),
    "top": ("magnetar.cli.top", "Live rates, backlogs and slow consumers."),
    "explain": ("magnetar.cli.explain", "Say why a subscription or a key does not move."),
    "disconnect": ("magnetar.cli.disconnect", "Disconnect a consumer, so that others get what it holds."),
    "log": ("magnetar.cli.log", "Look into the log of a broker that is not running."),
    "simulate": ("magnetar.cli.simulate", "Run the core in simulated worlds and check what must hold."),
    "completion": ("magnetar.cli.completion", "Print what a shell needs to complete this command."),
    "version": ("magnetar.cli.version", "Print the version."),
}


class _Lazy(click.Group):
    """A group whose subcommands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="magnetar")
def main() -> None:
    """Magnetar, a message broker that speaks the Apache Pulsar protocol."""
