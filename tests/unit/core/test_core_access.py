"""Access modes: who may publish beside whom, who waits, who is sent away, and the epochs that settle it."""

from __future__ import annotations

import pytest

from magnetar.wire.commands import pb
from tests.support.corebroker import Client, CoreBroker, Frame

SHARED, EXCLUSIVE, WAITING, FENCING = range(4)
BUSY, FENCED = pb.ServerError.ProducerBusy, pb.ServerError.ProducerFenced


def opened(client: Client, mode: int, producer_id: int = 1, name: str | None = None, **fields: object) -> Frame:
    answer = client.producer(
        "t", producer_id, name or f"p{client.session.number}-{producer_id}", producer_access_mode=mode, **fields
    )
    assert answer is not None, "PRODUCER was not answered"
    return answer


def three() -> tuple[CoreBroker, Client, Client, Client]:
    broker = CoreBroker()
    return broker, broker.client(), broker.client(), broker.client()


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        (SHARED, SHARED, None),
        (SHARED, EXCLUSIVE, FENCED),
        (EXCLUSIVE, SHARED, BUSY),
        (EXCLUSIVE, EXCLUSIVE, FENCED),
        (WAITING, SHARED, BUSY),
        (WAITING, EXCLUSIVE, FENCED),
        (FENCING, SHARED, BUSY),
        (FENCING, EXCLUSIVE, FENCED),
    ],
)
def test_who_may_publish_beside_whom(first: int, second: int, error: int | None) -> None:
    broker, one, two, _ = three()
    assert opened(one, first).name == "PRODUCER_SUCCESS"
    answer = opened(two, second)
    assert (answer.message.error if answer.name == "ERROR" else None) == error
    assert len(broker.topic().producers) == (2 if error is None else 1)
    one.publish(b"still here")
    assert len(one.receipts()) == 1


@pytest.mark.parametrize("mode", [EXCLUSIVE, WAITING, FENCING])
def test_whoever_is_alone_becomes_exclusive_with_the_next_epoch(mode: int) -> None:
    broker, one, _, _ = three()
    for epoch in range(3):
        answer = opened(one, mode, epoch)
        assert (answer.message.producer_ready, answer.message.topic_epoch) == (True, epoch)
        one.close_producer(epoch)
    assert broker.topic().epoch == 2


def test_shared_producers_hear_of_no_epoch() -> None:
    _, one, _, _ = three()
    assert not opened(one, SHARED).message.HasField("topic_epoch")


def test_one_after_the_other_the_waiting_ones_get_their_turn() -> None:
    broker, one, two, three_ = three()
    opened(one, SHARED)
    waiting = [opened(two, WAITING), opened(three_, WAITING)]
    assert [answer.message.producer_ready for answer in waiting] == [False, False]
    assert opened(broker.client(), SHARED).message.error == BUSY
    one.close_producer()
    (granted,) = two.take("PRODUCER_SUCCESS")
    assert (granted.message.producer_ready, granted.message.topic_epoch) == (True, 0)
    assert three_.names() == []
    two.cut()
    (granted,) = three_.take("PRODUCER_SUCCESS")
    assert (granted.message.producer_ready, granted.message.topic_epoch) == (True, 1)


def test_a_producer_that_waits_may_not_publish() -> None:
    broker, one, two, _ = three()
    opened(one, SHARED)
    opened(two, WAITING)
    two.publish(b"too early")
    assert broker.hung_up == [two.session]
    one.close_producer()
    assert broker.topic().producers == {}
    assert broker.topic().waiting == []


def test_a_producer_that_waits_can_be_closed() -> None:
    broker, one, two, three_ = three()
    opened(one, SHARED)
    opened(two, WAITING)
    assert two.close_producer() is not None
    assert opened(three_, SHARED).name == "PRODUCER_SUCCESS"
    assert two.session.waiting == {}
    assert broker.topic().waiting == []


def test_a_waiting_producer_that_asks_again_is_told_again_that_it_waits() -> None:
    _, one, two, _ = three()
    opened(one, SHARED)
    opened(two, WAITING)
    assert opened(two, WAITING).message.producer_ready is False
    one.close_producer()
    (granted,) = two.take("PRODUCER_SUCCESS")
    assert granted.message.request_id == two.requests, "the later request is the one that waits"


