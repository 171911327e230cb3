"""Failed commits and crashes: nothing with a receipt is lost, nothing refused comes back, state survives."""

from __future__ import annotations

import pytest

from magnetar.wire.commands import pb
from tests.support.corebroker import EXCLUSIVE, FAILOVER, SHARED, Client, CoreBroker, answered, entry_of


def everything(broker: CoreBroker, topic: str = "t") -> list[bytes]:
    """What a new subscriber finds in the topic from its beginning."""
    client = broker.client()
    client.consumer(topic, "everything", kind=EXCLUSIVE, permits=1_000_000)
    found = client.bodies()
    client.cut()
    del broker.topic(topic).subscriptions["everything"]
    return found


def manual(**options: object) -> tuple[CoreBroker, Client]:
    """A broker with a producer and a Shared consumer, whose commits wait from now on."""
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=1000)
    broker.auto = False
    return broker, client


# Receipts and durability.


def test_nothing_is_answered_or_delivered_before_the_commit() -> None:
    broker, client = manual()
    client.publish(b"a", b"b")
    assert client.names() == []
    broker.commit()
    assert sorted(client.names()) == ["MESSAGE", "MESSAGE", "SEND_RECEIPT", "SEND_RECEIPT"]


def test_what_comes_during_a_commit_shares_the_next() -> None:
    broker, client = manual()
    client.publish(b"a")
    client.publish(b"b")
    client.publish(b"c")
    assert broker.log.commits_pending == 1
    broker.commit()
    assert [sequence for sequence, _ in client.receipts()] == [0]
    broker.commit()
    assert [sequence for sequence, _ in client.receipts()] == [1, 2]


def test_an_ack_receipt_waits_for_its_commit() -> None:
    broker, client = manual()
    client.publish(b"a")
    broker.commit()
    (message,) = client.messages()
    assert client.ack(message.id, receipt=True) is None
    broker.commit()
    assert answered(client.answer(client.requests)).name == "ACK_RESPONSE"


def test_an_ack_receipt_for_what_is_acked_already_waits_for_that_ack() -> None:
    broker, client = manual()
    client.publish(b"a")
    broker.commit()
    (message,) = client.messages()
    client.ack(message.id)
    assert client.ack(message.id, receipt=True) is None
    broker.commit()
    assert client.answer(client.requests) is not None


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED])
def test_a_receipt_after_an_empty_ack_comes_without_any_commit(kind: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.consumer("t", kind=kind)
    broker.auto = False
    assert answered(client.ack((99, 99), receipt=True)).name == "ACK_RESPONSE"


def test_a_subscription_is_answered_when_it_is_durable() -> None:
    broker = CoreBroker(auto=False)
    client = broker.client()
    assert client.subscribe("t") is None
    broker.commit()
    assert answered(client.answer(client.requests)).name == "SUCCESS"


def test_a_refused_send_is_answered_in_its_turn() -> None:
    broker, client = manual()
    client.publish(b"a")
    good = entry_of(b"b", sequence=1)
    bad = good[:-1] + b"!"
    client.feed(client.send_frame(bad, 1) + client.send_frame(good, 2))
    assert client.names() == []
    broker.commit()
    broker.commit()
    order = [frame.message.sequence_id for frame in client.inbox if frame.name.startswith("SEND")]
    assert order == [0, 1, 2]
    assert [frame.message.error for frame in client.take("SEND_ERROR")] == [pb.ServerError.ChecksumError]


def test_a_refused_send_with_nothing_before_it_is_answered_at_once() -> None:
    broker, client = manual()
    client.feed(client.send_frame(entry_of(b"a")[:-1] + b"!", 0))
    assert client.names() == ["SEND_ERROR"]
    assert broker.log.commits_pending == 0


def test_a_refusal_waits_behind_a_commit_under_way_even_if_nothing_follows() -> None:
    broker, client = manual()
    client.publish(b"a")
    client.feed(client.send_frame(entry_of(b"b")[:-1] + b"!", 1))
    broker.commit()
    assert [frame.message.sequence_id for frame in client.inbox if frame.name.startswith("SEND")] == [0, 1]


# Failed commits.


def test_a_failed_commit_refuses_everything_behind_it_and_sends_producers_away() -> None:
    broker, client = manual()
    client.publish(b"a")
    client.publish(b"b", b"c")
    broker.fail()
    assert [frame.message.sequence_id for frame in client.take("SEND_ERROR")] == [0, 1, 2]
    assert len(client.take("CLOSE_PRODUCER")) == 1
    assert client.names() == []
    assert client.session.pending == 0
    broker.auto = True
    broker.advance(5_000)
    assert everything(broker) == []


def test_sends_between_the_failure_and_the_reconnect_are_dropped() -> None:
    broker, client = manual()
    client.publish(b"a")
    broker.fail()
    client.inbox.clear()
    client.publish(b"late")
    broker.auto = True
    broker.advance(5_000)
    assert client.names() == []
    client.producer("t", epoch=1)
    client.publish(b"again")
    assert [sequence for sequence, _ in client.receipts()] == [2]
    assert everything(broker) == [b"again"]


def test_a_new_ledger_takes_the_offsets_again_and_ids_do_not_repeat() -> None:
    broker, client = manual()
    client.publish(b"kept")
    broker.commit()
    ((_, kept),) = client.receipts()
    client.publish(b"void")
    broker.fail()
    broker.auto = True
    broker.advance(1_000)
    client.producer("t", epoch=1)
    client.publish(b"new")
    ((_, new),) = client.receipts()
    assert new[0] > kept[0]
    assert new[1] == 0
    assert broker.topic().tail.end == 2
    assert client.bodies() == [b"kept", b"new"]


@pytest.mark.parametrize("then_crash", [False, True])
def test_a_ledger_that_was_opened_behind_void_entries_is_forgotten(then_crash: bool) -> None:
    broker, client = manual(ledger_entries_max=2, ledger_min_ms=0)
    client.publish(b"kept")
    broker.commit()
    client.messages()
    for body in (b"v1", b"v2", b"v3", b"v4", b"v5"):
        client.publish(body)
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    if then_crash:
        broker.restart()
        client = broker.client()
        client.consumer("t", permits=1000)
    client.producer("t", epoch=1)
    client.inbox.clear()
    client.publish(b"n1")
    client.publish(b"n2")
    client.publish(b"n3")
    bases = broker.topic().ledgers.bases
    assert bases == sorted(set(bases))
    messages = {frame.body: frame.id for frame in client.messages()}
    assert [place for _, place in client.receipts()] == [messages[body] for body in (b"n1", b"n2", b"n3")]
    for place in messages.values():
        client.ack(place)
    assert broker.sub().backlog() == 1, "only what came before is open"


def test_a_checkpoint_that_saw_ledgers_of_a_lost_commit_does_no_harm() -> None:
    broker, client = manual(ledger_entries_max=2, ledger_min_ms=0)
    for body in (b"a", b"b", b"c", b"d", b"e"):
        client.publish(body)
    token = broker.log.begin_checkpoint()
    state = [*broker.core.states(), *broker.topic().states()]
    broker.log.finish_checkpoint(token, state)
    broker.auto = True
    broker.restart()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=10)
    client.publish(b"x")
    client.publish(b"y")
    bases = broker.topic().ledgers.bases
    assert bases == sorted(set(bases))
    assert client.bodies() == [b"x", b"y"]


