"""Policies in the core: what follows them when they change."""

from __future__ import annotations

from typing import Any

from magnetar.core.catalog import NAMESPACES, TOPICS, Row
from magnetar.core.policies.follow import options_changed
from magnetar.errors import NotFound
from tests.support.corebroker import SHARED, CoreBroker

_MINUTE_MS = 60_000


def set_namespace(broker: CoreBroker, name: str, value: Any) -> None:
    path = NAMESPACES + "public/default"
    broker.core.rows.change(path, lambda row: {**(row or {}), name: value}, False, lambda error: None)
    broker.turn()


def test_time_to_live_of_a_namespace_expires_what_lies_in_a_topic_in_use() -> None:
    broker = CoreBroker(expiry_check_ms=_MINUTE_MS)
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    client.publish(b"a", b"b", publish_time=broker.now_ms)
    broker.advance(10 * _MINUTE_MS)
    assert broker.sub().backlog() == 2
    set_namespace(broker, "message_ttl_in_seconds", 30)
    broker.advance(2 * _MINUTE_MS)
    assert broker.sub().backlog() == 0


def test_retention_of_a_namespace_keeps_what_the_broker_would_drop() -> None:
    broker = CoreBroker(retention_check_ms=_MINUTE_MS, ledger_entries_max=1, ledger_min_ms=0, delete_inactive=False)
    set_namespace(broker, "retention_policies", {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1})
    client = broker.client()
    client.producer("t")
    for body in (b"a", b"b", b"c"):
        client.publish(body)
    broker.advance(5 * _MINUTE_MS)
    assert broker.topic().first_offset == 0
    set_namespace(broker, "retention_policies", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0})
    broker.advance(5 * _MINUTE_MS)
    assert broker.topic().first_offset >= 2


def test_a_raised_limit_releases_who_was_blocked_and_a_lowered_one_blocks() -> None:
    broker = CoreBroker(max_unacked_per_consumer=2)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=SHARED, permits=100)
    client.publish(*[b"%d" % k for k in range(10)])
    assert len(client.bodies()) == 2
    broker.options.max_unacked_per_consumer = 5
    options_changed(broker.core)
    broker.turn()
    assert len(client.bodies()) == 3
    set_namespace(broker, "max_unacked_messages_per_consumer", 1)
    client.ack(*[])
    assert client.bodies() == []
    set_namespace(broker, "max_unacked_messages_per_consumer", 0)
    assert len(client.bodies()) == 5


def test_what_deduplication_knew_is_forgotten_when_it_is_switched_off_even_across_a_crash() -> None:
    broker = CoreBroker(deduplication=True)
    client = broker.client()
    client.producer("t", name="p")
    client.publish(b"a", b"b")
    set_namespace(broker, "deduplicationEnabled", False)
    set_namespace(broker, "deduplicationEnabled", True)
    broker.restart()
    client = broker.client()
    client.producer("t", name="p")
    client.publish(b"again")
    assert broker.topic().tail.end == 3


def test_changes_of_a_row_take_their_turns_and_a_deleted_row_does_not_come_back() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    path = TOPICS + broker.topic().name.path
    broker.auto_store = False
    told: list[Exception | None] = []

    def add(name: str) -> None:
        def change(row: Row | None) -> Row:
            if row is None:
                raise NotFound("it is gone")
            return {**row, "policies": {**row.get("policies", {}), name: 1}}

        broker.core.rows.change(path, change, False, told.append)

    add("a")
    add("b")
    broker.core.meta_write(path, None, False, told.append)
    add("c")
    broker.turn()
    assert [write.path for write in broker.writes] == [path]
    broker.store()
    broker.turn()
    assert broker.core.catalog.own_policies(broker.topic().name) == {"a": 1}
    broker.store()
    broker.turn()
    assert broker.core.catalog.own_policies(broker.topic().name) == {"a": 1, "b": 1}
    broker.store()
    broker.turn()
    assert path not in broker.rows
    assert [type(error) for error in told] == [type(None)] * 3 + [NotFound]


def test_a_failed_write_leaves_the_policies_as_they_were_and_lets_the_next_one_through() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    broker.auto_store = False
    told: list[Exception | None] = []
    path = NAMESPACES + "public/default"
    for value in (3, 4):
        broker.core.rows.change(
            path, lambda row, value=value: {**(row or {}), "max_producers_per_topic": value}, False, told.append
        )
    broker.turn()
    broker.store("the disk is full")
    broker.turn()
    assert broker.topic().policies.max_producers == 0
    broker.store()
    assert broker.topic().policies.max_producers == 4
    assert [error is None for error in told] == [False, True]
