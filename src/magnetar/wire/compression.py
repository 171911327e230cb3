"""Decompression of payloads, for the few places where a broker has to look into them.

Zlib is Python's own. LZ4 blocks and Snappy are simple enough to be read here; both are the same idea, runs of literal
bytes and copies of what came before. ZSTD is read where Python or an installed package can. Nothing here trusts what
the data say about sizes: output beyond ``limit`` is an error before it is made.
"""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Final

from magnetar.wire.errors import WireError

__all__ = ["LZ4", "NONE", "SNAPPY", "ZLIB", "ZSTD", "can_decompress", "decompress"]

NONE: Final = 0
LZ4: Final = 1
ZLIB: Final = 2
ZSTD: Final = 3
SNAPPY: Final = 4


def can_decompress(kind: int) -> bool:
    """Whether payloads of this kind can be read here."""
    return kind in (NONE, LZ4, ZLIB, SNAPPY) or (kind == ZSTD and _zstd() is not None)


def decompress(kind: int, data: bytes, size: int) -> bytes:
    """The payload as it was before it was compressed, which must have ``size`` bytes."""
    try:
        if kind == NONE:
            return data
        if kind == LZ4:
            found = _lz4(data, size)
        elif kind == ZLIB:
            found = zlib.decompressobj().decompress(data, size + 1)
        elif kind == SNAPPY:
            found = _snappy(data, size)
        else:
            zstd = _zstd()
            if zstd is None:
                raise WireError("ZSTD cannot be read here: install the package zstandard")
            found = zstd.ZstdDecompressor().decompress(data, size + 1)
    except (IndexError, zlib.error, ValueError) as error:
        raise WireError(f"a compressed payload makes no sense: {error}") from None
    if len(found) != size:
        raise WireError(f"a compressed payload has {len(found)} bytes, not the {size} that its metadata say")
    return found


def _zstd() -> Any:
    for name in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _copy(out: bytearray, distance: int, length: int, limit: int) -> None:
    """Repeat what stands ``distance`` bytes back; the copy may reach into itself."""
    start = len(out) - distance
    if distance <= 0 or start < 0 or len(out) + length > limit:
        raise WireError("a compressed payload refers to what is not there")
    if distance >= length:
        out += out[start : start + length]
        return
    piece = bytes(out[start:])
    out += (piece * (length // distance + 1))[:length]


def _lz4(data: bytes, limit: int) -> bytes:
    out = bytearray()
    i, end = 0, len(data)
    while i < end:
        token = data[i]
        i += 1
        length = token >> 4
        if length == 15:
            while data[i] == 255:
                length += 255
                i += 1
            length += data[i]
            i += 1
        if i + length > end or len(out) + length > limit:
            raise WireError("a compressed payload is cut off")
        out += data[i : i + length]
        i += length
        if i == end:
            break
        distance = data[i] | data[i + 1] << 8
        i += 2
        length = token & 15
        if length == 15:
            while data[i] == 255:
                length += 255
                i += 1
            length += data[i]
            i += 1
        _copy(out, distance, length + 4, limit)
    return bytes(out)


def _snappy(data: bytes, limit: int) -> bytes:
    out = bytearray()
    i, end = 0, len(data)
    while data[i] >= 128:  # the size, which the metadata say as well
        i += 1
    i += 1
    while i < end:
        tag = data[i]
        i += 1
        form = tag & 3
        if form == 0:
            length = (tag >> 2) + 1
            if length > 60:
                more = length - 60
                length = int.from_bytes(data[i : i + more], "little") + 1
                i += more
            if i + length > end or len(out) + length > limit:
                raise WireError("a compressed payload is cut off")
            out += data[i : i + length]
            i += length
        elif form == 1:
            _copy(out, (tag & 0xE0) << 3 | data[i], ((tag >> 2) & 7) + 4, limit)
            i += 1
        else:
            width = 2 if form == 2 else 4
            if i + width > end:
                raise WireError("a compressed payload is cut off")
            _copy(out, int.from_bytes(data[i : i + width], "little"), (tag >> 2) + 1, limit)
            i += width
    return bytes(out)
