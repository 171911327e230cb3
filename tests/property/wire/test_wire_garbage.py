"""Whatever the bytes are, a decoder answers or raises WireError; and what it answers, protobuf would say too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from magnetar.wire import batch, commands, delivery, entry, frames, hot, metadata
from magnetar.wire.commands import pb
from magnetar.wire.errors import WireError
from magnetar.wire.varint import skip_field
from tests.property.wire.wire_strategies import messages, shuffled

Decoder = Callable[[bytes, int, int], object]

BODIES: dict[str, tuple[type[Message], Decoder]] = {
    "send": (pb.CommandSend, hot.decode_send),
    "ack": (pb.CommandAck, hot.decode_ack),
    "flow": (pb.CommandFlow, hot.decode_flow),
    "redeliver": (pb.CommandRedeliverUnacknowledgedMessages, hot.decode_redeliver),
}

# Bytes that look like fields reach further into the decoders than even noise does.
NOISE = st.one_of(
    st.binary(max_size=60),
    st.lists(
        st.sampled_from(
            [b"\x08", b"\x10", b"\x1a", b"\x12", b"\x28", b"\x2a", b"\x80", b"\xff", b"\x00", b"\x01", b"\x05", b"\x0b"]
        ),
        max_size=40,
    ).map(b"".join),
)


def _try(decode: Decoder, buf: bytes, start: int, end: int) -> object:
    try:
        return decode(buf, start, end)
    except WireError:
        return None


@pytest.mark.parametrize("name", BODIES)
@given(data=st.data())
def test_cut_at_every_byte(name: str, data: st.DataObject) -> None:
    """A cut command is refused, or it is a shorter command that protobuf accepts as well."""
    kind, decode = BODIES[name]
    wire = data.draw(shuffled(data.draw(messages(kind, 1))))
    for end in range(len(wire) + 1):
        whole_buffer = _try(decode, wire, 0, end)
        cut_buffer = _try(decode, wire[:end], 0, end)
        shifted = _try(decode, b"\x08\x01" + wire, 2, end + 2)
        assert (whole_buffer is None) == (cut_buffer is None) == (shifted is None)
        if whole_buffer is not None:
            assert kind.FromString(wire[:end]).IsInitialized()
        assert hot.decode_plain_ack(wire, 0, end)[0] == hot.decode_plain_ack(wire[:end], 0, end)[0]


@pytest.mark.parametrize("name", BODIES)
@given(noise=NOISE)
def test_noise_in_bodies(name: str, noise: bytes) -> None:
    kind, decode = BODIES[name]
    if _try(decode, noise, 0, len(noise)) is not None and name in ("send", "flow"):
        theirs = kind()
        # Only nested messages, which are stepped over here, may trouble protobuf where they do not trouble us.
        if b"\x4a" not in noise:
            theirs.ParseFromString(noise)
            assert theirs.IsInitialized()


@given(NOISE)
def test_a_plain_ack_is_never_more_than_an_ack(noise: bytes) -> None:
    for body in (noise, b"\x08\x05\x10\x00\x1a" + noise):
        consumer_id, ledger, number = hot.decode_plain_ack(body, 0, len(body))
        if consumer_id >= 0:
            ack = hot.decode_ack(body, 0, len(body))
            assert (ack.consumer_id, ack.ack_type, ack.request_id, ack.has_txn) == (consumer_id, 0, -1, False)
            assert [(mid.ledger, mid.entry, mid.ack_set, mid.batch_index) for mid in ack.ids] == [
                (ledger, number, None, -1)
            ]


@given(NOISE)
def test_noise_in_commands(noise: bytes) -> None:
    for command in (noise, b"\x08\x06\x32" + noise):
        found = _try(hot.split, command, 0, len(command))
        if isinstance(found, tuple):
            kind, start, end = found
            assert kind > 0
            assert 0 <= start <= end <= len(command)
        _try(commands.decode, command, 0, len(command))


@given(st.data(), st.sampled_from(sorted(commands.NAMES)))
def test_every_command_with_its_fields_in_any_order(data: st.DataObject, kind: int) -> None:
    field = pb.BaseCommand.DESCRIPTOR.fields_by_number[kind].name
    message = data.draw(messages(type(getattr(pb.BaseCommand(), field)), 1))
    framed = commands.encode(message)
    assert commands.decode(framed, 8, len(framed)) == (kind, message)
    whole = pb.BaseCommand(type=commands.NAMES[kind])
    getattr(whole, field).CopyFrom(message)
    wire = data.draw(shuffled(whole))
    assert commands.decode(wire, 0, len(wire)) == (kind, message)
    for end in range(len(wire)):
        _try(commands.decode, wire, 0, end)


@given(NOISE, st.integers(0, 12))
def test_noise_in_entries(noise: bytes, count: int) -> None:
    def each(made: bytes, _start: int, _end: int) -> None:
        assert isinstance(metadata.sticky_key(made), bytes)
        for look in (
            metadata.peek,
            delivery.peek_deliver_at,
            metadata.peek_publish_time,
            entry.checksum_ok,
            entry.metadata_bounds,
            entry.strip_checksum,
            entry.strip_broker_metadata,
        ):
            try:
                look(made)
            except WireError:
                continue

    for made in (noise, b"\x0e\x01" + noise, b"\x0e\x02\x00\x00\x00\x01" + noise, entry.seal(noise, noise)):
        each(made, 0, 0)
    _try(lambda buf, _start, _end: batch.iter_batch(buf, count), noise, 0, 0)


@given(st.data(), messages(pb.MessageMetadata, 1))
def test_metadata_cut_at_every_byte(data: st.DataObject, message: pb.MessageMetadata) -> None:
    wire = data.draw(shuffled(message))
    for end in range(len(wire) + 1):
        made = entry.seal(wire[:end], b"")
        try:
            found = metadata.peek(made)
        except WireError:
            continue
        theirs = pb.MessageMetadata.FromString(wire[:end])
        assert theirs.IsInitialized()
        assert (found.sequence_id, found.publish_time) == (theirs.sequence_id, theirs.publish_time)


@given(NOISE, st.integers(0, 20))
def test_noise_in_frames(noise: bytes, start: int) -> None:
    try:
        command_start, command_end, frame_end = frames.next_frame(noise, start, len(noise), 1 << 20)
    except WireError:
        return
    if frame_end >= 0:
        assert start + 8 == command_start < command_end <= frame_end <= len(noise)


@given(NOISE)
def test_skipping_always_moves_on(noise: bytes) -> None:
    i = 0
    try:
        while i < len(noise):
            after = skip_field(noise, i, len(noise))
            assert i < after <= len(noise)
            i = after
    except WireError:
        return
