"""Reads the format of broker.conf, which is that of Java's properties files.

A line is ``key=value``, ``key: value`` or ``key value``; lines that begin with ``#`` or ``!`` are comments; a backslash
at the end of a line continues it on the next, where blanks at the beginning do not count; elsewhere a backslash escapes
what follows it, ``\\t``, ``\\n``, ``\\r``, ``\\f`` and ``\\u0041`` standing for what one expects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["parse_properties"]

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ENTRY = re.compile(
    r"(?P<key>(?:\\.|[^\\=:\ \t\f])*)"  # Up to the first separator that is not escaped,
    r"[\ \t\f]*[=:]?[\ \t\f]*"  # which is one of the two signs, or blanks alone,
    r"(?P<value>.*)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Iterator[tuple[int, str, str]]:
    """The entries in order, each with the number of the line it begins in.

    >>> list(parse_properties("# a comment\\nclusterName = test\\n"))
    [(2, 'clusterName', 'test')]
    """
    for number, line in _logical_lines(text):
        match = _ENTRY.fullmatch(line)
        assert match is not None, "the pattern takes any line"
        yield number, _unescape(match["key"]), _unescape(match["value"])


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with those that a backslash continues put together."""
    begun: tuple[int, str] | None = None
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if begun is None:
            if not line or line[0] in "#!":
                continue
            begun = (number, "")
        slashes = len(line) - len(line.rstrip("\\"))
        continues = slashes % 2 == 1
        begun = (begun[0], begun[1] + (line[:-1] if continues else line))
        if not continues:
            yield begun
            begun = None
    if begun is not None:
        yield begun


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _unescape_one(match[1]), text).encode("utf-16", "surrogatepass").decode("utf-16")


def _unescape_one(what: str) -> str:
    if len(what) == 5:
        return chr(int(what[1:], 16))
    return _ESCAPED.get(what, what)
