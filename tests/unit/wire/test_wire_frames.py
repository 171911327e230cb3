"""Cutting frames out of a stream, and the sizes that are refused."""

from __future__ import annotations

import pytest

from magnetar.wire.frames import FrameError, frame, next_frame, payload_frame


def test_a_frame_is_found_where_it_lies() -> None:
    stream = b"xx" + frame(b"\x08\x12\x92\x01\x00") + payload_frame(b"\x08\x06", b"payload")
    first = next_frame(stream, 2, len(stream), 100)
    assert first == (10, 15, 15)
    start, end, stop = next_frame(stream, 15, len(stream), 100)
    assert stream[start:end] == b"\x08\x06"
    assert stream[end:stop] == b"payload"
    assert stop == len(stream)


def test_every_cut_of_a_frame_is_incomplete() -> None:
    whole = payload_frame(b"\x08\x06\x32\x00", b"payload")
    for size in range(len(whole)):
        assert next_frame(whole[:size], 0, size, 100)[2] == -1
        assert next_frame(whole, 0, size, 100)[2] == -1
    assert next_frame(whole, 0, len(whole), 100)[2] == len(whole)


@pytest.mark.parametrize(
    ("sizes", "what"),
    [
        ("00000065", "a frame of 101 bytes, more than the 100"),
        ("ffffffff", "a frame of 4294967295 bytes"),
        ("00000003", "too small for a command size"),
        ("00000000", "too small for a command size"),
        ("0000000a00000007", "a command of 7 bytes in a frame of 10"),
        ("0000000affffffff", "a command of 4294967295 bytes in a frame of 10"),
        ("0000000a00000001", "too small for a type"),
        ("0000000a00000000", "too small for a type"),
    ],
)
def test_impossible_sizes_are_refused_before_the_rest_arrives(sizes: str, what: str) -> None:
    head = bytes.fromhex(sizes)
    with pytest.raises(FrameError, match=what):
        next_frame(head, 0, len(head), 100)


def test_a_frame_of_the_largest_size_is_allowed() -> None:
    whole = payload_frame(b"\x08\x06", b"x" * 94)
    assert next_frame(whole, 0, len(whole), 100) == (8, 10, 104)


def test_bounds_outside_the_buffer_are_refused() -> None:
    with pytest.raises(FrameError):
        next_frame(b"\x00\x00\x00\x06", 0, 5, 100)
    with pytest.raises(FrameError):
        next_frame(b"\x00\x00\x00\x06", -4, 4, 100)
