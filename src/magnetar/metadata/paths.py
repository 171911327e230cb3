"""What every metadata adapter agrees on about paths, values and ranges.

Paths sort by code point. That is how Python compares strings and, because UTF-8 keeps the order of code points, also
how SQLite compares its text, so that a page of a scan ends at the same place in every adapter.
"""

from __future__ import annotations

from magnetar.errors import MetadataFailed
from magnetar.ports.metadata import VersionConflict

__all__ = ["VALUE_BYTES_MAX", "check_path", "check_prefix", "check_value", "check_version", "prefix_end"]

VALUE_BYTES_MAX = 16 * 1024 * 1024
"""The largest value that a store takes, in bytes: one value must fit into one transaction with room to spare."""

_SURROGATES_FIRST, _SURROGATES_END, _CODE_POINT_LAST = 0xD800, 0xE000, 0x10FFFF


def check_path(path: str) -> None:
    """Raise ``ValueError`` unless ``path`` is one that the port allows; a bad path is a bug of the caller."""
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        raise ValueError(f"{path!r} is not a metadata path: it begins with a slash and has no empty segment")
    check_prefix(path)


def check_prefix(prefix: str) -> None:
    """Raise ``ValueError`` for text that no path can hold."""
    if not prefix.isascii() and any(_SURROGATES_FIRST <= ord(c) < _SURROGATES_END for c in prefix):
        raise ValueError(f"{prefix!r} cannot stand in a metadata path: it holds half a character (a lone surrogate)")


def check_value(path: str, value: bytes) -> None:
    """Refuse a value that is too large before anything is written."""
    if len(value) > VALUE_BYTES_MAX:
        raise MetadataFailed(
            f"the value for {path} has {len(value)} bytes and the limit is {VALUE_BYTES_MAX}: store less in one path"
        )


def check_version(path: str, found: int | None, expected: int | None) -> None:
    """Raise ``VersionConflict`` unless the version ``found`` (None: nothing is there) is the ``expected`` one."""
    if expected is None:
        return
    there = -1 if found is None else found
    if there == expected:
        return
    if found is None:
        raise VersionConflict(f"{path} is not there, and version {expected} was expected: read again, then decide")
    if expected == -1:
        raise VersionConflict(f"{path} is already there in version {found}: read it, or choose another name")
    raise VersionConflict(f"{path} is in version {found}, and {expected} was expected: read again, then write")


def prefix_end(prefix: str) -> str | None:
    """The least string that sorts after every string with this prefix; None when there is no such string.

    >>> prefix_end("/topics/")
    '/topics0'
    """
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1])
        if code == _CODE_POINT_LAST:
            continue
        follower = code + 1
        if _SURROGATES_FIRST <= follower < _SURROGATES_END:
            follower = _SURROGATES_END
        return prefix[: length - 1] + chr(follower)
    return None
