"""Groups with verbs for policies. A verb is made when it is used; the help names all of them without that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from magnetar.cli.admin.command import Broker, Namespace, Topic, admin
from magnetar.cli.admin.output import say
from magnetar.cli.admin.policytable import Choice, Policy, Switch

__all__ = ["PolicyGroup"]

_KINDS = ("destination_storage", "message_age")
_APPLIED = click.option("-ap", "--applied", is_flag=True, help="What holds, whoever has set it.")


class PolicyGroup(click.Group):
    """A group with commands of its own and the verbs of ``policies`` on what the argument ``target`` names."""

    def __init__(self, *args: Any, policies: tuple[Policy, ...], target: Callable[..., Any], **more: Any) -> None:
        super().__init__(*args, **more)
        self.policies: tuple[Policy, ...] = policies
        self._target = target
        self._makers: dict[str, tuple[Callable[[Policy], click.Command], Policy]] = {}
        for line in policies:
            self._makers[f"get-{line.get or line.noun}"] = self._get, line
            self._makers[f"set-{line.noun}"] = self._set, line
            if line.removable:
                self._makers[f"remove-{line.noun}"] = self._remove, line

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._makers]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._makers:
            make, line = self._makers[cmd_name]
            found = make(line)
            found.name = cmd_name
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.commands:
            with formatter.section("Commands"):
                own = [(name, self.commands[name]) for name in super().list_commands(ctx)]
                formatter.write_dl([(name, one.get_short_help_str(80)) for name, one in own if not one.hidden])
        with formatter.section("Policies (set-NAME, get-NAME, remove-NAME)"):
            formatter.write_dl([(line.noun, line.text) for line in self.policies])

    # -- verbs -----------------------------------------------------------------------------------------------------

    def _command(self, function: Callable[..., None], what: str, options: list[click.Option]) -> click.Command:
        function.__doc__ = what
        command = click.command()(admin(self._target(function)))
        command.params[1:1] = options
        return command

    def _get(self, line: Policy) -> click.Command:
        def get(broker: Broker, applied: bool, **target: Any) -> None:
            (at,) = target.values()
            found = broker.get(f"{at.path}/{line.get_path or line.path}", {"applied": applied or None})
            if found is None and not broker.as_json:
                say(f"{line.noun} is not set for {at}")
            else:
                broker.show(found)

        return self._command(_APPLIED(get), f"Print {line.text}.", [])

    def _set(self, line: Policy) -> click.Command:
        def put(broker: Broker, **given: Any) -> None:
            at = _taken(given)
            query: dict[str, object] = {line.kinds: given.pop("kind")} if line.kinds else {}
            value = _value(line, given)
            if line.query:
                query[line.query] = value
            body = None if line.query else value
            broker.request(line.write, f"{at.path}/{line.path}", query, body)
            say(f"{line.noun} is set for {at}")

        options = [_option(number, one) for number, one in enumerate(line.options)]
        return self._command(put, f"Set {line.text}.", [*options, *_kinds(line)])

    def _remove(self, line: Policy) -> click.Command:
        def remove(broker: Broker, **given: Any) -> None:
            at = _taken(given)
            broker.delete(f"{at.path}/{line.path}", {line.kinds: given["kind"]} if line.kinds else None)
            say(f"{line.noun} is not set for {at} any more")

        return self._command(remove, f"Take away what was set: {line.text}.", _kinds(line))


def _taken(given: dict[str, Any]) -> Topic | Namespace:
    """What the verb is about, taken out of what it was given."""
    found: Topic | Namespace = given.pop("topic", None) or given.pop("namespace")
    return found


def _kinds(line: Policy) -> list[click.Option]:
    if not line.kinds:
        return []
    kind = click.Choice(_KINDS)
    return [click.Option(["-t", "--type", "kind"], default=_KINDS[0], show_default=True, type=kind, help="Which one.")]


def _option(number: int, one: Choice | Switch) -> click.Option:
    names = [*one.flags.split(), f"v{number}"]
    if isinstance(one, Switch):
        optional = "rp" in one.flags
        return click.Option(names, default=False if optional else None, required=not optional, help=one.text)
    shown = one.default is not None
    return click.Option(
        names, type=one.kind, default=one.default, required=one.required, show_default=shown, help=one.text
    )


def _value(line: Policy, given: dict[str, Any]) -> Any:
    """The policy's value, made of the options."""
    values = [(one.field, given[f"v{number}"]) for number, one in enumerate(line.options)]
    if len(values) == 1 and not values[0][0]:
        return values[0][1]
    return {name: value for name, value in values if value is not None}
