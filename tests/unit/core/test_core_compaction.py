"""Compaction on the core: what is kept, who reads it, and that every crash leaves the old view or the new one."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from magnetar.core.compaction.runner import AlreadyCompactingError
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.creating import delete_topic
from magnetar.core.topic_ops import delete_subscription
from magnetar.core.upkeep import trim
from magnetar.ports.log import ReadDone
from magnetar.wire.commands import pb
from tests.support.corebroker import EXCLUSIVE, SHARED, Client, CoreBroker, answered, entry_of, full

LAST = (1 << 64) - 1


def ignore(error: Exception | None) -> None:
    assert error is None


def opened(**options: Any) -> tuple[CoreBroker, Client]:
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    return broker, client


def publish(client: Client, *messages: str, **fields: Any) -> None:
    """Each as key=value; without a value it deletes the key, without a key it has none."""
    for message in messages:
        key, _, value = message.rpartition("=") if "=" in message else ("", "", message)
        client.publish(value.encode(), key=key or None, **fields)


def batch(client: Client, *messages: str, compression: int = 0, encrypted: bool = False) -> None:
    body = b""
    for message in messages:
        key, _, value = message.rpartition("=")
        single = pb.SingleMessageMetadata(payload_size=len(value))
        if key:
            single.partition_key = key
        head = single.SerializeToString()
        body += len(head).to_bytes(4, "big") + head + value.encode()
    fields: dict[str, Any] = {"compression": compression, "uncompressed_size": len(body)} if compression else {}
    if encrypted:
        fields["encryption_keys"] = [pb.EncryptionKeys(key="k", value=b"v")]
    data = zlib.compress(body) if compression == 2 else body
    entry = entry_of(data, sequence=client.sequence, batch=len(messages), **fields)
    client.feed(client.send_frame(entry, client.sequence, count=len(messages)))
    client.sequence += 1


def compact(broker: CoreBroker) -> None:
    broker.core.compactions.start(broker.topic())
    broker.turn()
    assert broker.topic().compaction.status == "SUCCESS", broker.topic().compaction.error


def read(broker: CoreBroker, compacted: bool = True, **fields: Any) -> list[str]:
    """What a reader finds from the beginning: the place, the key, the messages that are left."""
    client = broker.client()
    fields.setdefault("durable", False)
    fields.setdefault("name", "r")
    client.consumer("t", kind=EXCLUSIVE, permits=10_000, read_compacted=compacted, **fields)
    found = [said(frame) for frame in client.messages()]
    client.cut()
    return found


def said(frame: Any) -> str:
    metadata = pb.MessageMetadata.FromString(frame.payload[10 : len(frame.payload) - len(frame.body)])
    if not metadata.HasField("num_messages_in_batch"):
        key = f"{metadata.partition_key}=" if metadata.HasField("partition_key") else ""
        return f"{frame.id[1]}:{key}{frame.body.decode()}"
    (mask,) = frame.message.ack_set or [(1 << metadata.num_messages_in_batch) - 1]
    return f"{frame.id[1]}:{mask:b}"


def streams(broker: CoreBroker) -> int:
    """Streams of the log that hold entries."""
    return sum(found.end > found.first for found in broker.log.recover().streams.values())


def test_the_latest_of_each_key_is_left_where_it_was() -> None:
    broker, client = opened()
    publish(client, "a=1", "b=1", "a=2", "c=1", "a=3", "b=2")
    assert broker.topic().compaction.status == "NOT_RUN"
    compact(broker)
    assert read(broker) == ["3:c=1", "4:a=3", "5:b=2"]
    assert len(read(broker, compacted=False)) == 6
    publish(client, "a=4", "d=1")
    assert read(broker) == ["3:c=1", "4:a=3", "5:b=2", "6:a=4", "7:d=1"], "the view, then the topic"


@pytest.mark.parametrize(("retain", "left"), [(False, ["4:b=1"]), (True, ["1:no key", "4:b=1"])])
def test_empty_messages_delete_and_those_without_a_key_go(retain: bool, left: list[str]) -> None:
    broker, client = opened(compaction_retain_null_key=retain)
    publish(client, "a=1", "no key", "c=1", "a=", "b=1")
    client.publish(b"x", key="c", null_value=True)
    compact(broker)
    assert read(broker) == left


@pytest.mark.parametrize("compression", [0, 2])
def test_batches_are_delivered_as_they_are_with_a_mask(compression: int) -> None:
    broker, client = opened()
    publish(client, "a=0")
    batch(client, "a=1", "b=1", "a=2", "=none", "c=1", compression=compression)
    batch(client, "c=2", "b=", "e=1", compression=compression)
    batch(client, "f=1", "g=1", compression=compression)
    compact(broker)
    assert read(broker) == ["1:100", "2:101", "3:11"]
    batch(client, "e=2", "f=")
    compact(broker)
    assert read(broker) == ["1:100", "2:1", "3:10", "4:1"], "masks of before still hold"


def test_what_cannot_be_seen_is_kept_whole() -> None:
    broker, client = opened()
    batch(client, "a=1", "a=2", encrypted=True)
    batch(client, "a=1", "a=2", compression=1)
    publish(client, "a=3")
    compact(broker)
    assert read(broker) == ["0:11", "1:11", "2:a=3"]


def test_chunks_of_a_message_live_and_die_together() -> None:
    broker, client = opened()
    for uuid in ("one", "two"):
        for chunk in range(3):
            fields = {"uuid": uuid, "num_chunks_from_msg": 3, "chunk_id": chunk}
            entry = entry_of(b"%d" % chunk, sequence=client.sequence, key="k", **fields)
            client.feed(client.send_frame(entry, client.sequence, chunk=True))
            client.sequence += 1
    compact(broker)
    assert read(broker) == ["3:k=0", "4:k=1", "5:k=2"]


def test_an_empty_topic_and_a_topic_of_which_nothing_is_left() -> None:
    broker, client = opened()
    compact(broker)
    assert read(broker) == []
    publish(client, "a=1", "a=")
    compact(broker)
    assert read(broker) == []
    client.consumer("t", "r", EXCLUSIVE, consumer_id=5, durable=False, read_compacted=True)
    assert answered(client.last_id(5)).id == (LAST, LAST)
    client.consumer("t", "plain", EXCLUSIVE, consumer_id=6, durable=False)
    assert answered(client.last_id(6)).id[1] == 1


def test_the_last_id_is_that_of_the_view_when_the_view_reaches_to_the_end() -> None:
    broker, client = opened()
    publish(client, "a=1")
    batch(client, "b=1", "c=1", "d=1")
    publish(client, "d=", "e=1", "e=")
    compact(broker)
    client.consumer("t", "r", EXCLUSIVE, consumer_id=5, durable=False, read_compacted=True)
    last = answered(client.last_id(5))
    assert (last.id[1], last.message.last_message_id.batch_index) == (1, 1)
    publish(client, "f=1")
    assert answered(client.last_id(5)).id[1] == 5


def test_again_and_again() -> None:
    broker, client = opened()
    for number in range(5):
        publish(client, f"a={number}", f"b={number}")
        compact(broker)
        assert read(broker) == [f"{2 * number}:a={number}", f"{2 * number + 1}:b={number}"]
        compact(broker)
        assert streams(broker) == 2, "former views stay in the log"
    broker.restart()
    assert read(broker) == ["8:a=4", "9:b=4"]


def test_a_view_survives_a_restart_and_goes_on_from_there() -> None:
    broker, client = opened()
    publish(client, "a=1", "b=1", "a=2")
    compact(broker)
    broker.restart()
    assert read(broker) == ["1:b=1", "2:a=2"]
    client = broker.client()
    client.producer("t")
    publish(client, "b=2")
    compact(broker)
    assert read(broker) == ["2:a=2", "0:b=2"]


def test_what_retention_has_taken_from_the_topic_is_in_the_view() -> None:
    broker, client = opened(ledger_entries_max=2, ledger_min_ms=0)
    publish(client, "a=1", "b=1", "b=2", "c=1", "c=2", "d=1", "d=2", "d=3")
    topic = broker.topic()
    assert trim(topic) > 0
    compact(broker)
    publish(client, "e=1", "e=2", "e=3")
    assert trim(topic) > 0
    broker.turn()
    bodies = [found.partition(":")[2] for found in read(broker)]
    assert bodies == ["d=3", "e=1", "e=2", "e=3"]
    assert [found.partition(":")[2] for found in read(broker, durable=True, name="d")] == bodies
    compact(broker)
    broker.restart()
    assert [found.partition(":")[2] for found in read(broker)] == ["d=3", "e=3"]


def test_nothing_that_is_not_compacted_is_taken_by_retention() -> None:
    broker, client = opened(ledger_entries_max=2, ledger_min_ms=0)
    compact(broker)
    publish(client, "a=1", "b=1", "b=2", "c=1", "c=2")
    assert trim(broker.topic()) == 0
    compact(broker)
    assert trim(broker.topic()) > 0
    assert broker.sub("t", COMPACTION_CURSOR).backlog() == 0


def test_a_durable_consumer_reads_the_view_and_goes_on_where_it_was() -> None:
    broker, client = opened()
    publish(client, "a=1", "b=1", "a=2", "c=1", "b=2")
    compact(broker)
    client.consumer("t", "d", EXCLUSIVE, consumer_id=5, permits=2, read_compacted=True)
    first, second = client.messages()
    assert [said(first), said(second)] == ["2:a=2", "3:c=1"]
    client.ack(second.id, consumer_id=5, ack_type=1)
    client.close_consumer(5)
    broker.restart()
    assert read(broker, durable=True, name="d") == ["4:b=2"]
    assert read(broker, durable=True, name="d") == ["4:b=2"], "it was not acknowledged"


def test_giving_back_and_seeking_begin_again_in_the_view() -> None:
    broker, client = opened()
    publish(client, *(f"k{number}={number}" for number in range(30)), *(f"k{number}=new" for number in range(10)))
    compact(broker)
    client.consumer("t", "d", EXCLUSIVE, consumer_id=5, permits=100, read_compacted=True)
    frames = client.messages()
    assert len(frames) == 30
    client.redeliver_all(5)
    client.flow(100, 5)
    assert [frame.id for frame in client.messages()] == [frame.id for frame in frames]
    assert answered(client.seek(frames[17].id, 5)).name == "SUCCESS"
    client.consumer("t", "d", EXCLUSIVE, consumer_id=5, permits=100, read_compacted=True)
    assert [frame.id for frame in client.messages()] == [frame.id for frame in frames[17:]]


def test_a_reader_in_the_middle_of_a_view_goes_on_in_the_next_one() -> None:
    broker, client = opened()
    publish(client, *(f"k{number}=1" for number in range(10)))
    compact(broker)
    client.consumer("t", "r", EXCLUSIVE, consumer_id=5, permits=3, durable=False, read_compacted=True)
    assert [said(frame) for frame in client.messages()] == ["0:k0=1", "1:k1=1", "2:k2=1"]
    publish(client, "k0=2", "k5=2")
    compact(broker)
    client.flow(100, 5)
    found = [said(frame) for frame in client.messages()]
    assert found == [*(f"{number}:k{number}=1" for number in (3, 4, 6, 7, 8, 9)), "10:k0=2", "11:k5=2"]


def test_publishing_goes_on_while_a_topic_is_compacted() -> None:
    broker, client = opened(read_batch_entries=2)
    publish(client, "a=1", "b=1", "a=2", "b=2", "c=1")
    broker.auto = False
    broker.core.compactions.start(broker.topic())
    broker.turn()
    with pytest.raises(AlreadyCompactingError):
        broker.core.compactions.start(broker.topic())
    rounds = 0
    while broker.topic().compaction.status == "RUNNING":
        publish(client, f"late{rounds}=1", "a=late")
        broker.log.step_read()
        step(broker)
        rounds += 1
    assert rounds > 5
    broker.auto = True
    broker.turn()
    assert len(client.receipts()) == 5 + 2 * rounds
    found = read(broker)
    assert found[:3] == ["2:a=2", "3:b=2", "4:c=1"]
    assert len(found) == 3 + 2 * rounds


def step(broker: CoreBroker) -> bool:
    """One thing that is under way completes: a commit, or else a read."""
    if not broker.log.step() and not broker.log.step_read():
        return False
    broker._events()
    broker.turn()
    return True


def prepared() -> tuple[CoreBroker, Client]:
    broker, client = opened(read_batch_entries=2)
    publish(client, "a=1", "b=1", "a=2", "c=1")
    compact(broker)
    publish(client, "a=3", "d=1", "b=", "d=2")
    return broker, client


OLD = ["1:b=1", "2:a=2", "3:c=1", "4:a=3", "5:d=1", "6:b=", "7:d=2"]
NEW = ["3:c=1", "4:a=3", "7:d=2"]


@pytest.mark.parametrize("keep", [0, 1])
def test_a_crash_at_any_point_leaves_the_old_view_or_the_new_one(keep: int) -> None:
    outcomes = []
    for steps in range(60):
        broker, _ = prepared()
        broker.auto = False
        broker.core.compactions.start(broker.topic())
        broker.turn()
        ended = not all(step(broker) for _ in range(steps))
        broker.auto = True
        broker.restart(keep)
        found = read(broker)
        assert found in (OLD, NEW), f"after {steps} steps"
        assert streams(broker) == 2, f"a stream is left over after {steps} steps"
        outcomes.append(found)
        compact(broker)
        assert read(broker) == NEW
        if ended:
            break
    assert outcomes == sorted(outcomes, key=[OLD, NEW].index)
    assert outcomes[0] == OLD
    assert outcomes[-1] == NEW


def test_a_log_that_fails_at_any_point_leaves_the_old_view_or_the_new_one() -> None:
    failed = 0
    for steps in range(60):
        broker, _ = prepared()
        broker.auto = False
        broker.core.compactions.start(broker.topic())
        broker.turn()
        if not all(step(broker) for _ in range(steps)):
            break
        if broker.core.in_flight is None:
            continue
        broker.fail()
        failed += 1
        broker.auto = True
        broker.advance(5_000)
        state = broker.topic().compaction
        assert state.status in ("SUCCESS", "ERROR")
        assert read(broker) == (NEW if state.status == "SUCCESS" else OLD)
        compact(broker)
        assert read(broker) == NEW
        assert streams(broker) == 2
    assert failed > 2


def test_a_read_that_fails_is_an_error_that_says_so() -> None:
    broker, _ = prepared()
    broker.auto = False
    broker.core.compactions.start(broker.topic())
    broker.turn()
    ticket = max(broker.core.reads)
    broker.core.read_done(ReadDone(ticket, 0, [], OSError("the disk is gone")))
    broker.log._reads.clear()
    broker.auto = True
    broker.turn()
    state = broker.topic().compaction
    assert (state.status, state.error, state.failed_ms) == ("ERROR", "the disk is gone", broker.now_ms)
    assert read(broker) == OLD


def test_deleting_the_topic_at_any_point_leaves_nothing() -> None:
    for steps in range(60):
        broker, _ = prepared()
        broker.auto = False
        broker.core.compactions.start(broker.topic())
        broker.turn()
        ended = not all(step(broker) for _ in range(steps))
        delete_topic(broker.core, broker.topic(), ignore)
        broker.auto = True
        broker.turn()
        assert full("t") not in broker.core.topics
        assert streams(broker) == 0, f"a stream is left over after {steps} steps"
        assert not broker.core.compactions.busy
        if ended:
            break


def test_deleting_the_cursor_of_compaction_deletes_the_view() -> None:
    broker, client = opened()
    publish(client, "a=1", "a=2")
    compact(broker)
    delete_subscription(broker.sub("t", COMPACTION_CURSOR), ignore)
    broker.turn()
    assert streams(broker) == 1
    assert len(read(broker)) == 2
    broker.restart()
    assert len(read(broker)) == 2
    compact(broker)
    assert len(read(broker)) == 1


def test_one_topic_at_a_time() -> None:
    broker, client = opened()
    client.producer("u", 2)
    publish(client, "a=1", "a=2")
    client.publish(b"x", key="k", producer_id=2)
    client.publish(b"y", key="k", producer_id=2)
    compactions = broker.core.compactions
    compactions.start(broker.topic("t"))
    compactions.start(broker.topic("u"))
    assert (broker.topic("u").compaction.status, broker.topic("u").compaction.job) == ("RUNNING", None)
    broker.turn()
    assert broker.topic("u").compaction.status == broker.topic("t").compaction.status == "SUCCESS"


def test_a_threshold_starts_it() -> None:
    broker, client = opened(compaction_threshold=1_000, keep_alive_ms=1_000_000_000)
    publish(client, "a=1", "a=2")
    broker.advance(60_000)
    assert broker.topic().compaction.status == "NOT_RUN"
    publish(client, "a=" + "x" * 1_000)
    broker.advance(60_000)
    assert broker.topic().compaction.status == "SUCCESS"
    when = broker.topic().compaction.succeeded_ms
    broker.advance(120_000)
    assert broker.topic().compaction.succeeded_ms == when, "what is compacted does not count again"


def test_its_cursor_is_nobody_elses() -> None:
    broker, client = opened(message_ttl_ms=1_000, keep_alive_ms=1 << 40)
    compact(broker)
    answer = answered(client.subscribe("t", COMPACTION_CURSOR, SHARED))
    assert answered(answer).name == "ERROR"
    publish(client, "a=1")
    broker.advance(600_000)
    assert broker.sub("t", COMPACTION_CURSOR).backlog() == 1, "time to live does not expire it"
