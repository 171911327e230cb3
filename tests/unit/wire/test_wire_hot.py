"""Single cases of the hot decoders that a generator would rarely find."""

from __future__ import annotations

import pytest

from magnetar.wire import hot
from magnetar.wire.commands import pb
from magnetar.wire.errors import WireError
from magnetar.wire.varint import skip_field

MINUS_ONE = b"\xff" * 9 + b"\x01"


def _send(body: bytes) -> tuple[int, int, int, int, int]:
    return hot.decode_send(body, 0, len(body))


def test_varints() -> None:
    for n in (0, 1, 127, 128, 300, 16383, 16384, 1 << 21, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
        wire = hot.write_varint(n)
        assert hot.read_varint(wire, 0, len(wire)) == (n, len(wire))
    assert hot.write_varint(-1) == MINUS_ONE
    assert hot.write_varint(-(1 << 63)) == hot.write_varint(1 << 63)


def test_bits_beyond_the_64th_are_dropped_as_protobuf_does() -> None:
    wire = b"\xff" * 9 + b"\x7f"
    assert hot.read_varint(wire, 0, 10) == ((1 << 64) - 1, 10)
    assert pb.CommandSuccess.FromString(b"\x08" + wire).request_id == (1 << 64) - 1


@pytest.mark.parametrize("n", [1 << 64, -(1 << 63) - 1, -(1 << 64)])
def test_numbers_beyond_64_bits_are_not_written(n: int) -> None:
    with pytest.raises(WireError):
        hot.write_varint(n)


@pytest.mark.parametrize("wire", [b"", b"\x80", b"\xff" * 9, b"\xff" * 10 + b"\x01", b"\x80" * 40])
def test_varints_that_are_cut_or_too_long(wire: bytes) -> None:
    with pytest.raises(WireError):
        hot.read_varint(wire, 0, len(wire))
    with pytest.raises(WireError):
        hot.read_varint(wire + b"\x01", 0, len(wire))


def test_the_last_of_a_repeated_scalar_wins() -> None:
    assert _send(b"\x08\x01\x10\x02\x08\x05\x38\x01\x38\x00\x40\x01") == (5, 2, 1, 0, hot.SEND_MARKER)
    assert _send(b"\x08\x01\x10\x02\x08\x05\x40\x01\x40\x00\x38\x01") == (5, 2, 1, 0, hot.SEND_CHUNK)


def test_any_order_and_unknown_fields() -> None:
    unknown = b"\x52\x03abc" + b"\x99\x06" + b"12345678" + b"\x9d\x06" + b"1234" + b"\xa0\x06\x05" + b"\x53\x54"
    assert _send(unknown + b"\x30\x09\x10\x02" + unknown + b"\x08\x01") == (1, 2, 1, 9, 0)


def test_flags_of_send() -> None:
    assert _send(b"\x08\x01\x10\x02\x38\x01")[4] == hot.SEND_CHUNK
    assert _send(b"\x08\x01\x10\x02\x20\x00\x28\x00")[4] == hot.SEND_HAS_TXN
    assert _send(b"\x08\x01\x10\x02\x4a\x04\x08\x01\x10\x01")[4] == hot.SEND_HAS_ID


def test_a_field_in_a_foreign_form_counts_as_unknown() -> None:
    with pytest.raises(WireError, match="lacks"):
        _send(b"\x0a\x01\x01\x10\x02")


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x01",
        b"\x08\x01\x10\x02\x00\x00",
        b"\x08\x01\x10\x02\x88\x00\x07",  # producer_id again, its tag in two bytes
        b"\x08\x01\x10\x02\x0f",
        b"\x08\x01\x10\x02\x54",
        b"\x08\x01\x10\x02\x53",
        b"\x08\x01\x10\x02\x53\x5c",
        b"\x08\x01\x10\x02" + b"\x53" * 33 + b"\x54" * 33,
        b"\x08\x01\x10\x02\x52" + b"\xff" * 9 + b"\x01",
    ],
)
def test_malformed_fields(body: bytes) -> None:
    with pytest.raises(WireError):
        _send(body)


def test_a_decoder_does_not_read_beyond_its_end() -> None:
    body = b"\x08\x01\x10\x82\x01"
    assert hot.decode_send(body, 0, 5)[1] == 130
    with pytest.raises(WireError):
        hot.decode_send(body, 0, 4)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (-4, 0), (0, 9), (3, 2)])
def test_bounds_outside_the_buffer(start: int, end: int) -> None:
    body = b"\x08\x01\x10\x02"
    for decode in (hot.split, hot.decode_send, hot.decode_flow, hot.decode_ack, hot.decode_redeliver):
        with pytest.raises(WireError):
            decode(body, start, end)
    assert hot.decode_plain_ack(body, start, end) == (-1, 0, 0)


def test_split_in_unusual_order() -> None:
    body = b"\x08\x01\x10\x02"
    for command in (
        b"\x32\x04" + body + b"\x08\x06",
        b"\x08\x06\x3a\x01x\x32\x04" + body,
        b"\x08\x06\x32\x84\x00" + body,
        b"\x08\x07\x08\x06\x32\x04" + body + b"\x3a\x01x",
    ):
        kind, start, end = hot.split(command, 0, len(command))
        assert (kind, command[start:end]) == (6, body)


def test_split_with_a_two_byte_length() -> None:
    command = b"\x08\x0e\x72\xc8\x01" + b"x" * 200
    assert hot.split(command, 0, len(command)) == (14, 5, 205)


