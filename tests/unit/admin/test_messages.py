"""Payloads that a producer has compressed, or says so; and headers that no metadata can break."""

from __future__ import annotations

import contextlib
import zlib

import cramjam
import pytest

from magnetar.admin.answers import Refusal
from magnetar.admin.messages import message_answer, unpacked
from magnetar.wire.compression import UNPACKED_BYTES_MAX
from tests.support.corebroker import entry_of

TEXT = b"again and again " * 100
PACKED = {
    1: bytes(cramjam.lz4.compress_block(TEXT, store_size=False)),
    2: zlib.compress(TEXT),
    3: bytes(cramjam.zstd.compress(TEXT)),
    4: bytes(cramjam.snappy.compress_raw(TEXT)),
}


@pytest.mark.parametrize("kind", PACKED)
def test_what_was_compressed_comes_back(kind: int) -> None:
    assert unpacked(kind, PACKED[kind], len(TEXT)) == TEXT


@pytest.mark.parametrize("kind", [*PACKED, 9])
@pytest.mark.parametrize("size", [0, 10, UNPACKED_BYTES_MAX + 1])
def test_what_cannot_be_unpacked_is_refused_and_never_grows(kind: int, size: int) -> None:
    for data in (b"", b"nonsense", b"\xff" * 40, PACKED.get(kind, b"")[:-4]):
        with contextlib.suppress(Refusal):
            assert len(unpacked(kind, data, size)) <= max(size, 1)
    if size > UNPACKED_BYTES_MAX:
        with pytest.raises(Refusal):
            unpacked(kind, PACKED.get(kind, b""), size)


def test_a_payload_that_says_it_is_compressed_and_is_not() -> None:
    with pytest.raises(Refusal) as refused:
        message_answer(entry_of(b"plain", compression=3, uncompressed_size=5), 1, 2)
    assert refused.value.status == 412


def test_metadata_cannot_break_a_header() -> None:
    entry = entry_of(b"x", key="a\r\nX-Evil: 1", deliver_at_time=-(1 << 63), event_time=(1 << 64) - 1)
    answer = message_answer(entry, 1, 2)
    assert answer.headers["X-Pulsar-partition-key"] == "a%0D%0AX-Evil%3A 1"
    assert answer.headers["X-Pulsar-deliver-at-time"] == "1970-01-01T00:00:00Z"
    assert answer.headers["X-Pulsar-event-time"] == "9999-12-31T23:59:59.999Z"


def test_an_entry_that_is_none_is_refused() -> None:
    with pytest.raises(Refusal):
        message_answer(b"\x00\x00\xff\xff", 1, 2)
