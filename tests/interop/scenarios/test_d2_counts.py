"""Known failures of Key_Shared, by number: counts that drift, entries lost between two hands, answers too early."""

from __future__ import annotations

from dataclasses import replace

import pulsar
import pytest

from tests.interop.helpers import KEY_SHARED, numbered, receive_all
from tests.interop.scenarios.sight import assert_at_rest, consumers, sub_stats
from tests.support.broker import Broker, StartedBroker
from tests.support.keyworld import KeyWorld
from tests.support.wireclient import WireClient
from tests.support.wirecodec import SubType, batch_body

SETTINGS = {"acknowledgmentAtBatchIndexLevelEnabled": "true"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("batch", [1, 5])
def test_d2_33_counts_return_to_zero_whatever_is_done(broker: Broker, topic: str, seed: int, batch: int) -> None:
    world = KeyWorld(broker, topic, 3300 + seed, nack="yes")
    world.churn(100, batch=batch)
    world.finish()
    assert world.violations == []
    assert_at_rest(broker, topic, {each.name: each.granted - each.got for each in world.workers})


@pytest.mark.parametrize("first", ["nack", "ack"])
def test_d2_34_the_same_message_is_refused_and_acknowledged_at_once(
    broker: Broker, wire: WireClient, topic: str, first: str
) -> None:
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="c")
    wire.flow(1, 100)
    wire.producer(topic)
    for number in range(20):
        wire.publish(b"%d" % number, number, key=f"k{number % 3}")
    held = wire.messages(20)
    for each in held:
        # Neither is waited for, so that the two meet in one turn of the broker.
        if first == "nack":
            wire.redeliver(1, [each.id])
            wire.ack(1, [each.id])
        else:
            wire.ack(1, [each.id])
            wire.redeliver(1, [each.id])
    wire.ack(1, [held[0].id], request=True)
    assert_at_rest(broker, topic)
    wire.publish(b"next", 20, key="k0")
    last = [each for each in [*wire.delivered()] if each.body == b"next"] or [wire.message()]
    wire.ack(1, [last[0].id], request=True)
    assert_at_rest(broker, topic)


@pytest.mark.parametrize("crash", [True, False], ids=["sigkill", "sigterm"])
def test_d2_35_an_answered_acknowledgement_holds_through_a_crash(
    own_broker: StartedBroker, topic: str, crash: bool
) -> None:
    with own_broker.wire() as wire:
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="c")
        wire.flow(1, 100)
        wire.producer(topic)
        for number in range(20):
            wire.publish(b"%d" % number, number, key=f"k{number % 3}")
        held = wire.messages(20)
        wire.ack(1, [each.id for each in held[::2]], request=True)
        if crash:
            own_broker.kill()
        else:
            own_broker.stop()
    own_broker.start()
    with own_broker.wire() as wire:
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="c")
        wire.flow(1, 100)
        assert [each.body for each in wire.messages(10)] == [each.body for each in held[1::2]]
        assert list(wire.delivered()) == []


def test_d2_36_every_redelivery_says_what_is_acknowledged_of_a_batch(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    """A client that counts redeliveries would bury it otherwise."""
    with own_broker.wire() as wire:
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="c")
        wire.flow(1, 100)
        wire.producer(topic)
        wire.publish(batch_body(numbered(4)), 0, batch=4, key="k")
        batch = wire.message()
        wire.ack(1, [replace(batch.id, ack_set=(0b1101,))], request=True)
        for count in range(1, 4):
            wire.redeliver(1, [batch.id])
            again = wire.message()
            assert (again.redelivery_count, again.ack_set) == (count, (0b1101,))
    consumer = own_client.subscribe(
        topic, "s", KEY_SHARED, batch_index_ack_enabled=True, negative_ack_redelivery_delay_ms=100
    )
    for count in range(3):
        got = receive_all(consumer, 3)
        assert [(each.data(), each.redelivery_count()) for each in got] == [(b"m-%d" % n, count) for n in (0, 2, 3)]
        for each in got:
            consumer.negative_acknowledge(each)


@pytest.mark.parametrize("seed", range(3))
def test_d2_38_permits_are_charged_for_what_is_sent_and_nothing_else(broker: Broker, topic: str, seed: int) -> None:
    """Somebody stalls all the time, so that slots drain and entries are refused at every join."""
    world = KeyWorld(broker, topic, 3800 + seed, keys=10, permits=8)
    for _ in range(4):
        world.join()
    seen_draining = 0
    for _ in range(15):
        for number, worker in enumerate(world.workers):
            worker.stalled = number % 2 == 0
        world.churn(4, workers=4)
        world.collect()
        sub = sub_stats(broker, topic)
        seen_draining += sub["drainingHashesCount"]
        unread = {each.name: each.permits for each in world.workers}
        found = consumers(broker, topic)
        for each in world.workers:
            # What was sent since the last look has used permits that the world does not know of yet.
            assert each.granted - each.got - unread[each.name] <= found[each.name]["availablePermits"]
            assert found[each.name]["availablePermits"] <= each.granted - each.got
    assert seen_draining
    world.finish()
    assert world.violations == []
    assert_at_rest(broker, topic, {each.name: each.granted - each.got for each in world.workers})
