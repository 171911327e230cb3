"""Decompression of payloads, for the few places where a broker has to look into them.

Nothing here trusts what the data say about sizes: a payload that is to become larger than ``UNPACKED_BYTES_MAX`` is
refused before anything is made, and none becomes larger than it is said to be.
"""

from __future__ import annotations

import zlib
from typing import Final

from magnetar.wire.errors import WireError

__all__ = ["LZ4", "NONE", "SNAPPY", "UNPACKED_BYTES_MAX", "ZLIB", "ZSTD", "can_decompress", "decompress"]

NONE: Final = 0
LZ4: Final = 1
ZLIB: Final = 2
ZSTD: Final = 3
SNAPPY: Final = 4

UNPACKED_BYTES_MAX: Final = 128 << 20
"""Clients make batches of a few megabytes at most, but may set their own limits."""


def can_decompress(kind: int) -> bool:
    """Whether payloads of this kind can be read here."""
    return NONE <= kind <= SNAPPY


def decompress(kind: int, data: bytes, size: int) -> bytes:
    """The payload as it was before it was compressed, which must have ``size`` bytes."""
    if size > UNPACKED_BYTES_MAX:
        raise WireError(f"a payload says that it unpacks to {size} bytes; {UNPACKED_BYTES_MAX} are the limit")
    try:
        found = data if kind == NONE else _unpack(kind, data, size)
    except Exception as error:  # noqa: BLE001 - each codec has errors of its own, and the bytes are a producer's
        raise WireError(f"a compressed payload makes no sense: {error}") from None
    if kind != NONE and len(found) != size:
        raise WireError(f"a compressed payload has {len(found)} bytes, not the {size} that its metadata say")
    return found


def _unpack(kind: int, data: bytes, size: int) -> bytes:
    if kind == ZLIB:
        return zlib.decompressobj().decompress(data, size + 1)
    # Only who needs it pays for loading it.
    import cramjam

    target = bytearray(size)
    if kind == LZ4:
        used = cramjam.lz4.decompress_block_into(data, target)
    elif kind == ZSTD:
        used = cramjam.zstd.decompress_into(data, target)
    elif kind == SNAPPY:
        used = cramjam.snappy.decompress_raw_into(data, target)
    else:
        raise WireError(f"nothing is known of compression {kind}")
    return bytes(target[:used])
