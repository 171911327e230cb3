"""Backlog quotas in the core: sizes and ages, the three reactions, and who is let in again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.core.backlog import backlog_bytes, known_age_ms, offset_with
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.explain import codes
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.requests.opening import create_cursor
from tests.support.corebroker import EXCLUSIVE, KEY_SHARED, SHARED, CoreBroker, answered
from tests.unit.core.policies import set_namespace, set_topic

_SECOND_MS = 1_000
BODY = bytes(1_000)
ENTRY_BYTES = 1_040
"""About the bytes of an entry with such a body."""


def quota(kind: str, action: str, limit: int) -> dict[str, Any]:
    size, seconds = (limit, -1) if kind == "destination_storage" else (-1, limit)
    return {kind: {"limit": size, "limitSize": size, "limitTime": seconds, "policy": action}}


def with_backlog(entries: int, kind: int = SHARED, **options: Any) -> CoreBroker:
    """A topic with a subscription that has acknowledged nothing, and a connected producer."""
    broker = CoreBroker(quota_check_ms=10 * _SECOND_MS, **options)
    client = broker.client()
    client.producer("t", name="p")
    client.consumer("t", kind=kind)
    client.publish(*[BODY] * entries, publish_time=broker.now_ms)
    return broker


@pytest.mark.parametrize(("action", "code"), [("producer_request_hold", 7), ("producer_exception", 8)])
def test_producers_are_sent_away_and_refused_until_the_backlog_is_small_again(action: str, code: int) -> None:
    broker = with_backlog(10)
    set_namespace(broker, "backlog_quota_map", quota("destination_storage", action, 5 * ENTRY_BYTES))
    client = broker.clients[0]
    client.receipts()
    assert client.names() == []
    broker.advance(10 * _SECOND_MS)
    assert client.names() == ["CLOSE_PRODUCER"]
    assert broker.topic().producers == {}
    refused = answered(client.producer("t", producer_id=2, name="p"))
    assert (refused.name, refused.message.error) == ("ERROR", code)
    assert "backlog quota exceeded" in refused.message.message
    client.flow(100)
    client.ack(*[message.id for message in client.messages()])
    assert answered(client.producer("t", producer_id=2, name="p")).name == "PRODUCER_SUCCESS"


def test_what_a_producer_has_sent_before_it_is_sent_away_is_answered_and_nothing_after_it_is_taken() -> None:
    broker = with_backlog(10)
    set_namespace(broker, "backlog_quota_map", quota("destination_storage", "producer_request_hold", ENTRY_BYTES))
    client = broker.clients[0]
    client.receipts()
    broker.auto = False
    client.publish(b"under way")
    broker.advance(10 * _SECOND_MS)
    client.publish(b"too late")
    assert client.names() == []
    broker.auto = True
    broker.turn()
    assert client.names() == ["SEND_RECEIPT", "CLOSE_PRODUCER"]
    assert broker.topic().tail.end == 11


def test_a_disconnect_while_producers_are_being_sent_away_frees_their_names() -> None:
    broker = with_backlog(10)
    set_namespace(broker, "backlog_quota_map", quota("destination_storage", "producer_request_hold", ENTRY_BYTES))
    broker.auto = False
    broker.clients[0].publish(b"under way")
    broker.advance(10 * _SECOND_MS)
    broker.clients[0].cut()
    broker.auto = True
    broker.turn()
    assert broker.topic().producers == {}


def test_the_oldest_messages_of_the_slowest_subscriptions_are_passed_over() -> None:
    broker = with_backlog(100)
    client = broker.clients[0]
    client.consumer("t", "ahead", consumer_id=2, permits=100)
    client.ack(*[message.id for message in client.messages()[:95]], consumer_id=2)
    assert (broker.sub().backlog(), broker.sub(name="ahead").backlog()) == (100, 5)
    evict = quota("destination_storage", "consumer_backlog_eviction", 50 * ENTRY_BYTES)
    set_topic(broker, "backlog_quota_map", evict)
    broker.advance(10 * _SECOND_MS)
    assert 40 <= broker.sub().backlog() <= 46
    assert broker.sub(name="ahead").backlog() == 5
    assert broker.topic().limits.evicted_for_size == 1
    assert [event.what for event in broker.sub().history.events][-1] == "evicted"
    assert client.take("CLOSE_PRODUCER") == []
    left = broker.sub().backlog()
    broker.restart()
    assert broker.sub().backlog() == left


@pytest.mark.parametrize("kind", ["destination_storage", "message_age"])
@pytest.mark.parametrize("action", ["producer_exception", "consumer_backlog_eviction"])
def test_what_compaction_holds_is_no_backlog_and_is_never_passed_over(kind: str, action: str) -> None:
    broker = with_backlog(10)
    client = broker.clients[0]
    create_cursor(broker.topic(), COMPACTION_CURSOR, 0, True)
    client.flow(100)
    client.ack(*[message.id for message in client.messages()])
    set_topic(broker, "backlog_quota_map", quota(kind, action, 1))
    broker.advance(30 * _SECOND_MS)
    assert broker.sub(name=COMPACTION_CURSOR).backlog() == 10
    assert client.take("CLOSE_PRODUCER") == []
    client.publish(BODY, publish_time=broker.now_ms)
    broker.advance(30 * _SECOND_MS)
    assert broker.sub(name=COMPACTION_CURSOR).backlog() == 11
    if action == "consumer_backlog_eviction":
        assert broker.sub().backlog() == 0
    else:
        assert client.take("CLOSE_PRODUCER") != []


def test_an_evicted_key_shared_entry_stays_held_with_its_key_until_it_is_acknowledged() -> None:
    broker = CoreBroker(quota_check_ms=10 * _SECOND_MS)
    first, second = broker.client(), broker.client()
    first.producer("t")
    first.consumer("t", kind=KEY_SHARED, permits=10)
    first.publish(*[BODY] * 10, key="k")
    held = first.messages()
    assert len(held) == 10
    second.consumer("t", kind=KEY_SHARED, permits=10)
    evict = quota("destination_storage", "consumer_backlog_eviction", 2 * ENTRY_BYTES)
    set_namespace(broker, "backlog_quota_map", evict)
    broker.advance(10 * _SECOND_MS)
    assert broker.sub().backlog() <= 2
    dispatcher = broker.sub().dispatcher
    assert dispatcher is not None
    assert dispatcher.unacked() == 10
    first.publish(b"next", key="k")
    first.flow(10)
    assert second.messages() == []
    for message in held:
        first.ack(message.id)
    first.ack(*[message.id for message in first.messages()])
    broker.advance(_SECOND_MS)
    second.ack(*[message.id for message in second.messages()])
    assert dispatcher.unacked() == 0
    assert broker.sub().backlog() == 0


def test_the_age_of_a_backlog_keeps_producers_away() -> None:
    broker = with_backlog(3)
    set_namespace(broker, "backlog_quota_map", quota("message_age", "producer_exception", 30))
    broker.advance(25 * _SECOND_MS)
    assert broker.topic().producers
    broker.advance(20 * _SECOND_MS)
    assert not broker.topic().producers
    client = broker.clients[0]
    refused = answered(client.producer("t", producer_id=2))
    assert refused.message.error == 8
    assert "message_age" in refused.message.message
    client.flow(10)
    client.ack(*[message.id for message in client.messages()])
    assert answered(client.producer("t", producer_id=2)).name == "PRODUCER_SUCCESS"


def test_an_age_that_must_be_read_is_known_before_a_producer_is_let_in() -> None:
    broker = with_backlog(3)
    set_namespace(broker, "backlog_quota_map", quota("message_age", "producer_request_hold", 30))
    broker.now_ms += 40 * _SECOND_MS
    broker.restart()
    assert known_age_ms(broker.topic()) == -1
    assert answered(broker.client().producer("t")).message.error == 7
    assert known_age_ms(broker.topic()) == 40 * _SECOND_MS


def test_what_is_too_old_is_passed_over() -> None:
    broker = CoreBroker(quota_check_ms=_SECOND_MS, keep_alive_ms=1 << 40)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=EXCLUSIVE)
    for _ in range(10):
        client.publish(b"m", publish_time=broker.now_ms)
        broker.advance(10 * _SECOND_MS)
    set_namespace(broker, "backlog_quota_map", quota("message_age", "consumer_backlog_eviction", 50))
    broker.advance(2 * _SECOND_MS)
    assert broker.sub().backlog() == 4
    assert broker.topic().limits.evicted_for_age == 1


def test_a_topic_may_have_one_kind_of_quota_while_its_namespace_has_the_other() -> None:
    broker = with_backlog(10)
    set_namespace(broker, "backlog_quota_map", quota("destination_storage", "producer_request_hold", ENTRY_BYTES))
    set_topic(broker, "backlog_quota_map", quota("message_age", "producer_exception", 1_000))
    policies = broker.topic().policies
    assert policies.quota_size == (ENTRY_BYTES, "producer_request_hold")
    assert policies.quota_age == (1_000_000, "producer_exception")


def test_quotas_of_the_broker_can_be_switched_off_and_readers_have_none() -> None:
    broker = with_backlog(10, quota_bytes=1, quota_check=False)
    broker.advance(20 * _SECOND_MS)
    assert broker.topic().producers
    broker = CoreBroker(quota_check_ms=_SECOND_MS, quota_bytes=1)
    client = broker.client()
    client.producer("t")
    client.consumer("t", "reader", durable=False)
    client.publish(b"m")
    broker.advance(2 * _SECOND_MS)
    assert broker.topic().producers


def test_explain_names_the_quota_that_keeps_producers_away() -> None:
    broker = with_backlog(10)
    set_namespace(broker, "backlog_quota_map", quota("destination_storage", "producer_request_hold", ENTRY_BYTES))
    broker.clients[0].flow(100)
    findings = explain_subscription(broker.sub()).findings
    assert [finding.code for finding in findings] == [codes.WAITING_FOR_ACKS, codes.BACKLOG_QUOTA]
    assert "producer_request_hold" in findings[1].text


@given(
    rows=st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10_000)), min_size=1, max_size=6),
    limit=st.integers(0, 50_000),
)
def test_the_size_of_a_backlog_never_grows_with_the_cursor(rows: list[tuple[int, int]], limit: int) -> None:
    broker = CoreBroker()
    broker.client().producer("t")
    topic = broker.topic()
    for number, (entries, size) in enumerate(rows, 1):
        topic.ledgers.open(number, topic.tail.end, 0)
        topic.tail.extend([b"e"] * entries, [1] * entries)
        topic.ledgers.sizes[-1] = size
    end = topic.tail.end
    sizes = [backlog_bytes(topic, offset) for offset in range(end + 1)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == sum(size for _, size in rows)
    assert sizes[end] == 0
    found = offset_with(topic, 0, limit)
    assert sizes[found] <= limit
    assert found == 0 or sizes[found - 1] > limit
