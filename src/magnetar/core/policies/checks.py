"""What a policy's value may be: JSON in, the value to be stored out, or a refusal that says what is wrong.

Fields that are not known are dropped, as Pulsar does; a wrong type is named with what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnetar.errors import InvalidValue, MalformedValue

__all__ = ["Check", "choice", "fields", "flag", "number", "retention", "some_of"]

Check = Callable[[Any], Any]

FOREVER = -1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def flag(value: Any) -> Any:
    """True or false."""
    if not isinstance(value, bool):
        raise MalformedValue(f"true or false is expected, not {value!r}")
    return value


def number(at_least: int) -> Check:
    """A whole number."""

    def check(value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            raise MalformedValue(f"a whole number is expected, not {value!r}")
        if not at_least <= value < 1 << 63:
            raise InvalidValue(f"Invalid value {value}: it must be {at_least} or more")
        return value

    return check


def choice(*words: str) -> Check:
    """One of some words."""

    def check(value: Any) -> Any:
        if value not in words:
            raise MalformedValue(f"one of {', '.join(words)} is expected, not {value!r}")
        return value

    return check


def some_of(*words: str) -> Check:
    """A list of some of the words."""
    one = choice(*words)

    def check(value: Any) -> Any:
        if not isinstance(value, list):
            raise MalformedValue(f"a list is expected, not {value!r}")
        return sorted({one(word) for word in value}, key=words.index)

    return check


def fields(**defaults: Any) -> Check:
    """An object of these fields, each of the type of its default and missing ones with it."""

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise MalformedValue(f"an object is expected, not {value!r}")
        found: dict[str, Any] = {}
        for name, default in defaults.items():
            given = value.get(name)
            if given is None:
                given = default
            elif isinstance(default, bool) != isinstance(given, bool) or (
                not isinstance(given, type(default)) and not (isinstance(default, float) and _is_number(given))
            ):
                raise MalformedValue(f"{name} should be like {default!r}, not {given!r}")
            found[name] = given
        return found

    return check


def retention(value: Any) -> Any:
    """Minutes and megabytes, each without end as -1; both 0 or neither."""
    found = fields(retentionTimeInMinutes=0, retentionSizeInMB=0)(value)
    minutes, megabytes = found["retentionTimeInMinutes"], found["retentionSizeInMB"]
    if minutes < FOREVER or megabytes < FOREVER:
        raise MalformedValue("Invalid retention policy: -1 means without end, nothing is below it")
    if (minutes == 0) != (megabytes == 0):
        raise MalformedValue(
            "Invalid retention policy: time and size are kept both or not at all. Set both to 0 for none, or the one "
            "that shall not limit to -1"
        )
    return found
