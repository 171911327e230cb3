"""What the daily commands share: their options, how they name topics and namespaces, how a group of them is made."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import click

from magnetar.cli.admin.output import outline, say, show, show_json
from magnetar.cli.adminclient import ADMIN_URL_OPTION, Admin

__all__ = [
    "FORCE",
    "NAMESPACE",
    "SUBSCRIPTION",
    "TOPIC",
    "V2",
    "Broker",
    "Namespace",
    "Topic",
    "admin",
    "pairs",
    "segment",
    "verbs",
]

V2 = "/admin/v2"
_JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print the broker's answer as JSON.")

T = TypeVar("T", bound=Callable[..., None])


def segment(text: str) -> str:
    """A name as one segment of a path."""
    return quote(text, safe="")


class Broker(Admin):
    """The broker that a command talks to, and the form in which its answers are shown."""

    def __init__(self, url: str, as_json: bool) -> None:
        super().__init__(url)
        self.as_json: bool = as_json

    def show(self, value: Any, lines: Callable[[Any], list[str]] = outline) -> None:
        """An answer: JSON if that was asked for, otherwise as ``lines`` makes it."""
        if self.as_json:
            show_json(value)
        else:
            show(lines(value))

    def show_names(self, names: list[str], of: str) -> None:
        """Names, one on each line; that there are none is said."""
        if self.as_json:
            show_json(names)
        elif names:
            show(names)
        else:
            say(f"there are no {of}")


@dataclass(slots=True, frozen=True)
class Topic:
    """A topic by its full name, with its path."""

    name: str
    domain: str
    namespace: str
    local: str

    @property
    def rest(self) -> str:
        return f"{self.namespace}/{segment(self.local)}"

    @property
    def path(self) -> str:
        return f"{V2}/{self.domain}/{self.rest}"

    def sub(self, name: str) -> str:
        """The path of a subscription."""
        return f"{self.path}/subscription/{segment(name)}"

    def __str__(self) -> str:
        return self.name


class _TopicType(click.ParamType[Topic]):
    name = "topic"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Topic:
        from magnetar.core.names import TopicName
        from magnetar.errors import InvalidTopicName

        if isinstance(value, Topic):
            return value
        try:
            found = TopicName(str(value))
        except InvalidTopicName as error:
            self.fail(str(error), param, ctx)
        return Topic(str(found), found.domain, found.namespace, found.local)


@dataclass(slots=True, frozen=True)
class Namespace:
    """A namespace by its name, with its path."""

    name: str

    @property
    def path(self) -> str:
        return f"{V2}/namespaces/{self.name}"

    def __str__(self) -> str:
        return self.name


class _NamespaceType(click.ParamType[Namespace]):
    name = "namespace"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Namespace:
        if isinstance(value, Namespace):
            return value
        parts = str(value).split("/")
        if len(parts) != 2 or not all(parts):
            self.fail(f"'{value}' is not a namespace: write tenant/namespace, such as public/default", param, ctx)
        return Namespace("/".join(segment(part) for part in parts))


TOPIC = click.argument("topic", type=_TopicType())
NAMESPACE = click.argument("namespace", type=_NamespaceType())
SUBSCRIPTION = click.option("-s", "--subscription", "sub", required=True, metavar="NAME", help="The subscription.")
FORCE = click.option("-f", "--force", is_flag=True, help="Also when clients are connected; they are disconnected.")


def admin(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that all have; it is called with a ``Broker`` first."""

    @ADMIN_URL_OPTION
    @_JSON_OPTION
    @functools.wraps(function)
    def call(admin_url: str, as_json: bool, **given: Any) -> None:
        function(Broker(admin_url, as_json), **given)

    return call


def verbs(group: click.Group) -> Callable[..., Callable[[Callable[..., None]], click.Command]]:
    """A decorator that makes a command of ``group`` out of a function that takes a ``Broker``."""

    def named(*names: str) -> Callable[[Callable[..., None]], click.Command]:
        def make(function: Callable[..., None]) -> click.Command:
            command = click.command(names[0])(admin(function))
            group.add_command(command)
            for name in names[1:]:
                other = copy.copy(command)
                other.hidden = True
                group.add_command(other, name)
            return command

        return make

    return named


def pairs(given: tuple[str, ...], of: str) -> dict[str, str]:
    """``NAME=VALUE`` words as a dictionary; several may stand in one word, with commas between them."""
    found = {}
    for word in given:
        parts = word.split(",")
        for one in parts if all("=" in part for part in parts) else [word]:
            name, equals, value = one.partition("=")
            if not equals or not name:
                raise click.BadParameter(f"'{one}' is not NAME=VALUE", param_hint=of)
            found[name] = value
    return found