def test_cursors_of_a_failed_commit_are_written_again() -> None:
    broker, client = manual()
    client.publish(b"a", b"b", b"c")
    broker.commit()
    messages = client.messages()
    assert client.ack(messages[1].id, receipt=True) is None
    broker.fail()
    assert answered(client.answer(client.requests)).message.error == pb.ServerError.PersistenceError
    assert client.names() == ["SEND_RECEIPT"] * 3
    broker.auto = True
    broker.advance(5_000)
    broker.restart()
    assert broker.sub().acks.ranges() == [(1, 1)]
    assert everything(broker) == [b"a", b"b", b"c"]


def test_commits_are_held_back_after_failures_and_longer_each_time() -> None:
    broker, client = manual()
    waits = []
    client.publish(b"a")
    broker.fail()
    for _ in range(7):
        failed_at = broker.now_ms
        while not broker.log.commits_pending:
            broker.advance(50)
        waits.append(broker.now_ms - failed_at)
        broker.fail()
    assert waits[0] <= 150
    assert waits == sorted(waits)
    assert waits[-1] <= 2_100


def test_reads_go_on_while_nothing_can_be_written() -> None:
    broker, client = manual()
    client.publish(b"a", b"b")
    broker.commit()
    client.messages()
    client.publish(b"c")
    broker.fail()
    client.nack(*[(broker.topic().ledgers.ids[0], k) for k in range(2)])
    assert client.bodies() == [b"a", b"b"]


def test_other_topics_keep_their_producers() -> None:
    broker, client = manual()
    client2 = broker.client()
    broker.auto = True
    client2.producer("u", 1)
    client2.publish(b"x")
    broker.auto = False
    client.publish(b"a")
    broker.fail()
    assert client2.take("CLOSE_PRODUCER") == []
    assert broker.topic("u").producers != {}


def test_an_unsubscribe_whose_commit_failed_does_not_come_back() -> None:
    broker, client = manual()
    assert client.ask(pb.CommandUnsubscribe(consumer_id=1)) is None
    broker.fail()
    assert answered(client.answer(client.requests)).name == "ERROR"
    broker.auto = True
    broker.advance(5_000)
    broker.restart()
    assert broker.topic().subscriptions == {}


