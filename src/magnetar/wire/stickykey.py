"""The key by which Key_Shared keeps messages together, found in the metadata of an entry."""

from __future__ import annotations

import binascii
from typing import Final

from magnetar.wire.entry import metadata_bounds
from magnetar.wire.errors import WireError
from magnetar.wire.varint import int64, read_varint, rest_of_varint, short_tag, skip_field

__all__ = ["NONE_KEY", "sticky_key"]

NONE_KEY: Final = b"NONE_KEY"
"""The sticky key of an entry whose metadata cannot be understood."""

_TAG_PRODUCER_NAME: Final = 1 << 3 | 2
_TAG_SEQUENCE_ID: Final = 2 << 3
_TAG_PARTITION_KEY: Final = 6 << 3 | 2
_TAG_PARTITION_KEY_B64: Final = 17 << 3
_TAG_ORDERING_KEY: Final = 18 << 3 | 2


def sticky_key(entry: bytes) -> bytes:
    """Find the key by which Key_Shared keeps messages together.

    It is the ordering key; else the partition key, decoded where it is flagged as base64; else a text that is unique to
    the message, ``producerName-sequenceId``. What cannot be understood shares ``NONE_KEY``.
    """
    try:
        return _sticky_key(entry)
    except (WireError, IndexError, binascii.Error):
        return NONE_KEY


def _sticky_key(entry: bytes) -> bytes:
    i, end = metadata_bounds(entry)
    ordering_start = ordering_end = key_start = key_end = -1
    name_start = name_end = sequence_at = -1
    in_base64 = False
    while i < end:
        tag = entry[i]
        after = i + 1
        if tag < 8 or tag >= 128:
            tag, after = short_tag(entry, i)
        form = tag & 7
        if form == 0 and tag:
            # Of numbers only the place is of interest, but for one flag.
            i = after + 1
            if entry[after] >= 128:
                while entry[i] >= 128:
                    i += 1
                i += 1
                if i > after + 10:
                    return NONE_KEY
            if tag == _TAG_SEQUENCE_ID:
                sequence_at = after
            elif tag == _TAG_PARTITION_KEY_B64:
                in_base64 = read_varint(entry, after, end)[0] != 0
        elif form == 2:
            n = entry[after]
            i = after + 1
            if n >= 128:
                n, i = rest_of_varint(entry, i, n)
            if tag == _TAG_PRODUCER_NAME:
                name_start = i
                name_end = i + n
            elif tag == _TAG_PARTITION_KEY:
                key_start = i
                key_end = i + n
            elif tag == _TAG_ORDERING_KEY:
                ordering_start = i
                ordering_end = i + n
            i += n
        else:
            i = skip_field(entry, i, end)
    if i != end or name_start < 0 or sequence_at < 0:
        return NONE_KEY
    if ordering_start >= 0:
        return entry[ordering_start:ordering_end]
    if key_start >= 0:
        key = entry[key_start:key_end]
        return _from_base64(key) if in_base64 else key
    return entry[name_start:name_end] + b"-%d" % int64(read_varint(entry, sequence_at, end)[0])


def _from_base64(text: bytes) -> bytes:
    # Writers may leave the padding out, but may not get it wrong.
    if b"=" not in text:
        text += b"=" * (-len(text) % 4)
    return binascii.a2b_base64(text, strict_mode=True)
