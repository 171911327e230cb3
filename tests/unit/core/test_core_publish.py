"""Publishing through the core: receipts, their order, and what a producer may not do."""

from __future__ import annotations

import pytest

from magnetar.core.topic_ops import terminate
from magnetar.wire.commands import encode, pb
from tests.support.corebroker import Client, CoreBroker, Frame, answered, entry_of, full


def opened(**options: object) -> tuple[CoreBroker, Client]:
    """A broker and a client with producer 1, called p, on topic t."""
    broker = CoreBroker(**options)
    client = broker.client()
    assert answered(client.producer("t", name="p")).name == "PRODUCER_SUCCESS"
    return broker, client


def send(client: Client, *sequences: int, producer_id: int = 1) -> None:
    """Publish messages of these sequence ids in one go."""
    client.feed(b"".join(client.send_frame(entry_of(b"%d" % k, sequence=k), k, producer_id) for k in sequences))


def answers(client: Client) -> list[tuple[str, int]]:
    """Take the answers to SENDs, in their order."""
    found = [frame for frame in client.inbox if frame.name.startswith("SEND")]
    client.inbox = [frame for frame in client.inbox if frame not in found]
    return [(frame.name, frame.message.sequence_id) for frame in found]


def all_of(broker: CoreBroker) -> list[Frame]:
    """What is in topic t."""
    reader = broker.client()
    reader.consumer("t", "all", durable=False, permits=1_000_000)
    return reader.messages()


# Receipts.


def test_smoke() -> None:
    broker, client = opened()
    client.consumer("t", permits=10)
    client.publish(b"a", b"b")
    assert client.bodies() == [b"a", b"b"]
    assert [sequence for sequence, _ in client.receipts()] == [0, 1]
    assert broker.topic().messages_in == 2


def test_places_count_up_and_are_what_consumers_see() -> None:
    broker, client = opened()
    for k in range(5):
        send(client, *range(k * 3, k * 3 + 3))
    places = [place for _, place in client.receipts()]
    assert [entry for _, entry in places] == list(range(15))
    assert len({ledger for ledger, _ in places}) == 1
    assert [frame.id for frame in all_of(broker)] == places


def test_receipts_of_several_producers_on_one_connection_keep_the_order_of_each() -> None:
    broker, client = opened()
    client.producer("u", 2)
    frames = b"".join(
        client.send_frame(entry_of(b"m", sequence=k), k, 1 + k % 2) + encode(pb.CommandPing()) for k in range(10)
    )
    client.feed(frames)
    receipts = client.take("SEND_RECEIPT")
    for ident in (1, 2):
        mine = [frame.message.sequence_id for frame in receipts if frame.message.producer_id == ident]
        assert mine == [k for k in range(10) if 1 + k % 2 == ident]
    assert (broker.topic("t").tail.end, broker.topic("u").tail.end) == (5, 5)


def test_two_producers_on_one_topic_get_each_their_own_receipts() -> None:
    _, client = opened()
    other = client.broker.client()
    other.producer("t", name="q")
    send(client, 7)
    send(other, 3)
    assert [sequence for sequence, _ in client.receipts()] == [7]
    ((sequence, place),) = other.receipts()
    assert (sequence, place[1]) == (3, 1)


def test_a_batch_is_one_entry_with_one_receipt() -> None:
    broker, client = opened()
    entry = entry_of(b"body", sequence=10, batch=5, highest_sequence_id=14)
    client.feed(client.send_frame(entry, 10, count=5, highest=14))
    (receipt,) = client.take("SEND_RECEIPT")
    assert (receipt.message.sequence_id, receipt.message.highest_sequence_id) == (10, 14)
    topic = broker.topic()
    assert (topic.messages_in, topic.entries_in, topic.tail.end) == (5, 1, 1)
    (message,) = all_of(broker)
    assert message.payload == entry, "entries travel verbatim"


def test_compressed_and_encrypted_entries_travel_verbatim() -> None:
    broker, client = opened()
    entry = entry_of(
        b"\x00\xffopaque",
        compression=pb.CompressionType.ZSTD,
        uncompressed_size=999,
        encryption_keys=[pb.EncryptionKeys(key="k", value=b"v")],
        encryption_algo="AES",
        encryption_param=b"iv",
    )
    client.feed(client.send_frame(entry, 0))
    assert [frame.payload for frame in all_of(broker)] == [entry]


def test_an_entry_without_a_checksum_is_taken() -> None:
    broker, client = opened()
    bare = entry_of(b"m")[6:]
    client.feed(client.send_frame(bare, 0))
    assert answers(client) == [("SEND_RECEIPT", 0)]
    assert [frame.body for frame in all_of(broker)] == [b"m"]


# Refusals.


