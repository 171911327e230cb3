"""Varints and the skipping of unknown fields: what all hand-written decoders share.

How the decoders read. Bytes are indexed one at a time, because that is the one form that runs well both interpreted and
compiled. A decoder does not compare its index with the end before each byte. It reads on, and two nets catch what a
comparison would have caught: an index past the whole buffer raises IndexError, which the decoder turns into WireError,
and an index past its own part of the buffer shows after the loop, where it must be equal to the end. What was read from
beyond the end is thrown away with the error, so a truncated field never becomes a value. For that, every decoder first
asks ``check_bounds`` that its part lies inside the buffer, since a negative index would silently read from the back.

Integers on the wire are unsigned. A negative int32 or int64 arrives as the ten-byte varint of its 64-bit two's
complement; ``int32`` and ``int64`` turn it back. Masks of 64 bits are only applied where a tenth byte was read: once
compiled, code is quick with ints below 2**62 and much slower with larger ones.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.errors import WireError

__all__ = ["check_bounds", "int32", "int64", "read_varint", "rest_of_varint", "short_tag", "skip_field", "write_varint"]

_TWO_TO_64: Final = 1 << 64
_INT64_MIN: Final = -(1 << 63)
_GROUP_DEPTH_MAX: Final = 32

_LAST: Final[list[bytes]] = [bytes((n,)) for n in range(128)]
_MORE: Final[list[bytes]] = [bytes((n | 128,)) for n in range(128)]


def check_bounds(buf: bytes, start: int, end: int) -> None:
    """Refuse a part that does not lie inside the buffer."""
    if start < 0 or start > end or end > len(buf):
        raise WireError(f"the part {start}:{end} does not lie inside {len(buf)} bytes")


def rest_of_varint(buf: bytes, i: int, first: int) -> tuple[int, int]:
    """Read on after ``first``, a byte that announced more; the value and the index after it. May raise IndexError."""
    value = first & 0x7F
    shift = 7
    while shift < 70:
        byte = buf[i]
        i += 1
        if byte < 128:
            value |= byte << shift
            if shift == 63:
                value %= _TWO_TO_64
            return value, i
        value |= (byte & 0x7F) << shift
        shift += 7
    raise WireError("a varint of more than ten bytes")


def read_varint(buf: bytes, i: int, end: int) -> tuple[int, int]:
    """Read the unsigned varint that starts at ``i`` and ends before ``end``: its value and the index after it."""
    if i < 0 or i >= end or end > len(buf):
        raise WireError("a varint is missing")
    value = buf[i]
    i += 1
    if value >= 128:
        try:
            value, i = rest_of_varint(buf, i, value)
        except IndexError:
            raise WireError("a varint is cut off") from None
        if i > end:
            raise WireError("a varint is cut off")
    return value, i


def write_varint(n: int) -> bytes:
    """Encode ``n``; a negative number becomes the ten bytes of its 64-bit two's complement."""
    if 0 <= n < 128:
        return _LAST[n]
    if 0 < n < 16384:
        return _MORE[n & 0x7F] + _LAST[n >> 7]
    if n < _INT64_MIN or n >= _TWO_TO_64:
        raise WireError(f"{n} does not fit into 64 bits")
    if n < 0:
        n += _TWO_TO_64
    out = _MORE[n & 0x7F] + _MORE[n >> 7 & 0x7F]
    n >>= 14
    while n >= 128:
        out += _MORE[n & 0x7F]
        n >>= 7
    return out + _LAST[n]


def int32(n: int) -> int:
    """Turn a varint into the signed 32-bit number it carries, as protobuf does: the low half counts."""
    n &= 0xFFFFFFFF
    return n - 0x100000000 if n >= 0x80000000 else n


def int64(n: int) -> int:
    """Turn a varint into the signed 64-bit number it carries."""
    return n - _TWO_TO_64 if n >= 1 << 63 else n


def short_tag(buf: bytes, i: int) -> tuple[int, int]:
    """Read a tag of one or two bytes; a longer one gives 0, which is no field that anything here looks for."""
    tag = buf[i]
    if tag < 8:
        return 0, i
    if tag < 128:
        return tag, i + 1
    high = buf[i + 1]
    if high >= 128:
        return 0, i
    return tag & 0x7F | high << 7, i + 2


def skip_field(buf: bytes, i: int, end: int) -> int:
    """Step over the field whose tag starts at ``i``, whatever it is; the index after it.

    Groups are an old form of nesting that no known command uses; they are stepped over with a bounded stack.
    """
    groups: list[int] = []
    while True:
        tag, i = read_varint(buf, i, end)
        number = tag >> 3
        if number == 0 or tag > 0xFFFFFFFF:
            raise WireError("a field number out of range")
        # A tag with needless bytes could hide a field from a decoder that looks for its shortest form.
        if buf[i - 1] == 0:
            raise WireError("a field number in more bytes than it needs")
        form = tag & 7
        if form == 0:
            _, i = read_varint(buf, i, end)
        elif form == 1:
            i += 8
        elif form == 2:
            length, i = read_varint(buf, i, end)
            i += length
        elif form == 3:
            if len(groups) == _GROUP_DEPTH_MAX:
                raise WireError("groups are nested too deeply")
            groups.append(number)
        elif form == 4:
            if not groups or groups.pop() != number:
                raise WireError("a group ends that did not start")
        elif form == 5:
            i += 4
        else:
            raise WireError(f"a field of unknown form {form}")
        if i > end:
            raise WireError("a field is cut off")
        if not groups:
            return i
