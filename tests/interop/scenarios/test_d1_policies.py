"""Known failures of Key_Shared, by number: consumers that disagree, sticky ranges, out-of-order mode."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pulsar
import pytest

from magnetar.wire.hashing import murmur3, slot
from tests.interop.helpers import KEY_SHARED, assert_silent, drain, payloads, receive_all
from tests.interop.scenarios.sight import configured, keys_of, sub_stats
from tests.support.broker import Broker, StartedBroker
from tests.support.keyworld import key_shared_meta
from tests.support.wireclient import WireClient
from tests.support.wirecodec import SubType

SETTINGS = {"connectionLivenessCheckTimeoutMillis": "500"}
STICKY_SLOTS = 65_536
LOOSE = pulsar.ConsumerKeySharedPolicy(allow_out_of_order_delivery=True)
STRICT = pulsar.ConsumerKeySharedPolicy()

FROZEN = """
import sys, pulsar
client = pulsar.Client(sys.argv[1], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
policy = pulsar.ConsumerKeySharedPolicy(pulsar.KeySharedMode.Sticky, sticky_ranges=[(0, 65535)])
consumer = client.subscribe(sys.argv[2], "s", pulsar.ConsumerType.KeyShared, key_shared_policy=policy)
consumer.receive(20_000)
print("subscribed", flush=True)
sys.stdin.read()
"""


def sticky(*ranges: tuple[int, int]) -> pulsar.ConsumerKeySharedPolicy:
    return pulsar.ConsumerKeySharedPolicy(pulsar.KeySharedMode.Sticky, sticky_ranges=list(ranges))


def test_d1_10_without_order_one_without_permits_starves_nobody(broker: Broker, wire: WireClient, topic: str) -> None:
    """What waits for the one without permits is more than may wait."""
    with configured(broker, keySharedLookAheadMsgInReplayThresholdPerConsumer=10):
        for number, name in ((1, "idle"), (2, "quick")):
            meta = key_shared_meta(out_of_order=True)
            wire.subscribe(topic, "s", number, SubType.KEY_SHARED, name=name, key_shared=meta)
        theirs, ours = keys_of(broker, topic, "idle", 5), keys_of(broker, topic, "quick", 5)
        wire.flow(2, 1000)
        wire.producer(topic)
        for number in range(100):
            wire.publish(b"%d" % number, 2 * number, key=theirs[number % 5])
            wire.publish(b"%d" % number, 2 * number + 1, key=ours[number % 5])
        assert [each.body for each in wire.messages(100, 2)] == [b"%d" % number for number in range(100)]
        wire.flow(1, 1000)
        assert sorted(int(each.body) for each in wire.messages(100, 1)) == list(range(100))


def test_d1_13_a_slot_that_nobody_named_waits(client: pulsar.Client, topic: str) -> None:
    keys = [f"k{number}" for number in range(60)]
    low = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 20_000)))
    high = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((40_000, 65_535)))
    producer = client.create_producer(topic, batching_enabled=False)
    for key in keys:
        producer.send(key.encode(), partition_key=key)
    at = {key.encode(): slot(murmur3(key.encode()), STICKY_SLOTS, 0) for key in keys}
    gap = [key for key, place in at.items() if 20_000 < place < 40_000]
    assert gap
    got = drain([low, high], 60 - len(gap))
    assert all(at[data] <= 20_000 for data in payloads(got[0]))
    assert all(at[data] >= 40_000 for data in payloads(got[1]))
    assert_silent(low)
    assert_silent(high)
    middle = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((20_001, 39_999)))
    assert payloads(receive_all(middle, len(gap))) == gap


@pytest.mark.parametrize(
    "ranges",
    [[(0, 100)], [(50, 150)], [(100, 100)], [(20, 30)], [(0, 65_535)], [(200, 300), (90, 95)]],
    ids=["equal", "overlapping", "one slot", "inside", "around", "one of two"],
)
def test_d1_14_sticky_ranges_that_conflict_are_refused(
    client: pulsar.Client, topic: str, ranges: list[tuple[int, int]]
) -> None:
    there = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 100)))
    with pytest.raises(pulsar.ConsumerAssignError):
        client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky(*ranges))
    client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((101, 101), (103, 65_535)))
    there.close()
    with contextlib.suppress(pulsar.ConsumerAssignError):
        client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 100)))


@contextlib.contextmanager
def frozen_consumer(url: str, topic: str) -> Iterator[None]:
    """A process whose consumer holds every slot, and which is stopped while its connection stays."""
    process = subprocess.Popen(
        [sys.executable, "-c", FROZEN, url, topic], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "subscribed\n"
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        yield
    finally:
        process.kill()
        process.communicate()


def test_d1_15_equal_ranges_after_the_holder_has_frozen(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    own_client.create_producer(topic).send(b"held")
    with own_broker.wire() as wire:
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, key_shared=key_shared_meta((0, 65_535)))
    with frozen_consumer(own_broker.service_url, topic):
        # What it said before it froze has been read when this is answered, and is no sign of life any more.
        sub_stats(own_broker, topic)
        again = own_client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 65_535)))
        assert payloads(receive_all(again, 1)) == [b"held"]


def test_d1_16_another_mode_waits_until_all_have_left(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=STRICT)
    for other in (sticky((0, 65_535)), LOOSE):
        with pytest.raises(pulsar.ConsumerBusy):
            client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=other)
    client.create_producer(topic).send(b"x", partition_key="k")
    receive_all(first, 1, ack=True)
    first.close()
    client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 65_535)))


def test_d1_24_out_of_order_mode_is_toggled_when_nobody_is_connected(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    client.subscribe(topic, "s", KEY_SHARED).close()
    producer = client.create_producer(topic, batching_enabled=False)
    for number, policy in enumerate((STRICT, LOOSE, STRICT, LOOSE)):
        for key in range(20):
            producer.send(b"%d left over" % number, partition_key=f"k{key}")
        both = [client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=policy) for _ in range(2)]
        assert sub_stats(broker, topic)["allowOutOfOrderDelivery"] == (policy is LOOSE)
        for key in range(20):
            producer.send(b"%d" % number, partition_key=f"k{key}")
        got = [message for each in drain(both, 40, ack=True) for message in each]
        assert sorted(payloads(got)) == [b"%d" % number] * 20 + [b"%d left over" % number] * 20
        for consumer in both:
            consumer.close()