@pytest.mark.parametrize("position", [-1, 2, 8, 20])
def test_a_damaged_message_is_refused_alone(position: int) -> None:
    broker, client = opened()
    damaged = bytearray(entry_of(b"damaged", sequence=1))
    damaged[position] ^= 1
    client.feed(
        client.send_frame(entry_of(b"a"), 0)
        + client.send_frame(bytes(damaged), 1)
        + client.send_frame(entry_of(b"c", sequence=2), 2)
    )
    assert answers(client) == [("SEND_RECEIPT", 0), ("SEND_ERROR", 1), ("SEND_RECEIPT", 2)]
    assert [frame.body for frame in all_of(broker)] == [b"a", b"c"]


def test_the_refusal_of_a_batch_names_its_highest_sequence_id() -> None:
    _, client = opened()
    damaged = entry_of(b"damaged", batch=5)[:-1] + b"!"
    client.feed(client.send_frame(damaged, 10, count=5, highest=14))
    (refusal,) = client.take("SEND_ERROR")
    assert (refusal.message.sequence_id, refusal.message.error) == (14, pb.ServerError.ChecksumError)


def test_a_message_of_a_transaction_is_refused() -> None:
    broker, client = opened()
    send_command = pb.CommandSend(producer_id=1, sequence_id=3, num_messages=1, txnid_most_bits=0, txnid_least_bits=1)
    framed = client.send_frame(entry_of(b"m"), 3)
    base = pb.BaseCommand(type=pb.BaseCommand.Type.SEND, send=send_command).SerializeToString()
    entry = framed[8 + int.from_bytes(framed[4:8], "big") :]
    size = 4 + len(base) + len(entry)
    client.feed(size.to_bytes(4, "big") + len(base).to_bytes(4, "big") + base + entry)
    (refusal,) = client.take("SEND_ERROR")
    assert (refusal.message.sequence_id, refusal.message.error) == (3, pb.ServerError.NotAllowedError)
    assert broker.topic().tail.end == 0
    send(client, 4)
    assert answers(client) == [("SEND_RECEIPT", 4)]


def test_a_message_of_the_largest_size_is_taken_and_a_larger_frame_ends_the_connection() -> None:
    broker, client = opened(max_message_bytes=1_000)
    client.feed(client.send_frame(entry_of(bytes(1_000)), 0))
    assert answers(client) == [("SEND_RECEIPT", 0)]
    client.feed(client.send_frame(entry_of(bytes(11_300)), 1))
    (reason,) = client.take("ERROR")
    assert "more than the 11240 that are allowed" in reason.message.message
    assert broker.hung_up == [client.session]
    assert broker.topic().tail.end == 1


def test_the_size_of_a_large_frame_is_enough_to_refuse_it() -> None:
    broker, client = opened(max_message_bytes=1_000)
    client.feed((100_000).to_bytes(4, "big"))
    assert broker.hung_up == [client.session]


def test_a_terminated_topic_refuses_and_keeps_what_it_has() -> None:
    broker, client = opened()
    send(client, 0)
    done: list[Exception | None] = []
    terminate(broker.topic(), done.append)
    broker.turn()
    send(client, 1, 2)
    assert done == [None]
    assert answers(client) == [("SEND_RECEIPT", 0), ("SEND_ERROR", 1), ("SEND_ERROR", 2)]
    assert answered(client.producer("t", 2)).message.error == pb.ServerError.TopicTerminatedError
    assert [frame.body for frame in all_of(broker)] == [b"0"]
    broker.restart()
    assert answered(broker.client().producer("t")).message.error == pb.ServerError.TopicTerminatedError


def test_what_was_sent_before_the_end_is_answered_before_what_came_after_it() -> None:
    broker, client = opened()
    broker.auto = False
    send(client, 0)
    terminate(broker.topic(), lambda error: None)
    send(client, 1)
    assert answers(client) == []
    broker.commit()
    broker.commit()
    assert answers(client) == [("SEND_RECEIPT", 0), ("SEND_ERROR", 1)]


def test_an_end_that_could_not_be_stored_is_no_end() -> None:
    broker, client = opened()
    broker.auto = False
    done: list[Exception | None] = []
    terminate(broker.topic(), done.append)
    broker.turn()
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    assert [error is None for error in done] == [False]
    client.producer("t", 2)
    send(client, 0, producer_id=2)
    assert ("SEND_RECEIPT", 0) in answers(client)
    broker.restart()
    assert not broker.topic().terminated


# Closing.


def test_close_is_answered_after_everything_sent_before_it() -> None:
    broker, client = opened()
    broker.auto = False
    send(client, 0, 1)
    assert client.close_producer() is None
    broker.commit()
    assert [frame.name for frame in client.inbox] == ["SEND_RECEIPT", "SEND_RECEIPT", "SUCCESS"]
    assert broker.topic().producers == {}