def test_split_without_a_body() -> None:
    assert hot.split(b"\x08\x12", 0, 2) == (18, 2, 2)


@pytest.mark.parametrize(
    "command",
    [
        b"",
        b"\x32\x04\x08\x01\x10\x02",  # no type
        b"\x08\x00\x02\x00",
        b"\x08" + MINUS_ONE,
        b"\x08\x06\x32\x05\x08\x01\x10\x02",  # the body reaches beyond the end
        b"\x08\x06\x32\x00\x32\x00",  # two bodies
        b"\x08\x06\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ],
)
def test_split_refuses(command: bytes) -> None:
    with pytest.raises(WireError):
        hot.split(command, 0, len(command))


def _plain(body: bytes) -> tuple[int, int, int]:
    return hot.decode_plain_ack(body, 0, len(body))


def test_plain_ack_with_partition_and_no_batch_index() -> None:
    mid = b"\x08\x03\x10\x04\x18" + MINUS_ONE + b"\x20" + MINUS_ONE
    assert _plain(b"\x08\x05\x10\x00\x1a" + bytes((len(mid),)) + mid) == (5, 3, 4)
    assert _plain(b"\x08\x05\x10\x00\x1a\x06\x08\x03\x10\x04\x18\x02") == (5, 3, 4)


@pytest.mark.parametrize(
    "body",
    [
        b"\x08\x05\x10\x01\x1a\x04\x08\x03\x10\x04",  # cumulative
        b"\x08\x05\x10\x00\x1a\x04\x08\x03\x10\x04\x40\x01",  # wants a receipt
        b"\x08\x05\x10\x00\x1a\x04\x08\x03\x10\x04\x1a\x04\x08\x03\x10\x05",  # two ids
        b"\x08\x05\x10\x00\x1a\x06\x08\x03\x10\x04\x20\x00",  # one message of a batch
        b"\x08\x05\x10\x00\x1a\x06\x08\x03\x10\x04\x28\x01",  # an ack_set
        b"\x08\x05\x10\x00\x1a\x04\x08\x03\x10\x04\x30\x00\x38\x00",  # a transaction
        b"\x08\x05\x10\x00\x1a\x04\x08\x03\x10\x04\x20\x02",  # a validation error
        b"\x08\x05\x10\x00",
        b"",
    ],
)
def test_an_ack_that_is_not_plain(body: bytes) -> None:
    assert _plain(body)[0] == -1


def test_an_ack_whose_id_has_a_length_of_two_bytes_is_not_taken_for_a_plain_one() -> None:
    mid = b"\x08\x03\x10\x04\x18\x02" + MINUS_ONE * 13
    body = b"\x08\x05\x10\x00\x1a" + bytes((0x86,)) + mid[:0x86]
    for size in range(len(body) + 1):
        assert hot.decode_plain_ack(body, 0, size)[0] == -1


def test_an_ack_of_an_unknown_kind_is_refused() -> None:
    body = b"\x08\x05\x10\x02"
    with pytest.raises(WireError, match="ack_type"):
        hot.decode_ack(body, 0, len(body))


def test_ack_set_packed_and_unpacked() -> None:
    packed = b"\x08\x03\x10\x04\x2a\x0c\x05" + MINUS_ONE + b"\x07"
    plain = b"\x08\x03\x10\x04\x28\x05\x28" + MINUS_ONE + b"\x28\x07"
    for mid in (packed, plain):
        body = b"\x08\x05\x10\x00\x1a" + bytes((len(mid),)) + mid
        assert hot.decode_ack(body, 0, len(body)).ids[0].ack_set == [5, (1 << 64) - 1, 7]


def test_a_packed_word_does_not_reach_beyond_its_list() -> None:
    body = b"\x08\x05\x10\x00\x1a\x08\x08\x03\x10\x04\x2a\x01\x85\x01"
    with pytest.raises(WireError):
        hot.decode_ack(body, 0, len(body))


def test_lengths_are_checked_before_anything_is_made() -> None:
    for body in (
        b"\x08\x05\x10\x00\x1a\xff\xff\xff\xff\x0f",
        b"\x08\x05\x10\x00\x1a\x0a\x08\x03\x10\x04\x2a\xff\xff\xff\xff\x0f",
    ):
        with pytest.raises(WireError):
            hot.decode_ack(body, 0, len(body))


def test_ids_lack_what_is_required() -> None:
    for body in (b"\x08\x05\x10\x00\x1a\x02\x08\x03", b"\x08\x05\x10\x00\x1a\x02\x10\x03", b"\x08\x05\x10\x00\x1a\x00"):
        with pytest.raises(WireError, match="ledgerId or entryId"):
            hot.decode_ack(body, 0, len(body))


def test_skip_field_steps_over_nested_groups() -> None:
    groups = b"\x0b\x13\x18\x05\x14\x0c"
    assert skip_field(groups + b"\x08\x01", 0, len(groups) + 2) == len(groups)


def test_a_head_for_an_entry_that_no_frame_can_hold() -> None:
    with pytest.raises(WireError):
        hot.message_head(1, 2, 3, -1, 0, None, -1, 1 << 32)
    with pytest.raises(WireError):
        hot.MessageHeads(1, -1, -1).head(2, 3, 1 << 32)
    with pytest.raises(WireError):
        hot.MessageHeads(1, -1, -1).head(2, 3, -1)
