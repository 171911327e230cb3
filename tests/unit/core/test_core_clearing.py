"""Skip and expiry are durable before they are answered, and give way to a cursor that is being moved."""

from __future__ import annotations

import pytest

from magnetar.core.topic_ops import expire_before, expire_through, skip
from magnetar.errors import LogFailed, ServiceNotReady, SubscriptionNotFound
from tests.support.corebroker import SHARED, START_MS, CoreBroker

Outcome = list[Exception | None]


def test_skip_is_answered_when_it_is_durable_and_stays_after_a_crash() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    client.publish(b"a", b"b", b"c")
    broker.auto = False
    told: Outcome = []
    skip(broker.sub(), 2, told.append)
    broker.turn()
    assert told == []
    broker.commit()
    assert told == [None]
    broker.restart()
    assert broker.sub().backlog() == 1


def test_a_skip_that_the_log_did_not_take_is_said_to_have_failed() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    client.publish(b"a")
    told: Outcome = []
    broker.auto = False
    skip(broker.sub(), 1, told.append)
    broker.turn()
    broker.fail()
    assert isinstance(told[0], LogFailed)


def test_expiry_reads_from_the_log_what_it_must_and_is_answered_when_durable() -> None:
    broker = CoreBroker(tail_cache_bytes=1)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=SHARED)
    for age in (5_000, 4_000, 3_000):
        client.publish(b"x", publish_time=START_MS - age)
    broker.auto = False
    told: Outcome = []
    expire_before(broker.sub(), START_MS - 3_500, told.append)
    broker.turn()
    assert broker.sub().backlog() == 3
    while broker.sub().backlog() == 3:
        broker.read()
    assert told == []
    broker.commit()
    assert told == [None]
    assert (broker.sub().backlog(), broker.sub().expired_count) == (1, 2)


def test_a_cursor_that_is_being_moved_or_is_gone_refuses() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.consumer("t")
    broker.sub().fenced = True
    for start in (lambda: skip(broker.sub(), 1, print), lambda: expire_through(broker.sub(), 1, print)):
        with pytest.raises(ServiceNotReady):
            start()
    broker.sub().deleted = True
    with pytest.raises(SubscriptionNotFound):
        expire_before(broker.sub(), 1, print)