def test_close_of_an_idle_producer_is_answered_at_once_and_its_name_is_free() -> None:
    broker, client = opened()
    broker.auto = False
    assert answered(client.close_producer()).name == "SUCCESS"
    assert answered(client.close_producer()).name == "SUCCESS"
    assert answered(broker.client().producer("t", name="p")).name == "PRODUCER_SUCCESS"


def test_a_connection_that_ends_leaves_what_it_sent() -> None:
    broker, client = opened()
    broker.auto = False
    send(client, 0, 1)
    client.cut()
    broker.auto = True
    broker.turn()
    assert [frame.body for frame in all_of(broker)] == [b"0", b"1"]
    assert broker.topic().producers == {}


def test_the_same_open_again_is_answered_again() -> None:
    broker, client = opened()
    again = answered(client.producer("t", name="p"))
    assert again.message.producer_name == "p"
    assert len(broker.topic().producers) == 1


def test_generated_names_differ_and_given_ones_stay() -> None:
    _, client = opened()
    names = [answered(client.producer("t", k)).message.producer_name for k in range(2, 6)]
    assert len(set(names)) == 4
    assert all(name.startswith("standalone-") for name in names)


def test_the_number_of_producers_of_a_topic_has_a_limit() -> None:
    broker, client = opened(max_producers_per_topic=2)
    client.producer("t", 2)
    assert answered(client.producer("t", 3)).message.error == pb.ServerError.ProducerBusy
    client.close_producer(2)
    assert answered(client.producer("t", 3)).name == "PRODUCER_SUCCESS"
    assert len(broker.topic().producers) == 2


# Deduplication.


@pytest.mark.parametrize(
    ("already", "then", "stored"),
    [
        ([0, 1], [1, 2, 0, 3], [0, 1, 2, 3]),
        ([5], [6, 5, 7], [5, 6, 7]),
        ([5], [5, 5, 5], [5]),
        ([9], [10, 3, 11, 4, 12], [9, 10, 11, 12]),
    ],
)
def test_duplicates_are_answered_in_their_turn(already: list[int], then: list[int], stored: list[int]) -> None:
    broker, client = opened(deduplication=True)
    send(client, *already)
    answers(client)
    broker.auto = False
    send(client, *then)
    broker.auto = True
    broker.turn()
    assert answers(client) == [("SEND_RECEIPT", sequence) for sequence in then]
    assert [int(frame.body) for frame in all_of(broker)] == stored
    assert broker.topic().deduplicated == len(then) + len(already) - len(stored)


def test_a_duplicate_of_what_is_still_being_written_is_to_be_sent_again() -> None:
    broker, client = opened(deduplication=True)
    broker.auto = False
    send(client, 0, 1, 0)
    broker.commit()
    assert answers(client) == [("SEND_RECEIPT", 0), ("SEND_RECEIPT", 1), ("SEND_ERROR", 0)]
    send(client, 0)
    assert answers(client) == [("SEND_RECEIPT", 0)]


def test_a_batch_counts_by_its_highest_sequence_id() -> None:
    broker, client = opened(deduplication=True)
    entry = entry_of(b"batch", batch=5)
    client.feed(client.send_frame(entry, 10, count=5, highest=14))
    send(client, 14, 15)
    receipts = client.receipts()
    assert [sequence for sequence, _ in receipts] == [10, 14, 15]
    assert [place[0] > 1 << 63 for _, place in receipts] == [False, True, False]
    client.close_producer()
    assert answered(client.producer("t", name="p")).message.last_sequence_id == 15
    assert broker.topic().tail.end == 2


def test_producers_are_told_apart_by_name() -> None:
    broker, client = opened(deduplication=True)
    client.producer("t", 2, name="q")
    send(client, 5)
    send(client, 5, producer_id=2)
    assert broker.topic().tail.end == 2


def test_the_producers_that_are_remembered_have_a_limit() -> None:
    broker, client = opened(deduplication=True, dedup_producers_max=3)
    for number in range(2, 7):
        client.producer("t", number, name=f"p{number}")
        send(client, 1, producer_id=number)
    dedup = broker.topic().dedup
    assert dedup is not None
    assert sorted(dedup.kept) == ["p4", "p5", "p6"]
    assert len(dedup.pushed) <= 3


# Limits on what is pending.


def test_pending_publishes_are_counted_until_they_are_answered() -> None:
    broker, client = opened()
    broker.auto = False
    send(client, 0, 1, 2)
    send(client, 3)
    assert client.session.pending == 4
    broker.commit()
    assert client.session.pending == 1
    broker.commit()
    assert client.session.pending == 0


