"""Cursors moved and topics emptied by an operator, durable when it is answered, whole after a crash."""

from __future__ import annotations

from functools import partial

import pytest

from magnetar.core.resetting import reset, reset_to_time, set_properties, truncate
from magnetar.errors import ServiceNotReady, SubscriptionNotFound
from tests.support.corebroker import KEY_SHARED, START_MS, Client, CoreBroker


class Outcome:
    """What ``done`` was called with, if it was."""

    def __init__(self) -> None:
        self.calls: list[Exception | None] = []

    def __call__(self, error: Exception | None) -> None:
        self.calls.append(error)


def published(broker: CoreBroker, count: int = 5, kind: int = 1) -> Client:
    """A topic with so many messages a second apart, all of them delivered and acknowledged."""
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=100)
    for number in range(count):
        client.publish(b"%d" % number, key=f"k{number}")
        broker.advance(1_000)
    client.ack(*[message.id for message in client.messages()])
    return client


def again(broker: CoreBroker) -> list[bytes]:
    """What a consumer that comes now is given."""
    client = broker.client()
    client.consumer("t", permits=100)
    return client.bodies()


def test_reset_delivers_again_and_sends_consumers_away() -> None:
    broker = CoreBroker()
    client = published(broker)
    done = Outcome()
    reset(broker.sub(), 3, -1, done)
    broker.turn()
    assert done.calls == [None]
    assert "CLOSE_CONSUMER" in client.names()
    assert again(broker) == [b"3", b"4"]


def test_reset_is_durable_when_it_is_answered() -> None:
    broker = CoreBroker()
    published(broker)
    reset(broker.sub(), 2, -1, Outcome())
    broker.turn()
    broker.restart()
    assert again(broker) == [b"2", b"3", b"4"]


def test_reset_beyond_the_end_stands_at_the_end() -> None:
    broker = CoreBroker()
    published(broker)
    reset(broker.sub(), 99, -1, Outcome())
    broker.turn()
    assert broker.sub().acks.floor == 5


@pytest.mark.parametrize(("after_ms", "first"), [(-10_000, 0), (0, 0), (1, 1), (2_000, 2), (99_000, 5)])
def test_reset_to_a_time(after_ms: int, first: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=100)
    for number in range(5):
        client.publish(b"%d" % number, publish_time=START_MS + number * 1_000)
    client.ack(*[message.id for message in client.messages()])
    reset_to_time(broker.sub(), START_MS + after_ms, Outcome())
    broker.turn()
    assert again(broker) == [b"%d" % number for number in range(first, 5)]


def test_a_cursor_that_moves_or_is_gone_is_not_moved() -> None:
    broker = CoreBroker()
    published(broker)
    sub = broker.sub()
    sub.fenced = True
    for move in (partial(reset, sub, 0, -1), partial(reset_to_time, sub, 0), partial(set_properties, sub, {})):
        with pytest.raises(ServiceNotReady):
            move(Outcome())
    sub.fenced, sub.deleted = False, True
    with pytest.raises(SubscriptionNotFound):
        reset(sub, 0, -1, Outcome())


def test_properties_are_replaced_and_stay() -> None:
    broker = CoreBroker()
    published(broker)
    set_properties(broker.sub(), {"a": "1"}, Outcome())
    set_properties(broker.sub(), {"b": "2"}, Outcome())
    broker.turn()
    broker.restart()
    assert broker.sub().properties == {"b": "2"}
    assert broker.sub().acks.floor == 5


def test_truncate_gives_up_everything() -> None:
    broker = CoreBroker()
    client = published(broker)
    reset(broker.sub(), 0, -1, Outcome())
    broker.turn()
    done = Outcome()
    truncate(broker.topic(), done)
    broker.turn()
    assert done.calls == [None]
    topic = broker.topic()
    assert (topic.first_offset, topic.size_bytes, broker.sub().backlog(), len(topic.ledgers.ids)) == (5, 0, 0, 1)
    client.publish(b"new")
    assert again(broker) == [b"new"]
    broker.restart()
    assert broker.topic().first_offset == 5
    assert again(broker) == [b"new"]


def test_what_is_on_its_way_is_given_up_as_well() -> None:
    broker = CoreBroker(auto=False)
    client = broker.client()
    client.producer("t")
    broker.store()
    client.producer("t")
    client.publish(b"pending")
    done = Outcome()
    truncate(broker.topic(), done)
    broker.turn()
    assert done.calls == []
    for _ in range(3):
        broker.commit()
    assert done.calls == [None]
    assert len(client.receipts()) == 1
    assert broker.topic().first_offset == broker.topic().tail.end == 1


def test_truncate_of_an_empty_topic_and_twice() -> None:
    broker = CoreBroker()
    broker.client().producer("t")
    done = Outcome()
    truncate(broker.topic(), done)
    truncate(broker.topic(), done)
    broker.turn()
    assert done.calls == [None, None]


def test_a_truncate_that_cannot_be_written_loses_nothing() -> None:
    broker = CoreBroker()
    published(broker)
    reset(broker.sub(), 0, -1, Outcome())
    broker.turn()
    broker.auto = False
    done = Outcome()
    truncate(broker.topic(), done)
    broker.turn()
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    assert isinstance(done.calls[0], Exception)
    assert again(broker) == [b"0", b"1", b"2", b"3", b"4"]


def test_keys_that_are_held_stay_held_when_a_topic_is_truncated() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=KEY_SHARED, permits=1)
    client.publish(b"held", b"waits", key="k")
    (held,) = client.messages()
    truncate(broker.topic(), Outcome())
    broker.turn()
    client.publish(b"new", key="k")
    assert client.bodies() == []
    client.flow(10)
    client.ack(held.id)
    assert client.bodies() == [b"new"]
