"""The time before which an entry is not to be delivered, found in its metadata.

Every entry that is published is looked at, and hardly any names a time. So this steps over the other fields without
reading them, and a frame that makes no sense is left to those who need to make sense of it.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.entry import metadata_bounds
from magnetar.wire.errors import WireError
from magnetar.wire.varint import int64, read_varint, rest_of_varint, short_tag, skip_field

__all__ = ["peek_deliver_at"]

_TAG_DELIVER_AT_TIME: Final = 19 << 3


def peek_deliver_at(entry: bytes) -> int:
    """Find the time before which an entry is not to be delivered; 0 for none, and for metadata that makes no sense."""
    try:
        return max(_deliver_at(entry), 0)
    except (WireError, IndexError):
        return 0


def _deliver_at(entry: bytes) -> int:
    i, end = metadata_bounds(entry)
    found = 0
    while i < end:
        tag = entry[i]
        after = i + 1
        if tag < 8 or tag >= 128:
            tag, after = short_tag(entry, i)
        form = tag & 7
        if form == 2:
            n = entry[after]
            i = after + 1
            if n >= 128:
                n, i = rest_of_varint(entry, i, n)
            i += n
        elif form == 0 and tag == _TAG_DELIVER_AT_TIME:
            n, i = read_varint(entry, after, end)
            found = int64(n)
        elif form == 0 and tag:
            i = after
            while entry[i] >= 128:
                i += 1
            i += 1
            if i > after + 10:
                return 0
        else:
            i = skip_field(entry, i, end)
    return found if i == end else 0
