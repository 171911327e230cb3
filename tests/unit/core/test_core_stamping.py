"""Broker entry metadata on the core: exact indexes, over crashes too, and only for those who asked."""

from __future__ import annotations

from typing import Any

import pytest

from magnetar.wire.commands import pb
from magnetar.wire.entry import stamp
from tests.support.corebroker import EXCLUSIVE, Client, CoreBroker, entry_of

ON = {"entry_index": True, "entry_timestamp": True, "entry_metadata_exposed": True}


def asking(broker: CoreBroker, version: int = 21, asks: bool = True) -> Client:
    client = broker.client(connect=False)
    flags = pb.FeatureFlags(supports_broker_entry_metadata=asks)
    client.say(pb.CommandConnect(client_version="test", protocol_version=version, feature_flags=flags))
    client.take("CONNECTED")
    return client


def stamps(client: Client, **fields: Any) -> list[tuple[int, int] | None]:
    """Time and index of everything that is there for a reader."""
    client.consumer("t", "r", EXCLUSIVE, permits=10_000, durable=False, **fields)
    found = [stamp_of(frame.payload) for frame in client.messages()]
    client.close_consumer()
    return found


def stamp_of(payload: bytes) -> tuple[int, int] | None:
    if payload[:2] != b"\x0e\x02":
        return None
    size = int.from_bytes(payload[2:6], "big")
    metadata = pb.BrokerEntryMetadata.FromString(payload[6 : 6 + size])
    assert payload[6 + size :][:2] == b"\x0e\x01", "the rest is as it was"
    return metadata.broker_timestamp, metadata.index


def indexes(client: Client) -> list[int]:
    return [found[1] for found in stamps(client) if found is not None]


def test_an_index_is_that_of_the_last_message_of_its_entry() -> None:
    broker = CoreBroker(**ON)
    client = asking(broker)
    client.producer("t")
    client.publish(b"a", b"b")
    first = broker.now_ms
    broker.advance(1_000)
    client.publish(b"c", batch=5)
    client.publish(b"d")
    assert stamps(client) == [(first, 0), (first, 1), (first + 1_000, 6), (first + 1_000, 7)]


def test_indexes_are_exact_after_crashes_and_failed_commits() -> None:
    broker = CoreBroker(**ON)
    client = asking(broker)
    client.producer("t")
    client.publish(b"a", batch=3)
    broker.auto = False
    client.publish(b"lost", batch=7)
    broker.restart()
    broker.auto = True
    client = asking(broker)
    client.producer("t")
    client.publish(b"b", batch=2)
    broker.auto = False
    client.publish(b"void", batch=7)
    client.publish(b"void as well")
    broker.fail()
    broker.auto = True
    broker.advance(5_000)
    client.producer("t", 2)
    client.publish(b"c", producer_id=2)
    assert indexes(client) == [2, 4, 5]
    broker.restart()
    client = asking(broker)
    client.producer("t")
    client.publish(b"d")
    assert indexes(client) == [2, 4, 5, 6]


@pytest.mark.parametrize(("version", "asks", "exposed"), [(17, True, True), (21, False, True), (21, True, False)])
def test_nobody_else_sees_it(version: int, asks: bool, exposed: bool) -> None:
    broker = CoreBroker(**{**ON, "entry_metadata_exposed": exposed})
    client = asking(broker, version, asks)
    client.producer("t")
    client.publish(b"a", b"b")
    assert stamps(client) == [None, None]
    client.consumer("t", "r", EXCLUSIVE, permits=10, durable=False)
    assert client.bodies() == [b"a", b"b"]


def test_turning_it_off_leaves_what_is_there_readable_for_everybody() -> None:
    broker = CoreBroker(**ON)
    client = broker.client()
    client.producer("t")
    client.publish(b"a")
    broker.options.entry_index = broker.options.entry_timestamp = False
    broker.restart()
    client = broker.client()
    client.producer("t")
    client.publish(b"b")
    assert stamps(client) == [None, None]
    assert stamps(asking(broker)) == [(broker.now_ms, 0), None]
    broker.options.entry_index = True
    broker.restart()
    client = asking(broker)
    client.producer("t")
    client.publish(b"c")
    assert indexes(client) == [0, 1], "it goes on where it was turned off"


def test_only_what_is_asked_for_and_nothing_that_a_client_made_up() -> None:
    broker = CoreBroker(entry_index=True, entry_metadata_exposed=True)
    client = asking(broker)
    client.producer("t")
    client.feed(client.send_frame(stamp(entry_of(b"x"), 99, 99), 0))
    assert stamps(client) == [(0, 0)]


def test_where_it_is_off_entries_are_stored_as_they_came() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.publish(b"a")
    assert broker.topic().tail.entries == [entry_of(b"a")]
    assert b"X" not in broker.log.recover().streams[broker.topic().stream].state
    client.consumer("t", permits=1)
    assert not broker.sub().consumers[0].strips