def test_a_subscription_made_anew_after_a_failed_unsubscribe_stays() -> None:
    broker, client = manual()
    client.ask(pb.CommandUnsubscribe(consumer_id=1))
    client.subscribe("t")
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    broker.restart()
    assert list(broker.topic().subscriptions) == ["s"]


def test_a_trim_whose_commit_failed_is_made_again() -> None:
    broker, client = manual(ledger_entries_max=1, ledger_min_ms=0, retention_check_ms=60_000)
    for body in (b"a", b"b", b"c"):
        client.publish(body)
    broker.auto = True
    broker.turn()
    client.ack(*[frame.id for frame in client.messages()])
    broker.auto = False
    broker.advance(60_000)
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    first = broker.topic().first_offset
    assert first > 0
    broker.restart()
    assert broker.topic().first_offset == first
    assert broker.log.recover().streams[broker.topic().stream].first == first


def test_exclusive_epoch_survives_a_failed_commit_and_a_restart() -> None:
    broker, client = manual()
    client.close_producer()
    assert client.producer("t", name="p", producer_access_mode=1) is None
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    client.inbox.clear()
    granted = answered(client.producer("t", name="p", producer_access_mode=1, epoch=1))
    assert granted.name == "PRODUCER_SUCCESS"
    broker.restart()
    assert broker.topic().epoch == granted.message.topic_epoch


def test_deduplication_forgets_what_was_void() -> None:
    broker, client = manual(deduplication=True)
    client.producer("t", 2, name="d")
    client.publish(b"a", producer_id=2)
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    client.inbox.clear()
    client.producer("t", 2, name="d", epoch=1)
    client.sequence = 0
    client.publish(b"a", producer_id=2)
    ((sequence, place),) = client.receipts()
    assert sequence == 0
    assert place[0] < 1 << 63


# Crashes.


def test_a_crash_keeps_what_has_a_receipt_and_may_keep_what_has_none() -> None:
    for keep in (0, 1):
        broker, client = manual()
        client.publish(b"a")
        broker.commit()
        client.publish(b"b")
        broker.restart(keep)
        broker.auto = True
        assert everything(broker) == [b"a", b"b"][: 1 + keep]


def test_acknowledged_entries_and_parts_of_batches_survive() -> None:
    broker, client = manual()
    client.publish(b"a", b"b")
    client.publish(b"batch", batch=3)
    broker.auto = True
    broker.turn()
    messages = client.messages()
    assert client.ack(messages[1].id, receipt=True) is not None
    assert client.ack(messages[2].id, ack_set=[0b101], receipt=True) is not None
    broker.restart()
    client = broker.client()
    client.consumer("t", permits=10)
    again = client.messages()
    assert [frame.body for frame in again] == [b"a", b"batch"]
    assert list(again[1].message.ack_set) == [0b101]
    assert broker.sub().consumers[0].permits == 10 - 1 - 2


def test_deduplication_survives() -> None:
    broker = CoreBroker(deduplication=True)
    client = broker.client()
    client.producer("t", name="d")
    client.publish(b"a", b"b")
    broker.restart()
    client = broker.client()
    assert answered(client.producer("t", name="d")).message.last_sequence_id == 1
    client.publish(b"a", b"b", b"c")
    assert [place[0] > 1 << 63 for _, place in client.receipts()] == [True, True, False]
    assert everything(broker) == [b"a", b"b", b"c"]


def test_ids_of_before_the_crash_still_name_their_entries() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.publish(b"a", b"b")
    places = [place for _, place in client.receipts()]
    client.consumer("t")
    broker.restart()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=10)
    client.publish(b"c")
    messages = client.messages()
    assert [frame.id for frame in messages][:2] == places
    assert messages[2].id[0] > places[0][0]
    client.ack(*places)
    assert broker.sub().backlog() == 1


def test_generated_names_do_not_repeat_after_a_crash() -> None:
    broker = CoreBroker()
    names = []
    for _ in range(3):
        client = broker.client()
        names.append(answered(client.producer("t")).message.producer_name)
        client.publish(b"x")
        broker.restart()
    assert len(set(names)) == 3


def test_a_topic_whose_deletion_was_cut_short_leaves_nothing_behind() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.publish(b"a")
    stream = broker.topic().stream
    broker.rows = {path: value for path, value in broker.rows.items() if not path.startswith("/topics/")}
    broker.restart()
    assert stream not in broker.log.recover().streams
    client = broker.client()
    client.producer("t")
    assert broker.topic().stream > stream


def test_a_failover_subscription_goes_on_where_it_was() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=FAILOVER, permits=10)
    client.publish(b"a", b"b", b"c")
    messages = client.messages()
    client.ack(messages[1].id, ack_type=1)
    broker.restart()
    client = broker.client()
    client.consumer("t", kind=FAILOVER, permits=10)
    assert client.bodies() == [b"c"]
