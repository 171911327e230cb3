"""Decompression: what clients send is read, what nobody sends is refused."""

from __future__ import annotations

import random
import zlib

import pytest

from magnetar.wire.compression import LZ4, NONE, SNAPPY, ZLIB, can_decompress, decompress
from magnetar.wire.errors import WireError

# "abcabcabcabcabc-and-the-end": literals, a copy that reaches into itself, literals.
TEXT = b"abcabcabcabcabc-and-the-end"
PACKED = {
    NONE: TEXT,
    ZLIB: zlib.compress(TEXT),
    LZ4: b"\x38abc\x03\x00" + b"\xc0-and-the-end",
    SNAPPY: b"\x1b" + b"\x08abc" + bytes((1 | (11 - 4) << 2, 3)) + b"\x00a" + b"",
}
PACKED[SNAPPY] = b"\x1b\x08abc" + bytes((1 | (11 - 4) << 2, 3)) + bytes((12 << 2,)) + b"c-and-the-end"


@pytest.mark.parametrize("kind", sorted(PACKED))
def test_payloads_are_read(kind: int) -> None:
    assert can_decompress(kind)
    assert decompress(kind, PACKED[kind], len(TEXT)) == TEXT


@pytest.mark.parametrize("length", [14, 15, 16, 269, 270, 271, 70_000])
def test_long_literals_and_copies_of_lz4(length: int) -> None:
    def counted(rest: int) -> bytes:
        return b"" if rest < 15 else bytes([255] * ((rest - 15) // 255) + [(rest - 15) % 255])

    token = min(length, 15) << 4 | min(length, 15)
    literals = bytes(random.Random(length).randbytes(length))
    packed = bytes([token]) + counted(length) + literals + (14).to_bytes(2, "little") + counted(length) + b"\x10!"
    copied = (literals[-14:] * (length // 14 + 2))[: length + 4]
    assert decompress(LZ4, packed, 2 * length + 5) == literals + copied + b"!"


@pytest.mark.parametrize("length", [1, 60, 61, 256, 70_000])
def test_long_literals_and_far_copies_of_snappy(length: int) -> None:
    literals = random.Random(length).randbytes(length)
    width = (length - 1).bit_length() // 8 + 1
    tag = bytes([(length - 1) << 2]) if length <= 60 else bytes([(59 + width) << 2])
    packed = b"\xff\x01" + tag + (b"" if length <= 60 else (length - 1).to_bytes(width, "little")) + literals
    packed += bytes([2 | 63 << 2]) + min(length, 65_535).to_bytes(2, "little")
    packed += bytes([3 | 0 << 2]) + length.to_bytes(4, "little")
    back = min(length, 65_535)
    wanted = literals + (literals[-back:] * 64)[:64]
    assert decompress(SNAPPY, packed, length + 65) == wanted + wanted[-length : len(wanted) - length + 1][:1]


@pytest.mark.parametrize("kind", [LZ4, ZLIB, SNAPPY])
def test_a_size_that_is_not_true_is_refused(kind: int) -> None:
    for size in (0, len(TEXT) - 1, len(TEXT) + 1):
        with pytest.raises(WireError):
            decompress(kind, PACKED[kind], size)


@pytest.mark.parametrize("kind", [LZ4, ZLIB, SNAPPY])
def test_garbage_is_refused_or_read_but_never_larger_than_said(kind: int) -> None:
    chance = random.Random(kind)
    for _ in range(2_000):
        data = bytearray(PACKED[kind])
        for _ in range(chance.randint(0, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        cut = bytes(data[: chance.randint(0, len(data))])
        try:
            assert len(decompress(kind, cut, 1_000)) == 1_000
        except WireError:
            continue


def test_kinds_that_nobody_knows() -> None:
    assert not can_decompress(99)
    with pytest.raises(WireError):
        decompress(99, b"x", 1)
