"""What a line of the table of settings is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Key", "Value", "key", "limit", "port", "some"]

Value = bool | int | float | str | tuple[str, ...] | None
"""What a setting can be. A tuple is written as a list with commas, None as nothing at all."""

T = TypeVar("T", bound=Value)


@dataclass(slots=True, frozen=True)
class Key:
    """What is known of a setting beside its value. ``kind`` is the type of its values other than None."""

    name: str
    default: Value
    kind: type[object]
    text: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    later: bool = False
    refused: bool = False
    optional: bool = False
    """Whether an empty value means None; elsewhere it means the default."""


def key(
    default: T,
    text: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: tuple[str, ...] = (),
    later: bool = False,
    refused: bool = False,
) -> T:
    """A field with its facts. The name comes later, from the class; a setting without a default is a number."""
    kind = int if default is None else type(default)
    facts = Key("", default, kind, text, at_least, at_most, one_of, later, refused)
    made: T = field(default=default, metadata={"key": facts})
    return made


def port(default: int | None, text: str, *, refused: bool = False) -> int | None:
    return key(default, text, at_least=0, at_most=65535, refused=refused)


def limit(default: int, text: str, *, later: bool = False) -> int:
    """A count or a size that may be 0."""
    return key(default, text, at_least=0, later=later)


def some(default: int, text: str, *, later: bool = False) -> int:
    """A count, a size or a time that may not be 0."""
    return key(default, text, at_least=1, later=later)
