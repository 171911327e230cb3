"""Entries: what follows the command of a SEND, and what is stored and delivered as it came.

    [0e02 size broker-entry-metadata]  [0e01 crc32c]  metadata-size metadata  payload

The first two parts are optional. Their magic numbers cannot be mistaken for a metadata size, which would have to be
over 230 MB. The checksum covers everything behind itself.
"""

from __future__ import annotations

from typing import Final

import google_crc32c

from magnetar.wire.errors import WireError
from magnetar.wire.varint import write_varint

__all__ = ["checksum_ok", "metadata_bounds", "seal", "stamp", "strip_broker_metadata", "strip_checksum"]

_CHECKSUM_MAGIC: Final = 0x01
_BROKER_MAGIC: Final = 0x02
_crc32c: Final = google_crc32c.value


def _u32(buf: bytes, i: int) -> int:
    return buf[i] << 24 | buf[i + 1] << 16 | buf[i + 2] << 8 | buf[i + 3]


def _has_magic(entry: bytes, i: int, low: int) -> bool:
    return len(entry) > i + 1 and entry[i] == 0x0E and entry[i + 1] == low


def _after_broker_metadata(entry: bytes) -> int:
    if not _has_magic(entry, 0, _BROKER_MAGIC):
        return 0
    if len(entry) < 6:
        raise WireError("broker entry metadata is cut off")
    i = 6 + _u32(entry, 2)
    if i > len(entry):
        raise WireError("broker entry metadata is cut off")
    return i


def _after_checksum(entry: bytes, i: int) -> int:
    if not _has_magic(entry, i, _CHECKSUM_MAGIC):
        return i
    if len(entry) < i + 6:
        raise WireError("the checksum is cut off")
    return i + 6


def stamp(entry: bytes, time_ms: int, index: int) -> bytes:
    """Put broker entry metadata before an entry that has none; what is below 0 is left out."""
    fields = b""
    if time_ms >= 0:
        fields = b"\x08" + write_varint(time_ms)
    if index >= 0:
        fields += b"\x10" + write_varint(index)
    return b"".join([b"\x0e\x02", len(fields).to_bytes(4, "big"), fields, entry])


def strip_broker_metadata(entry: bytes) -> bytes:
    """Take off the broker entry metadata; without one the entry itself comes back."""
    i = _after_broker_metadata(entry)
    return entry[i:] if i else entry


def strip_checksum(entry: bytes) -> bytes:
    """Take off the checksum, for peers that do not know it; without one the entry itself comes back."""
    i = _after_broker_metadata(entry)
    j = _after_checksum(entry, i)
    if i == j:
        return entry
    return entry[:i] + entry[j:]


def metadata_bounds(entry: bytes) -> tuple[int, int]:
    """Find the message metadata: where it starts and where it ends, which is where the payload starts."""
    i = 0
    if _has_magic(entry, 0, _CHECKSUM_MAGIC):
        i = 6
    elif _has_magic(entry, 0, _BROKER_MAGIC):
        i = _after_checksum(entry, _after_broker_metadata(entry))
    if len(entry) < i + 4:
        raise WireError("an entry without metadata")
    start = i + 4
    end = start + _u32(entry, i)
    if end > len(entry):
        raise WireError("the metadata of an entry is cut off")
    return start, end


def checksum_ok(entry: bytes) -> bool:
    """Compare the checksum with what it covers; an entry without one is as good as it can be."""
    i = 0
    if not _has_magic(entry, 0, _CHECKSUM_MAGIC):
        i = _after_broker_metadata(entry)
        if not _has_magic(entry, i, _CHECKSUM_MAGIC):
            return True
    if len(entry) < i + 6:
        raise WireError("the checksum is cut off")
    # The library takes whole bytes only. The slice costs less than anything that was tried to avoid it.
    actual: int = _crc32c(entry[i + 6 :])
    return actual == _u32(entry, i + 2)


def seal(metadata: bytes, payload: bytes) -> bytes:
    """Build an entry with a checksum from serialized metadata and a payload."""
    rest = b"".join([len(metadata).to_bytes(4, "big"), metadata, payload])
    checksum: int = _crc32c(rest)
    return b"\x0e\x01" + checksum.to_bytes(4, "big") + rest
