"""Topic patterns: regular expressions that clients send, and that are therefore hostile until proved cheap.

A pattern is matched against the whole of ``tenant/namespace/topic``, without domain and without a partition's suffix,
as in Pulsar; a domain in front of the pattern itself is taken off. Pulsar's brokers use a matcher that is never slow.
Python's can take for ever where repeats are nested, so a pattern is evaluated only when its form bounds the time.
"""

from __future__ import annotations

import re

from magnetar.core.names import PARTITION_MARK

__all__ = ["FILTERED_NAME_LENGTH_MAX", "PATTERN_REPEATS_MAX", "compiled", "matches"]

PATTERN_REPEATS_MAX = 2
FILTERED_NAME_LENGTH_MAX = 512
"""With two repeats the time grows with the square of a name's length."""

_REPEATED_GROUP = re.compile(r"\)[*+?{]|\\[1-9]|\(\?P=")


def compiled(pattern: str, length_max: int) -> re.Pattern[str] | None:
    """The pattern ready for ``matches``; None where the broker cannot or must not evaluate it."""
    if not pattern or len(pattern) > length_max or not _is_cheap(pattern):
        return None
    try:
        return re.compile(_without_domain(pattern), re.ASCII)
    except (re.error, OverflowError):
        return None


def matches(wanted: re.Pattern[str], name: str) -> bool:
    """Whether the topic of this full name is meant."""
    plain = name[name.index("://") + 3 :]
    if PARTITION_MARK in plain:
        parent, _, index = plain.rpartition(PARTITION_MARK)
        if parent and index.isascii() and index.isdigit():
            plain = parent
    return wanted.fullmatch(plain) is not None


def _without_domain(pattern: str) -> str:
    front, mark, rest = pattern.partition("://")
    if not mark:
        return pattern
    return f"^{rest}" if front.startswith("^") else rest


def _is_cheap(pattern: str) -> bool:
    """Whether matching takes a bounded time: a pattern with nested repeats can take for ever, and the broker stands
    still meanwhile. The client filters for itself what was not filtered here."""
    repeats = sum(pattern.count(sign) for sign in "*+?{")
    return repeats <= PATTERN_REPEATS_MAX and _REPEATED_GROUP.search(pattern) is None
