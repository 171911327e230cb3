"""A seek whose subscription changes while the place is still looked for, or right behind it."""

from __future__ import annotations

import pytest

from magnetar.core.creating import delete_topic
from magnetar.wire.commands import pb
from tests.support.corebroker import EXCLUSIVE, START_MS, Client, CoreBroker, answered


def seeking(durable: bool) -> tuple[CoreBroker, Client]:
    """A seek by time that waits for the log."""
    broker = CoreBroker(tail_cache_bytes=0, delete_inactive=False)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=EXCLUSIVE, durable=durable)
    for k in range(20):
        client.publish(b"%d" % k, publish_time=START_MS + k)
    client.inbox.clear()
    broker.auto = False
    assert client.ask(pb.CommandSeek(consumer_id=1, message_publish_time=START_MS + 5)) is None
    return broker, client


def finish(broker: CoreBroker) -> None:
    broker.auto = True
    broker.turn()


def test_a_reader_that_leaves_during_its_seek_leaves_nothing() -> None:
    broker, client = seeking(durable=False)
    client.close_consumer()
    finish(broker)
    broker.advance(120_000)
    assert client.take("ERROR")[0].message.error == pb.ServerError.SubscriptionNotFound
    assert broker.topic().subscriptions == {}


def test_a_reader_that_is_cut_off_during_its_seek_leaves_nothing() -> None:
    broker, client = seeking(durable=False)
    client.cut()
    finish(broker)
    broker.advance(120_000)
    assert broker.topic().subscriptions == {}


def test_a_reader_that_comes_under_the_name_of_one_that_left_during_its_seek_is_served() -> None:
    broker, client = seeking(durable=False)
    client.close_consumer()
    other = broker.client()
    other.consumer("t", kind=EXCLUSIVE, durable=False)
    theirs = broker.sub()
    finish(broker)
    assert broker.sub() is theirs
    other.flow(100)
    assert len(other.bodies()) == 20


def test_a_subscription_that_is_taken_away_during_its_seek_fails_it_and_a_new_one_is_left_alone() -> None:
    broker, client = seeking(durable=True)
    broker.log.step()
    assert client.ask(pb.CommandUnsubscribe(consumer_id=1)) is None
    other = broker.client()
    assert other.subscribe("t", kind=EXCLUSIVE) is None
    finish(broker)
    assert client.names().count("SUCCESS") == 1
    assert client.take("ERROR")[0].message.error == pb.ServerError.SubscriptionNotFound
    assert other.names() == ["SUCCESS"]
    other.flow(100)
    assert len(other.bodies()) == 20


@pytest.mark.parametrize("durable", [True, False])
def test_a_topic_that_is_deleted_during_a_seek_ends_it(durable: bool) -> None:
    broker, client = seeking(durable)
    outcomes: list[Exception | None] = []
    delete_topic(broker.core, broker.topic(), outcomes.append)
    broker.turn()
    finish(broker)
    broker.advance(5_000)
    assert outcomes == [None]
    assert broker.core.topics == {}
    assert client.take("ERROR")[0].message.error == pb.ServerError.SubscriptionNotFound
    assert broker.core.reads == {}


def test_a_reader_that_seeks_again_has_its_full_time_to_come_back() -> None:
    broker = CoreBroker(keep_alive_ms=30_000)
    client = broker.client()
    client.producer("t")
    client.consumer("t", "r", EXCLUSIVE, durable=False)
    client.publish(b"0", b"1", b"2")
    places = [place for _, place in client.receipts()]
    assert answered(client.seek(places[0])).name == "SUCCESS"
    client.consumer("t", "r", EXCLUSIVE, durable=False)
    broker.advance(29_000)
    client.say(pb.CommandPing())
    assert answered(client.seek(places[1])).name == "SUCCESS"
    broker.advance(2_000)
    client.consumer("t", "r", EXCLUSIVE, durable=False, permits=10, initialPosition=0)
    assert client.bodies() == [b"1", b"2"]
    client.close_consumer()
    broker.advance(60_000)
    assert broker.topic().subscriptions == {}


def test_a_seek_to_what_is_not_durable_yet_goes_to_the_end() -> None:
    broker = CoreBroker(ledger_entries_max=2, ledger_min_ms=0)
    client = broker.client()
    client.producer("t")
    client.publish(b"0")
    ((_, (ledger, _)),) = client.receipts()
    client.consumer("t", kind=EXCLUSIVE)
    broker.auto = False
    for body in (b"1", b"2", b"3"):
        client.publish(body)
    assert broker.topic().ledgers.bases[-1] > broker.topic().tail.end
    client.seek((ledger, 5))
    assert broker.sub().acks.floor == broker.topic().tail.end == 1
    broker.fail()
    finish(broker)
    broker.advance(5_000)
    client.producer("t")
    client.publish(b"instead")
    client.consumer("t", kind=EXCLUSIVE, permits=10)
    assert client.bodies() == [b"instead"]
