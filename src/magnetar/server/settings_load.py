"""Where settings come from, which of several values counts, and what is said about a wrong one.

From weakest to strongest: the defaults; a file in the format of broker.conf; the environment, where a variable counts
that has exactly the name of a setting or, more strongly, that name after ``PULSAR_PREFIX_``; ``key=value`` options of
the command line. Values are checked whether they count in the end or not, and all that is wrong is reported at once.

A name that is not known is an error only on the command line, where it can be nothing but a slip. In a file or in the
environment it may well be a setting of Pulsar's that means nothing here: there it is a warning, with the nearest name.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import msgspec

from magnetar.errors import MagnetarError
from magnetar.server.properties import parse_properties
from magnetar.server.settings import Key, Settings, Value, keys

__all__ = [
    "ENVIRONMENT_PREFIX",
    "Loaded",
    "SettingsError",
    "load_settings",
    "nearest_key",
    "parse_value",
    "write_value",
]

ENVIRONMENT_PREFIX = "PULSAR_PREFIX_"

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class SettingsError(MagnetarError):
    """The settings cannot be used; the message has a line for each thing that is wrong."""

    status = 412
    fault = "operator"


@dataclass(slots=True, frozen=True)
class Loaded:
    """The settings, where each that is not a default comes from, and what a person should be told."""

    settings: Settings
    origins: dict[str, str]
    warnings: list[str]


@dataclass(slots=True, frozen=True)
class _Given:
    """One value that somebody wrote somewhere."""

    name: str
    text: str
    origin: str
    strict: bool = False


def load_settings(
    config: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    options: Iterable[str] = (),
) -> Loaded:
    """The settings from all sources; ``SettingsError`` if anything of it cannot be used.

    >>> load_settings(environment={"PULSAR_PREFIX_clusterName": "test"}).settings.clusterName
    'test'
    """
    given = [] if config is None else _from_file(Path(config))
    given += _from_environment(os.environ if environment is None else environment)
    problems: list[str] = []
    given += _from_options(options, problems)
    values: dict[str, Value] = {}
    origins: dict[str, str] = {}
    warnings: list[str] = []
    for one in given:
        key = keys().get(one.name)
        if key is None:
            sentence = f"{one.origin}: there is no setting {one.name!r}{_suggestion(one.name)}"
            (problems if one.strict else warnings).append(sentence if one.strict else f"{sentence}; it is ignored")
            continue
        try:
            values[key.name] = parse_value(key, one.text)
            origins[key.name] = one.origin
        except SettingsError as error:
            problems.append(f"{one.origin}: {error}")
    for name, value in values.items():
        _judge(keys()[name], value, origins[name], problems, warnings)
    if problems:
        raise SettingsError("\n".join(problems))
    return Loaded(msgspec.convert(values, Settings), origins, warnings)


def parse_value(key: Key, text: str) -> Value:
    """What ``text`` means for the setting; ``SettingsError`` says what it should have been."""
    text = text.strip()
    if not text:
        return None if key.optional else key.default
    if key.kind is tuple:
        return _parse_list(key, text)
    if key.kind is str:
        if key.one_of and text not in key.one_of:
            raise _wrong(key, text, "one of " + ", ".join(key.one_of))
        return text
    if key.kind is bool:
        if text.lower() not in ("true", "false"):
            raise _wrong(key, text, "true or false")
        return text.lower() == "true"
    return _parse_number(key, text)


def write_value(value: Value) -> str:
    """The text that ``parse_value`` reads as this value.

    >>> write_value(True), write_value(("Shared", "Exclusive")), write_value(None)
    ('true', 'Shared,Exclusive', '')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple | list) else "" if value is None else str(value)


def _parse_list(key: Key, text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if key.one_of and not (parts and set(parts) <= set(key.one_of)):
        raise _wrong(key, text, "a list, with commas, of some of " + ", ".join(key.one_of))
    return parts


def _parse_number(key: Key, text: str) -> int | float:
    number, pattern = ("a whole number", _INTEGER) if key.kind is int else ("a number", _FLOAT)
    if key.at_least is not None and key.at_most is not None:
        expected = f"{number} from {key.at_least:g} to {key.at_most:g}"
    else:
        expected = number if key.at_least is None else f"{number}, {key.at_least:g} or more"
    if pattern.fullmatch(text) is None:
        raise _wrong(key, text, expected)
    value = int(text) if key.kind is int else float(text)
    least = -math.inf if key.at_least is None else key.at_least
    most = sys.float_info.max if key.at_most is None else key.at_most
    if not least <= value <= most:
        raise _wrong(key, text, expected)
    return value


def nearest_key(name: str) -> str | None:
    """The setting that was probably meant, if any is near enough."""
    by_lower = {known.lower(): known for known in keys()}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[found[0]] if found else None


def _suggestion(name: str) -> str:
    nearest = nearest_key(name)
    return "" if nearest is None else f"; did you mean {nearest}?"


def _wrong(key: Key, text: str, expected: str) -> SettingsError:
    return SettingsError(f"{key.name} cannot be {text!r}: {expected} is expected")


def _judge(key: Key, value: Value, origin: str, problems: list[str], warnings: list[str]) -> None:
    """A setting that this version does not act on may be there, but nobody is left believing that it works."""
    if value == key.default:
        return
    if key.refused:
        problems.append(
            f"{origin}: {key.name} cannot be changed in this version of Magnetar, which would start without what it "
            f"asks for: take it out"
        )
    elif key.later:
        warnings.append(f"{origin}: {key.name} is understood, but has no effect in this version of Magnetar")


def _from_file(path: Path) -> list[_Given]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the settings file {path} cannot be read ({error}): check its name and permissions"
        ) from None
    return [_Given(name, value, f"{path} line {number}") for number, name, value in parse_properties(text)]


def _from_environment(environment: Mapping[str, str]) -> list[_Given]:
    exact = [_Given(name, environment[name], f"environment variable {name}") for name in keys() if name in environment]
    prefixed = [
        _Given(name.removeprefix(ENVIRONMENT_PREFIX), text, f"environment variable {name}")
        for name, text in sorted(environment.items())
        if name.startswith(ENVIRONMENT_PREFIX)
    ]
    return exact + prefixed


def _from_options(options: Iterable[str], problems: list[str]) -> list[_Given]:
    given = []
    for option in options:
        name, equals, text = option.partition("=")
        if equals:
            given.append(_Given(name.strip(), text, f"option -o {option}", strict=True))
        else:
            problems.append(f"option -o {option}: key=value is expected")
    return given