def test_refused_sends_are_not_pending() -> None:
    broker, client = opened(deduplication=True)
    send(client, 0)
    send(client, 0, 0)
    client.feed(client.send_frame(entry_of(b"m")[:-1] + b"!", 1))
    assert client.session.pending == 0
    assert broker.topic().pending_runs == 0


# Ledgers.


def test_a_ledger_is_closed_when_it_is_full_and_old_enough() -> None:
    broker, client = opened(ledger_entries_max=3, ledger_min_ms=60_000, keep_alive_ms=10_000_000)
    for k in range(5):
        send(client, k)
    assert len(broker.topic().ledgers.ids) == 1
    broker.advance(60_000)
    for k in range(5, 10):
        send(client, k)
    assert broker.topic().ledgers.bases == [0, 5]
    assert [frame.body for frame in all_of(broker)] == [b"%d" % k for k in range(10)]


def test_a_ledger_is_closed_when_it_is_too_old() -> None:
    broker, client = opened(ledger_max_ms=3_600_000, keep_alive_ms=10_000_000, retention_bytes=-1, retention_ms=-1)
    send(client, 0)
    broker.advance(3_700_000)
    send(client, 1)
    assert broker.topic().ledgers.bases == [0, 1]


def test_a_ledger_is_closed_by_its_size() -> None:
    broker, client = opened(ledger_bytes_max=1_000, ledger_min_ms=0)
    for k in range(6):
        client.feed(client.send_frame(entry_of(bytes(500), sequence=k), k))
    assert broker.topic().ledgers.bases == [0, 2, 4]
    assert sum(broker.topic().ledgers.sizes) == broker.topic().size_bytes


# Retention and time to live.


def test_retention_drops_whole_ledgers_that_everybody_has_acknowledged() -> None:
    broker, client = opened(ledger_entries_max=2, ledger_min_ms=0, retention_check_ms=1_000)
    client.consumer("t", permits=100)
    for k in range(5):
        send(client, k)
    messages = client.messages()
    client.ack(*[frame.id for frame in messages[:3]])
    broker.advance(1_000)
    assert broker.topic().first_offset == 2
    client.ack(messages[3].id, messages[4].id)
    broker.advance(1_000)
    assert broker.topic().first_offset == 4, "the open ledger stays"
    assert [frame.body for frame in all_of(broker)] == [b"4"]


@pytest.mark.parametrize(("keep_ms", "first"), [(-1, 0), (10_000, 0), (500, 4)])
def test_retention_time(keep_ms: int, first: int) -> None:
    broker, client = opened(
        ledger_entries_max=2, ledger_min_ms=0, retention_check_ms=1_000, retention_ms=keep_ms, retention_bytes=-1
    )
    for k in range(5):
        send(client, k)
    broker.advance(2_000)
    assert broker.topic().first_offset == first


@pytest.mark.parametrize(("keep_bytes", "first"), [(-1, 0), (1_400, 4), (1 << 30, 0)])
def test_retention_size(keep_bytes: int, first: int) -> None:
    broker, client = opened(
        ledger_entries_max=2, ledger_min_ms=0, retention_check_ms=1_000, retention_ms=-1, retention_bytes=keep_bytes
    )
    for k in range(6):
        client.feed(client.send_frame(entry_of(bytes(400), sequence=k), k))
    broker.advance(1_000)
    assert broker.topic().first_offset == first


def test_a_backlog_is_kept_whatever_retention_says() -> None:
    broker, client = opened(ledger_entries_max=1, ledger_min_ms=0, retention_check_ms=1_000, retention_bytes=1)
    client.consumer("t")
    for k in range(5):
        send(client, k)
    broker.advance(5_000)
    assert broker.topic().first_offset == 0
    assert len(all_of(broker)) == 5


def test_time_to_live_acknowledges_what_nobody_took() -> None:
    broker, client = opened(message_ttl_ms=10_000, expiry_check_ms=1_000)
    client.consumer("t")
    send(client, 0)
    broker.advance(6_000)
    late = entry_of(b"1", sequence=1, publish_time=broker.now_ms)
    client.feed(client.send_frame(late, 1))
    broker.advance(6_000)
    assert broker.sub().backlog() == 1
    assert broker.sub().expired_count == 1
    client.flow(10)
    assert client.bodies() == [b"1"]


def test_a_producer_brings_a_subscription_into_being() -> None:
    broker, client = opened()
    send(client, 0)
    client.producer("t", 2, initial_subscription_name="later")
    send(client, 1)
    assert broker.sub("t", "later").backlog() == 1
    broker.restart()
    assert broker.sub("t", "later").backlog() == 1


def test_a_partition_of_a_topic_without_partitions_is_a_topic_of_its_own() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.producer("t-partition-0", 2)
    assert sorted(broker.core.topics) == [full("t"), full("t-partition-0")]
