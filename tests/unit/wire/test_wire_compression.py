"""Decompression: what clients send is read, what nobody sends is refused."""

from __future__ import annotations

import random
import zlib

import cramjam
import pytest

from magnetar.wire.compression import LZ4, NONE, SNAPPY, ZLIB, ZSTD, can_decompress, decompress
from magnetar.wire.errors import WireError

TEXT = b"abcabcabcabcabc-and-the-end" * 100
PACKED = {
    NONE: TEXT,
    LZ4: bytes(cramjam.lz4.compress_block(TEXT, store_size=False)),
    ZLIB: zlib.compress(TEXT),
    ZSTD: bytes(cramjam.zstd.compress(TEXT)),
    SNAPPY: bytes(cramjam.snappy.compress_raw(TEXT)),
}


@pytest.mark.parametrize("kind", sorted(PACKED))
def test_payloads_are_read(kind: int) -> None:
    assert can_decompress(kind)
    assert decompress(kind, PACKED[kind], len(TEXT)) == TEXT


@pytest.mark.parametrize("kind", [LZ4, ZLIB, ZSTD, SNAPPY])
def test_a_size_that_is_not_true_is_refused(kind: int) -> None:
    for size in (0, len(TEXT) - 1, len(TEXT) + 1):
        with pytest.raises(WireError):
            decompress(kind, PACKED[kind], size)


@pytest.mark.parametrize("kind", [LZ4, ZLIB, ZSTD, SNAPPY])
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
