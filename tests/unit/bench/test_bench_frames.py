"""What the load is going to send, read back by the slow reader."""

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import wire
from bench.frames import FIRST_SEQUENCE, Load, key_of, prepare


@st.composite
def loads(draw: st.DrawFn) -> Load:
    batch = draw(st.sampled_from([1, 1, 3, 100]))
    return Load(
        messages=batch * draw(st.integers(1, 40)),
        first=draw(st.integers(0, 2**31)),
        size=draw(st.integers(8, 200)),
        batch=batch,
        producers=draw(st.integers(1, 127)),
        keys=draw(st.integers(0, 20)),
    )


def indexes(load: Load, metadata: wire.Fields, payload: bytes) -> list[int]:
    if load.batch == 1:
        assert 11 not in metadata
        assert len(payload) == load.size
        return [int.from_bytes(payload[-8:], "big")]
    out, at = [], 0
    for _ in range(wire.integer(metadata, 11)):
        size = struct.unpack_from(">I", payload, at)[0]
        single = wire.read_fields(payload[at + 4 : at + 4 + size])
        at += 4 + size + wire.integer(single, 3)
        out.append(int.from_bytes(payload[at - 8 : at], "big"))
    assert at == len(payload)
    return out


@given(loads())
def test_every_frame_says_what_was_asked_for(load: Load) -> None:
    prepared = prepare(load)
    data = bytes(prepared.data)
    seen: list[int] = []
    expected = b""
    for entry, found in enumerate(wire.cut(data)):
        assert (found.kind, found.start) == (wire.SEND, entry * prepared.stride)
        send = wire.command_fields(wire.SEND, data[found.command : found.payload])
        assert wire.integer(send, 1) == entry % load.producers + 1
        assert wire.integer(send, 2) == FIRST_SEQUENCE + entry
        assert wire.integer(send, 3, 1) == load.batch
        section = data[found.payload : found.end]
        assert wire.checksum_holds(section)
        size = struct.unpack_from(">I", section, 6)[0]
        metadata = wire.read_fields(section[10 : 10 + size])
        assert wire.integer(metadata, 2) == FIRST_SEQUENCE + entry
        first = load.first + entry * load.batch
        assert wire.blob(metadata, 6) == (key_of(first % load.keys).encode() if load.keys else b"")
        seen += indexes(load, metadata, section[10 + size :])
        expected += bytes((entry % load.producers + 1,)) + wire.varint(FIRST_SEQUENCE + entry)
    assert seen == list(range(load.first, load.first + load.messages))
    assert prepared.receipts == expected


WRONG = [lambda: Load(0), lambda: Load(5, batch=2), lambda: Load(2, producers=128), lambda: Load(2, size=7)]


@pytest.mark.parametrize("make", WRONG)
def test_what_the_fixed_widths_cannot_hold_is_refused(make: Callable[[], Load]) -> None:
    with pytest.raises(ValueError, match=r"batches|producers|bytes"):
        make()
