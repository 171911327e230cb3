"""Known failures of Key_Shared, by number: delayed messages."""

from __future__ import annotations

import time
from datetime import timedelta

import pulsar

from tests.interop.helpers import EARLIEST, KEY_SHARED, drain, payloads, receive_all
from tests.interop.scenarios.sight import assert_at_rest, configured, keys_of, sub_stats
from tests.support.broker import Broker, eventually
from tests.support.wireclient import WireClient
from tests.support.wirecodec import SubType

AFTER = timedelta(seconds=1)
"""Long enough to publish what is to stand behind; the tests wait for messages, not for this."""


def test_d1_09_delayed_messages_come_although_the_look_ahead_is_full_of_blocked_keys(
    broker: Broker, client: pulsar.Client, wire: WireClient, topic: str
) -> None:
    low = {
        "keySharedLookAheadMsgInReplayThresholdPerConsumer": 5,
        "keySharedLookAheadMsgInReplayThresholdPerSubscription": 5,
    }
    with configured(broker, **low):
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="blocked")
        wire.subscribe(topic, "s", 2, SubType.KEY_SHARED, name="idle")
        wire.flow(2, 100)
        (theirs,), mine = keys_of(broker, topic, "blocked"), keys_of(broker, topic, "idle", 3)
        producer = client.create_producer(topic, batching_enabled=False)
        for key in mine:
            producer.send(key.encode(), partition_key=key, deliver_after=AFTER)
        for _ in range(40):
            producer.send(b"blocked", partition_key=theirs)
        # Nobody publishes, nobody asks for more: time alone brings them.
        assert sorted(each.key for each in wire.messages(3, 2)) == sorted(mine)
        wire.flow(1, 100)
        assert len(wire.messages(40, 1)) == 40


def test_d1_22_delayed_and_immediate_messages_of_a_key_mix_and_none_is_stuck(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    first = client.subscribe(topic, "s", KEY_SHARED, initial_position=EARLIEST)
    producer = client.create_producer(topic, batching_enabled=False)
    keys = [f"k{number}" for number in range(20)]
    for key in keys:
        producer.send(b"late", partition_key=key, deliver_after=AFTER)
    due = time.monotonic() + AFTER.total_seconds()
    for key in keys:
        producer.send(b"now", partition_key=key)
    held = receive_all(first, 20)
    assert set(payloads(held)) == {b"now"}
    # The keys that move drain, while the time of their delayed messages comes.
    second = client.subscribe(topic, "s", KEY_SHARED)
    eventually(lambda: time.monotonic() > due)
    for message in held:
        first.acknowledge(message)
    got = drain([first, second], 20, ack=True)
    assert sorted(payload for each in got for payload in payloads(each)) == [b"late"] * 20
    assert all(got), "keys have moved to the second consumer"
    eventually(lambda: sub_stats(broker, topic)["msgBacklog"] == 0)
    assert_at_rest(broker, topic)
