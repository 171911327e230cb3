"""What a subscription has acknowledged: everything below a floor, single entries above it, parts of batches.

Acknowledgements mostly come in order; then only the floor moves and nothing is stored. Out of order they set bits in
blocks of 256, kept in a dict by block number, so that a hole at the floor with millions of acknowledged entries above
it costs about a bit per entry. When the floor's own bit becomes set, the floor runs up through the ones.

A part of a batch is a mask with a one for every message that is *not* acknowledged yet, as on the wire; masks only
ever lose bits, and an empty one is a whole acknowledgement. Everything here is idempotent, which is what lets the log
replay deltas over a value that has them already.
"""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["AckSet", "delta_floor", "delta_offsets", "delta_parts"]

_BITS: Final = 256
_SHIFT: Final = 8
_LOW: Final = 255
_HEAD = struct.Struct("<QII")
_BLOCK = struct.Struct("<Q32s")
_PART = struct.Struct("<QI")

_KIND_OFFSETS = 1
_KIND_FLOOR = 2
_KIND_PARTS = 3


class AckSet:
    """See the module's text. ``floor`` is the lowest offset that is not acknowledged."""

    def __init__(self, floor: int = 0) -> None:
        self.floor: int = floor
        self.blocks: dict[int, int] = {}
        self.parts: dict[int, int] = {}
        self.above: int = 0
        """How many whole entries above the floor are acknowledged."""

    def contains(self, offset: int) -> bool:
        """Whether the whole entry at ``offset`` is acknowledged."""
        if offset < self.floor:
            return True
        if not self.above:
            return False
        return (self.blocks.get(offset >> _SHIFT, 0) >> (offset & _LOW)) & 1 == 1

    def add(self, offset: int) -> bool:
        """Acknowledge one entry; False when it was acknowledged before."""
        floor = self.floor
        if offset < floor:
            return False
        if self.parts:
            self.parts.pop(offset, None)
        if offset == floor:
            floor += 1
            self.floor = floor
            if self.blocks:
                if floor & _LOW == 0:
                    self.blocks.pop((floor >> _SHIFT) - 1, None)
                self._run_up()
            return True
        block = offset >> _SHIFT
        old = self.blocks.get(block, 0)
        new = old | (1 << (offset & _LOW))
        if new == old:
            return False
        self.blocks[block] = new
        self.above += 1
        return True

    def _run_up(self) -> None:
        """Move the floor over the ones that now lie directly at it."""
        while self.above:
            block = self.floor >> _SHIFT
            bits = self.blocks.get(block)
            if bits is None:
                return
            rest = bits >> (self.floor & _LOW)
            ones = (~rest & (rest + 1)).bit_length() - 1
            if not ones:
                return
            self.floor += ones
            self.above -= ones
            if self.floor >> _SHIFT != block:
                del self.blocks[block]
        self.blocks.clear()

    def add_to(self, offset: int) -> bool:
        """Acknowledge everything up to and including ``offset``; False when the floor is above it already."""
        return self.raise_floor(offset + 1)

    def raise_floor(self, floor: int) -> bool:
        """Acknowledge everything below ``floor``."""
        if floor <= self.floor:
            return False
        self.floor = floor
        if self.blocks:
            self._cut()
            self._run_up()
        if self.parts:
            for offset in [o for o in self.parts if o < self.floor]:
                del self.parts[offset]
        return True

    def _cut(self) -> None:
        """Drop the bits below the floor and count again what is above it."""
        edge, low = self.floor >> _SHIFT, self.floor & _LOW
        for block in [b for b in self.blocks if b < edge]:
            del self.blocks[block]
        kept = self.blocks.pop(edge, 0) >> low << low
        if kept:
            self.blocks[edge] = kept
        self.above = sum(bits.bit_count() for bits in self.blocks.values())

    def behind(self, count: int) -> int:
        """The offset behind the first ``count`` entries that are not acknowledged."""
        self._cut()
        at = self.floor
        for block in sorted(self.blocks):
            gap = max((block << _SHIFT) - at, 0)
            if count <= gap:
                break
            count -= gap
            at += gap
            bits, size = self.blocks[block] >> (at & _LOW), _BITS - (at & _LOW)
            if count > size - bits.bit_count():
                count -= size - bits.bit_count()
                at += size
                continue
            while count:
                count -= ~bits & 1
                bits >>= 1
                at += 1
        return at + count

    def part(self, offset: int) -> int:
        """The mask of what is left of the batch at ``offset``; -1 when nothing of it was acknowledged singly."""
        return self.parts.get(offset, -1) if self.parts else -1

    def keep_part(self, offset: int, left: int) -> int:
        """Of the batch at ``offset`` only ``left`` may still be open; the mask that is open now, 0 when none is."""
        if self.contains(offset):
            return 0
        left &= self.parts.get(offset, -1)
        if left:
            self.parts[offset] = left
        else:
            self.add(offset)
        return left

    def ranges(self, limit: int = 1 << 30) -> list[tuple[int, int]]:
        """Acknowledged runs above the floor as (first, last), ascending, at most ``limit`` of them."""
        found: list[tuple[int, int]] = []
        self._cut()
        for block in sorted(self.blocks):
            bits, at = self.blocks[block], block << _SHIFT
            while bits:
                zeros = (bits & -bits).bit_length() - 1
                bits >>= zeros
                ones = (~bits & (bits + 1)).bit_length() - 1
                first = at + zeros
                if found and found[-1][1] == first - 1:
                    found[-1] = (found[-1][0], first + ones - 1)
                elif len(found) >= limit:
                    return found
                else:
                    found.append((first, first + ones - 1))
                bits >>= ones
                at = first + ones
        return found

    # -- bytes for the log ---------------------------------------------------------------------------------------

    def encode(self) -> bytes:
        """The whole set as bytes."""
        self._cut()
        out = [_HEAD.pack(self.floor, len(self.blocks), len(self.parts))]
        out.extend(_BLOCK.pack(block, self.blocks[block].to_bytes(32, "little")) for block in sorted(self.blocks))
        out.extend(_encode_part(offset, self.parts[offset]) for offset in sorted(self.parts))
        return b"".join(out)

    @staticmethod
    def decode(data: bytes, at: int = 0) -> AckSet:
        """The inverse of ``encode``."""
        floor, blocks, parts = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        found = AckSet(floor)
        for _ in range(blocks):
            block, bits = _BLOCK.unpack_from(data, at)
            at += _BLOCK.size
            found.blocks[block] = int.from_bytes(bits, "little")
        found.above = sum(bits.bit_count() for bits in found.blocks.values())
        for _ in range(parts):
            offset, left, at = _decode_part(data, at)
            found.parts[offset] = left
        return found

    def merge(self, delta: bytes) -> None:
        """Apply a delta made by ``delta_offsets``, ``delta_floor`` or ``delta_parts``."""
        kind = delta[0]
        if kind == _KIND_OFFSETS:
            for (offset,) in struct.iter_unpack("<Q", delta[1:]):
                self.add(offset)
        elif kind == _KIND_FLOOR:
            (floor,) = struct.unpack_from("<Q", delta, 1)
            self.raise_floor(floor)
        elif kind == _KIND_PARTS:
            at = 1
            while at < len(delta):
                offset, left, at = _decode_part(delta, at)
                self.keep_part(offset, left)
        else:
            raise ValueError(f"acknowledgement delta of unknown kind {kind}")


def delta_offsets(offsets: list[int]) -> bytes:
    """Single entries were acknowledged."""
    return struct.pack(f"<B{len(offsets)}Q", _KIND_OFFSETS, *offsets)


def delta_floor(floor: int) -> bytes:
    """Everything below ``floor`` was acknowledged."""
    return struct.pack("<BQ", _KIND_FLOOR, floor)


def delta_parts(parts: dict[int, int]) -> bytes:
    """Of these batches only the given masks are still open."""
    return bytes((_KIND_PARTS,)) + b"".join(_encode_part(offset, parts[offset]) for offset in sorted(parts))


def _encode_part(offset: int, left: int) -> bytes:
    bits = left.to_bytes((left.bit_length() + 7) // 8 or 1, "little")
    return _PART.pack(offset, len(bits)) + bits


def _decode_part(data: bytes, at: int) -> tuple[int, int, int]:
    offset, size = _PART.unpack_from(data, at)
    at += _PART.size
    return offset, int.from_bytes(data[at : at + size], "little"), at + size