def test_fencing_sends_producers_away_and_refuses_those_that_wait() -> None:
    broker, one, two, three_ = three()
    opened(one, EXCLUSIVE)
    opened(two, WAITING)
    assert opened(three_, FENCING).message.topic_epoch == 1
    assert one.names() == ["CLOSE_PRODUCER"]
    (refused,) = two.inbox
    assert (refused.name, refused.message.request_id, refused.message.error) == ("ERROR", two.requests, FENCED)
    assert two.session.waiting == {}
    assert [producer.session for producer in broker.topic().producers.values()] == [three_.session]


def test_a_fenced_producer_that_waited_is_forgotten_with_its_id() -> None:
    _, one, two, three_ = three()
    opened(one, EXCLUSIVE)
    opened(two, WAITING)
    opened(three_, FENCING)
    two.inbox.clear()
    three_.close_producer()
    answer = opened(two, SHARED)
    assert answer.message.producer_ready, "it is answered as if it still waited"
    two.publish(b"m")
    assert len(two.receipts()) == 1


def test_what_a_fenced_producer_still_sends_is_dropped() -> None:
    broker, one, two, _ = three()
    opened(one, EXCLUSIVE)
    opened(two, FENCING)
    one.inbox.clear()
    one.publish(b"late")
    assert one.names() == []
    assert broker.topic().tail.end == 0


def test_who_comes_back_with_an_older_epoch_was_fenced() -> None:
    _, one, two, three_ = three()
    opened(one, EXCLUSIVE)
    opened(two, FENCING)
    two.close_producer()
    for mode in (SHARED, EXCLUSIVE, WAITING, FENCING):
        assert opened(three_, mode, mode, topic_epoch=0).message.error == FENCED
    assert opened(three_, EXCLUSIVE, 9, topic_epoch=1).message.topic_epoch >= 1


def test_epochs_survive_a_restart() -> None:
    broker, one, _, _ = three()
    opened(one, EXCLUSIVE)
    broker.restart()
    assert opened(broker.client(), EXCLUSIVE).message.topic_epoch == 1


def test_the_grant_is_told_when_its_epoch_is_durable() -> None:
    broker = CoreBroker()
    one, two = broker.client(), broker.client()
    opened(one, SHARED)
    opened(two, WAITING)
    broker.auto = False
    one.close_producer()
    assert two.names() == []
    broker.commit()
    assert two.names() == ["PRODUCER_SUCCESS"]


def test_a_grant_that_cannot_be_made_durable_is_taken_back() -> None:
    broker = CoreBroker()
    one, two = broker.client(), broker.client()
    opened(one, SHARED)
    opened(two, WAITING)
    broker.auto = False
    one.close_producer()
    broker.fail()
    (answer,) = two.take("ERROR")
    assert (answer.message.request_id, answer.message.error) == (two.requests, pb.ServerError.PersistenceError)
    assert broker.topic().producers == {}
    assert broker.topic().exclusive is None


def test_a_dead_exclusive_producer_of_the_same_name_makes_room() -> None:
    broker = CoreBroker(liveness_probe_ms=5_000)
    one, two = broker.client(), broker.client()
    opened(one, SHARED, name="same")
    assert two.producer("t", name="same") is None, "the first one is asked for a sign of life before"
    assert one.take("PING")
    broker.advance(5_000)
    (answer,) = two.take("PRODUCER_SUCCESS")
    assert answer.message.producer_name == "same"
    assert broker.hung_up == [one.session]


def test_a_living_producer_keeps_its_name() -> None:
    broker = CoreBroker()
    one, two = broker.client(), broker.client()
    opened(one, SHARED, name="same")
    two.producer("t", name="same")
    one.say(pb.CommandPong())
    assert [frame.message.error for frame in two.take("ERROR")] == [BUSY]
    one.publish(b"m")
    assert len(one.receipts()) == 1


def test_the_same_connection_takes_its_name_back_with_a_higher_epoch() -> None:
    broker, one, _, _ = three()
    opened(one, SHARED, 1, name="same")
    assert opened(one, SHARED, 2, name="same").message.error == BUSY
    assert opened(one, SHARED, 2, name="same", epoch=1).name == "PRODUCER_SUCCESS"
    assert [producer.id for producer in broker.topic().producers.values()] == [2]
