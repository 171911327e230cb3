"""Reading by the run gives the same as reading one by one, however the bytes arrive."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import wire
from bench.frames import FIRST_SEQUENCE
from bench.scan import Deliveries, Receipts, ack_frame, frame_end, run_length

ids = st.integers(0, 300)
ledgers = st.sampled_from([0, 7, 127, 128, 70_000])
entries = st.sampled_from([0, 1, 126, 127, 128, 16_383, 16_384])
noise = st.sampled_from([wire.command(wire.PING), wire.command(wire.SUCCESS, wire.field(1, 9))])


def nothing(_kind: int, _command: bytes) -> None:
    pass


def pieces(data: bytes, step: int) -> Iterator[bytes]:
    return (data[at : at + step] for at in range(0, len(data), step))


def receipt(producer: int, sequence: int, ledger: int, entry: int) -> bytes:
    position = wire.field(1, ledger) + wire.field(2, entry)
    return wire.command(
        wire.SEND_RECEIPT, wire.field(1, producer), wire.field(2, FIRST_SEQUENCE + sequence), wire.field(3, position)
    )


def delivery(consumer: int, ledger: int, entry: int, index: int, tail: bytes = b"", good: bool = True) -> bytes:
    position = wire.field(1, ledger) + wire.field(2, entry) + wire.field(3, -1)
    body = wire.field(1, consumer) + wire.field(2, position) + tail
    section = wire.with_checksum(b"meta", b"body" + index.to_bytes(8, "big"))
    if not good:
        section = section[:-9] + b"?" + section[-8:]
    return wire.frame(wire.base_command(wire.MESSAGE, body), section)


@given(
    st.lists(st.tuples(ids, st.integers(0, 2**27), ledgers, entries) | noise, max_size=30),
    st.integers(1, 30),
)
def test_receipts_by_runs_and_by_bytes_agree(items: list[tuple[int, int, int, int] | bytes], step: int) -> None:
    data = b"".join(item if isinstance(item, bytes) else receipt(*item) for item in items)
    others: list[int] = []
    whole, bit = Receipts(lambda kind, _: others.append(kind)), Receipts(nothing)
    whole.feed(data)
    for piece in pieces(data, step):
        bit.feed(piece)
    wanted = [item for item in items if not isinstance(item, bytes)]
    tape = b"".join(bytes((item[0] & 0xFF,)) + wire.varint(FIRST_SEQUENCE + item[1]) for item in wanted)
    assert bytes(whole.tape) == bytes(bit.tape) == tape
    assert whole.count == bit.count == len(wanted)
    assert len(others) == len(items) - len(wanted)


@given(
    st.lists(st.tuples(ids, ledgers, entries, st.integers(0, 2**31)) | noise, max_size=30),
    st.integers(1, 60),
    st.sampled_from([b"", wire.field(3, 0), wire.field(3, 2)]),
    st.sampled_from([1, 2]),
)
def test_deliveries_by_runs_and_by_bytes_agree(
    items: list[tuple[int, int, int, int] | bytes], step: int, tail: bytes, batch: int
) -> None:
    data = b"".join(item if isinstance(item, bytes) else delivery(*item, tail) for item in items)
    whole, bit = Deliveries(nothing, batch), Deliveries(nothing, batch)
    whole.feed(data)
    for piece in pieces(data, step):
        bit.feed(piece)
    wanted = [item for item in items if not isinstance(item, bytes)]
    acks = b"".join(
        ack_frame(item[0], wire.field(1, item[1]) + wire.field(2, item[2]) + wire.field(3, -1)) for item in wanted
    )
    tape = b"".join(bytes((item[0] & 0xFF,)) + item[3].to_bytes(4, "big") for item in wanted)
    assert bytes(whole.tape) == bytes(bit.tape) == tape
    assert bytes(whole.acks) == bytes(bit.acks) == acks
    assert whole.per_consumer == bit.per_consumer
    assert (whole.wrong_checksums, whole.absent_checksums) == (0, 0)


def test_a_long_run_is_read_at_once_and_ends_where_a_byte_differs() -> None:
    frames = [receipt(1, number, 7, 3) for number in range(50)] + [receipt(1, 50, 7, 300)]
    data = b"".join(frames)
    assert run_length(data, 0, len(frames[0]), (*range(13), 14)) == 50


def test_a_spoilt_message_of_a_batch_run_is_counted() -> None:
    deliveries = Deliveries(nothing, batch=10)
    deliveries.feed(b"".join(delivery(1, 7, number, number, good=number != 4) for number in range(9)))
    assert deliveries.wrong_checksums == 1


def test_lengths_that_cannot_be_are_refused() -> None:
    with pytest.raises(wire.BadFrameError):
        frame_end(b"\x7f" + bytes(20), 0)
    assert frame_end(b"\0\0", 0) is None
