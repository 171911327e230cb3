"""The hand-written codec and protobuf say the same, field by field, in both directions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from magnetar.wire import hot
from magnetar.wire.commands import decode, encode, pb
from magnetar.wire.delivery import peek_deliver_at
from magnetar.wire.entry import seal
from magnetar.wire.frames import next_frame
from magnetar.wire.metadata import peek, peek_publish_time, sticky_key
from tests.property.wire.wire_strategies import messages, shuffled

U64 = st.one_of(st.integers(0, 1 << 17), st.integers(0, (1 << 64) - 1))
IDS = st.one_of(st.just(-1), U64)
I32 = st.one_of(st.integers(-1, 200), st.integers(-1, (1 << 31) - 1))
WORDS = st.lists(st.integers(-(1 << 63), (1 << 64) - 1), max_size=4)


def _unsigned(n: int) -> int:
    return n % (1 << 64)


def _signed(n: int) -> int:
    n = _unsigned(n)
    return n - (1 << 64) if n >> 63 else n


def _body(wire: bytes, kind: int) -> tuple[bytes, int, int]:
    """Put a body into a command with something around it, and find it again."""
    command = hot.write_varint(8) + hot.write_varint(kind) + hot.write_varint(kind << 3 | 2)
    command = b"before" + command + hot.write_varint(len(wire)) + wire
    found, start, end = hot.split(command, 6, len(command))
    assert (found, command[start:end]) == (kind, wire)
    return command + b"behind", start, end


def _same_id(mine: hot.MessageId, theirs: pb.MessageIdData) -> None:
    assert mine.ledger == theirs.ledgerId
    assert mine.entry == theirs.entryId
    assert mine.partition == theirs.partition
    assert mine.batch_index == theirs.batch_index
    assert (mine.ack_set or []) == [_unsigned(word) for word in theirs.ack_set]
    assert (mine.ack_set is None) == (not theirs.ack_set)
    assert mine.batch_size == theirs.batch_size
    assert mine.has_first_chunk == theirs.HasField("first_chunk_message_id")


@given(st.data(), messages(pb.CommandSend))
def test_send(data: st.DataObject, message: pb.CommandSend) -> None:
    wire = data.draw(shuffled(message))
    theirs = pb.CommandSend.FromString(wire)
    producer_id, sequence_id, count, highest, flags = hot.decode_send(*_body(wire, 6))
    assert (producer_id, sequence_id, count) == (theirs.producer_id, theirs.sequence_id, theirs.num_messages)
    assert highest == theirs.highest_sequence_id
    assert bool(flags & hot.SEND_CHUNK) == theirs.is_chunk
    assert bool(flags & hot.SEND_MARKER) == theirs.marker
    has_txn = theirs.HasField("txnid_least_bits") or theirs.HasField("txnid_most_bits")
    assert bool(flags & hot.SEND_HAS_TXN) == has_txn
    assert bool(flags & hot.SEND_HAS_ID) == theirs.HasField("message_id")


@given(st.data(), messages(pb.CommandFlow))
def test_flow(data: st.DataObject, message: pb.CommandFlow) -> None:
    wire = data.draw(shuffled(message))
    assert hot.decode_flow(*_body(wire, 11)) == (message.consumer_id, message.messagePermits)


@given(st.data(), messages(pb.CommandAck))
def test_ack(data: st.DataObject, message: pb.CommandAck) -> None:
    wire = data.draw(shuffled(message))
    theirs = pb.CommandAck.FromString(wire)
    mine = hot.decode_ack(*_body(wire, 10))
    assert (mine.consumer_id, mine.ack_type) == (theirs.consumer_id, theirs.ack_type)
    assert mine.request_id == (theirs.request_id if theirs.HasField("request_id") else -1)
    assert mine.validation_error == (theirs.validation_error if theirs.HasField("validation_error") else -1)
    assert mine.has_txn == (theirs.HasField("txnid_least_bits") or theirs.HasField("txnid_most_bits"))
    assert len(mine.ids) == len(theirs.message_id)
    for my_id, their_id in zip(mine.ids, theirs.message_id, strict=True):
        _same_id(my_id, their_id)


@given(messages(pb.CommandAck, depth=1))
def test_plain_ack_is_what_it_promises(message: pb.CommandAck) -> None:
    body = _body(message.SerializeToString(), 10)
    consumer_id, ledger, entry = hot.decode_plain_ack(*body)
    plain = (
        message.ack_type == 0
        and len(message.message_id) == 1
        and not any(message.HasField(name) for name in ("request_id", "validation_error"))
        and not any(message.HasField(name) for name in ("txnid_least_bits", "txnid_most_bits"))
        and not message.properties
    )
    if plain:
        only = message.message_id[0]
        extra = [name for name in ("batch_size", "first_chunk_message_id") if only.HasField(name)]
        plain = not extra and not only.ack_set and only.batch_index == -1
    assert (consumer_id >= 0) == plain
    if plain:
        assert (consumer_id, ledger, entry) == (message.consumer_id, only.ledgerId, only.entryId)


@given(U64, U64, U64)
def test_the_usual_ack_is_plain(consumer_id: int, ledger: int, entry: int) -> None:
    message = pb.CommandAck(consumer_id=consumer_id, ack_type=pb.CommandAck.AckType.Individual)
    message.message_id.add(ledgerId=ledger, entryId=entry)
    assert hot.decode_plain_ack(*_body(message.SerializeToString(), 10)) == (consumer_id, ledger, entry)


@given(st.data(), messages(pb.CommandRedeliverUnacknowledgedMessages))
def test_redeliver(data: st.DataObject, message: pb.CommandRedeliverUnacknowledgedMessages) -> None:
    wire = data.draw(shuffled(message))
    theirs = pb.CommandRedeliverUnacknowledgedMessages.FromString(wire)
    mine = hot.decode_redeliver(*_body(wire, 20))
    assert mine.consumer_id == theirs.consumer_id
    assert mine.epoch == (theirs.consumer_epoch if theirs.HasField("consumer_epoch") else -1)
    assert len(mine.ids) == len(theirs.message_ids)
    for my_id, their_id in zip(mine.ids, theirs.message_ids, strict=True):
        _same_id(my_id, their_id)


@given(U64, U64, U64, IDS, IDS)
def test_send_receipt(producer_id: int, sequence_id: int, highest: int, ledger: int, entry: int) -> None:
    message = pb.CommandSendReceipt(producer_id=producer_id, sequence_id=sequence_id)
    message.message_id.ledgerId = _unsigned(ledger)
    message.message_id.entryId = _unsigned(entry)
    if highest:
        message.highest_sequence_id = highest
    assert hot.send_receipt(producer_id, sequence_id, highest, ledger, entry) == encode(message)


@given(U64, U64, st.sampled_from(pb.ServerError.values()), st.text())
def test_send_error(producer_id: int, sequence_id: int, code: pb.ServerError, text: str) -> None:
    message = pb.CommandSendError(producer_id=producer_id, sequence_id=sequence_id, error=code, message=text)
    assert hot.send_error(producer_id, sequence_id, code, text) == encode(message)


@given(U64, U64, st.one_of(st.none(), st.sampled_from(pb.ServerError.values())), st.text())
def test_ack_response(consumer_id: int, request_id: int, code: pb.ServerError | None, text: str) -> None:
    message = pb.CommandAckResponse(consumer_id=consumer_id, request_id=request_id)
    if code is not None:
        message.error = code
    if text:
        message.message = text
    assert hot.ack_response(consumer_id, request_id, -1 if code is None else code, text) == encode(message)


@given(U64, U64, U64, I32, I32, st.one_of(st.none(), WORDS), IDS, st.integers(0, 1 << 24))
def test_message_head(
    consumer_id: int,
    ledger: int,
    entry: int,
    partition: int,
    redelivery_count: int,
    ack_set: list[int] | None,
    epoch: int,
    entry_size: int,
) -> None:
    message = pb.CommandMessage(consumer_id=consumer_id, ack_set=[_signed(word) for word in ack_set or []])
    message.message_id.ledgerId = ledger
    message.message_id.entryId = entry
    if partition >= 0:
        message.message_id.partition = partition
    if redelivery_count > 0:
        message.redelivery_count = redelivery_count
    if epoch >= 0:
        message.consumer_epoch = epoch
    head = hot.message_head(consumer_id, ledger, entry, partition, redelivery_count, ack_set, epoch, entry_size)
    expected = encode(message)
    assert head[4:] == expected[4:]
    assert int.from_bytes(head[:4], "big") == len(expected) - 4 + entry_size
    assert decode(head, 8, len(head)) == (9, message)
    assert next_frame(head, 0, len(head), len(head) + entry_size)[:2] in ((8, len(head)), (0, 0))


@given(
    U64,
    I32,
    IDS,
    st.integers(0, (1 << 64) - 1001),
    st.lists(st.tuples(st.integers(1, 2), st.integers(0, 1000), st.integers(100, 101)), max_size=8),
    st.lists(st.tuples(U64, U64, st.integers(0, 1 << 24)), max_size=4),
)
def test_prepared_heads_are_the_same_heads(
    consumer_id: int,
    partition: int,
    epoch: int,
    base: int,
    near: list[tuple[int, int, int]],
    far: list[tuple[int, int, int]],
) -> None:
    heads = hot.MessageHeads(consumer_id, partition, epoch)
    for ledger, entry, size in [(ledger, base + step, size) for ledger, step, size in near] + far:
        expected = hot.message_head(consumer_id, ledger, entry, partition, 0, None, epoch, size)
        assert heads.head(ledger, entry, size) == expected


@given(U64, U64, st.integers(0, (1 << 64) - 9), st.lists(st.tuples(U64, st.just(0) | U64), max_size=8))
def test_receipts_at_once_are_the_same_receipts(
    producer_id: int, ledger: int, entry: int, sent: list[tuple[int, int]]
) -> None:
    at_once = hot.send_receipts(producer_id, [one for one, _ in sent], [top for _, top in sent], ledger, entry)
    single = [hot.send_receipt(producer_id, one, top, ledger, entry + k) for k, (one, top) in enumerate(sent)]
    assert at_once == b"".join(single)


@given(st.data(), messages(pb.MessageMetadata, depth=1))
def test_metadata(data: st.DataObject, message: pb.MessageMetadata) -> None:
    wire = data.draw(shuffled(message))
    theirs = pb.MessageMetadata.FromString(wire)
    entry = seal(wire, data.draw(st.binary(max_size=8)))
    mine = peek(entry)
    assert mine.producer_name == theirs.producer_name
    assert mine.sequence_id == theirs.sequence_id
    assert mine.highest_sequence_id == theirs.highest_sequence_id
    assert mine.publish_time == theirs.publish_time == peek_publish_time(entry)
    assert mine.event_time == theirs.event_time
    assert mine.partition_key == (theirs.partition_key.encode() if theirs.HasField("partition_key") else None)
    assert mine.partition_key_b64 == theirs.partition_key_b64_encoded
    assert mine.ordering_key == (theirs.ordering_key if theirs.HasField("ordering_key") else None)
    assert mine.num_messages == theirs.num_messages_in_batch
    assert peek_deliver_at(entry) == max(theirs.deliver_at_time, 0)
    assert mine.is_batch == theirs.HasField("num_messages_in_batch")
    assert mine.deliver_at_time == theirs.deliver_at_time
    assert mine.marker_type == (theirs.marker_type if theirs.HasField("marker_type") else -1)
    assert mine.uuid == (theirs.uuid.encode() if theirs.HasField("uuid") else None)
    assert mine.num_chunks == theirs.num_chunks_from_msg
    assert mine.chunk_id == (theirs.chunk_id if theirs.HasField("chunk_id") else -1)
    assert mine.compression == theirs.compression
    assert mine.uncompressed_size == theirs.uncompressed_size
    assert mine.encrypted == bool(theirs.encryption_keys)
    assert mine.has_txn == (theirs.HasField("txnid_least_bits") or theirs.HasField("txnid_most_bits"))
    assert mine.schema_version == (theirs.schema_version if theirs.HasField("schema_version") else None)
    assert mine.replicated_from == (theirs.replicated_from if theirs.HasField("replicated_from") else None)
    assert mine.null_value == theirs.null_value
    if theirs.HasField("ordering_key"):
        assert sticky_key(entry) == theirs.ordering_key
    elif theirs.HasField("partition_key") and not theirs.partition_key_b64_encoded:
        assert sticky_key(entry) == theirs.partition_key.encode()
    elif not theirs.HasField("partition_key"):
        assert sticky_key(entry) == f"{theirs.producer_name}-{_signed(theirs.sequence_id)}".encode()
