"""The load's own reading of the protocol, alone and against protobuf's rules."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import wire

numbers = st.integers(0, 2**64 - 1)
fields = st.dictionaries(st.integers(1, 500), numbers | st.binary(max_size=300), max_size=8)


@given(numbers)
def test_a_varint_is_read_as_written(number: int) -> None:
    data = wire.varint(number)
    assert wire.read_varint(b"x" + data + b"y", 1) == (number, 1 + len(data))


def test_a_negative_number_takes_ten_bytes() -> None:
    assert wire.varint(-1) == b"\xff" * 9 + b"\x01"


def test_a_varint_that_is_cut_off_is_refused() -> None:
    with pytest.raises(wire.BadFrameError):
        wire.read_varint(b"\x80\x80", 0)
    with pytest.raises(wire.BadFrameError):
        wire.read_varint(b"\x80" * 11, 0)


@given(fields)
def test_fields_are_read_as_written(values: dict[int, int | bytes]) -> None:
    data = b"".join(wire.field(number, value) for number, value in values.items())
    assert wire.read_fields(data) == {number: [value] for number, value in values.items()}


def test_a_field_that_runs_past_the_end_is_refused() -> None:
    with pytest.raises(wire.BadFrameError):
        wire.read_fields(wire.field(3, b"abcdef")[:-1])


def test_the_wrong_kind_of_field_is_refused() -> None:
    read = wire.read_fields(wire.field(1, 5) + wire.field(2, "five"))
    assert (wire.integer(read, 1), wire.blob(read, 2)) == (5, b"five")
    assert (wire.integer(read, 9, 7), wire.blob(read, 9)) == (7, b"")
    with pytest.raises(wire.BadFrameError):
        wire.blob(read, 1)
    with pytest.raises(wire.BadFrameError):
        wire.integer(read, 2)


def test_a_command_has_the_known_bytes() -> None:
    assert wire.command(wire.PING).hex() == "000000090000000508129201" + "00"
    assert wire.command(wire.FLOW, wire.field(1, 1), wire.field(2, 5)).hex() == "0000000c00000008080b5a0408011005"


@given(st.lists(st.tuples(st.integers(2, 81), st.binary(max_size=40), st.binary(max_size=40)), max_size=6), st.data())
def test_frames_are_cut_where_they_end(items: list[tuple[int, bytes, bytes]], draw: st.DataObject) -> None:
    frames = [wire.frame(wire.base_command(kind, body), payload) for kind, body, payload in items]
    data = b"".join(frames)
    keep = draw.draw(st.integers(0, len(data)))
    whole = list(wire.cut(data[:keep]))
    ends = [sum(len(frame) for frame in frames[: count + 1]) for count in range(len(frames))]
    assert [found.end for found in whole] == [end for end in ends if end <= keep]
    for found, (kind, body, payload) in zip(whole, items, strict=False):
        assert found.kind == kind
        assert wire.blob(wire.read_fields(data[found.command : found.payload]), kind) == body
        assert data[found.payload : found.end] == payload


@pytest.mark.parametrize("header", [struct.pack(">II", 4, 5), struct.pack(">II", 1 << 30, 5), struct.pack(">II", 5, 1)])
def test_impossible_lengths_are_refused(header: bytes) -> None:
    with pytest.raises(wire.BadFrameError):
        list(wire.cut(header + bytes(20)))


@given(st.binary(max_size=60), st.binary(max_size=200), st.integers(0, 10_000))
def test_a_checksum_notices_a_flipped_bit(metadata: bytes, payload: bytes, where: int) -> None:
    section = wire.with_checksum(metadata, payload)
    assert wire.checksum_holds(section) is True
    at = 2 + where % (len(section) - 2)
    assert wire.checksum_holds(section[:at] + bytes((section[at] ^ 1,)) + section[at + 1 :]) is False
    assert wire.checksum_holds(section[6:]) is None
