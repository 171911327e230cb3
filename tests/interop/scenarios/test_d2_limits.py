"""Known failures of Key_Shared, by number: memory, permits, and the limits on what is unacknowledged."""

from __future__ import annotations

import pytest

from tests.interop.scenarios.sight import configured, consumers, keys_of, sub_stats
from tests.support.broker import Broker
from tests.support.keyworld import key_shared_meta
from tests.support.wireclient import WireClient
from tests.support.wirecodec import Delivery, SubType, batch_body


def join(wire: WireClient, topic: str, consumer_id: int, name: str, permits: int = 0) -> None:
    wire.subscribe(topic, "s", consumer_id, SubType.KEY_SHARED, name=name, key_shared=key_shared_meta())
    if permits:
        wire.flow(consumer_id, permits)


def publish(wire: WireClient, sizes: list[int], key: str = "k") -> None:
    """Entries with these numbers of messages, numbered through."""
    at = 0
    for size in sizes:
        wire.publish(batch_body([b"%d" % number for number in range(at, at + size)]), at, batch=size, key=key)
        at += size


def messages_of(deliveries: list[Delivery]) -> int:
    return sum(each.batch_size for each in deliveries)


def test_d2_28_one_stopped_consumer_and_a_long_backlog(broker: Broker, wire: WireClient, topic: str) -> None:
    """What waits for the stopped one is bounded by a setting, however much there is; the other goes on behind it."""
    with configured(broker, keySharedLookAheadMsgInReplayThresholdPerConsumer=50):
        join(wire, topic, 1, "stopped")
        join(wire, topic, 2, "quick", 10_000)
        theirs, ours = keys_of(broker, topic, "stopped", 3), keys_of(broker, topic, "quick", 3)
        wire.producer(topic)
        for number in range(10_000):
            wire.send(b"x", number, key=theirs[number % 3])
        for _ in range(10_000):
            wire.receipt()
        for number in range(300):
            wire.publish(b"%d" % number, 10_000 + number, key=ours[number % 3])
        assert [each.body for each in wire.messages(300, 2)] == [b"%d" % number for number in range(300)]
        assert sub_stats(broker, topic)["msgInReplay"] <= 2 * 50
        wire.flow(1, 20_000)
        assert messages_of(wire.messages(10_000, 1)) == 10_000


def test_d2_29_permits_are_exceeded_by_one_entry_at_most(broker: Broker, wire: WireClient, topic: str) -> None:
    join(wire, topic, 1, "c")
    wire.producer(topic)
    publish(wire, [100, 100, 100])
    wire.flow(1, 10)
    assert messages_of([wire.message()]) == 100
    assert list(wire.delivered()) == []
    assert consumers(broker, topic)["c"]["availablePermits"] == -90
    wire.flow(1, 90)
    assert list(wire.delivered()) == []
    wire.flow(1, 1)
    assert wire.message().batch_size == 100


def test_d2_30_what_is_left_of_a_batch_costs_what_is_left(broker: Broker, wire: WireClient, topic: str) -> None:
    join(wire, topic, 1, "c", 10)
    wire.producer(topic)
    publish(wire, [10])
    (batch,) = wire.messages(1)
    wire.ack(1, [type(batch.id)(batch.id.ledger, batch.id.entry, ack_set=(0b11_1110_0000,))], request=True)
    assert consumers(broker, topic)["c"]["unackedMessages"] == 5
    wire.redeliver(1, [batch.id])
    wire.flow(1, 5)
    again = wire.message()
    assert (again.id.entry, again.ack_set, again.redelivery_count) == (batch.id.entry, (0b11_1110_0000,), 1)
    seen = consumers(broker, topic)["c"]
    assert (seen["availablePermits"], seen["unackedMessages"]) == (0, 5)
    wire.ack(1, [again.id], request=True)
    assert consumers(broker, topic)["c"]["unackedMessages"] == 0


def test_d2_31_a_consumer_at_its_limit_goes_on_at_half(broker: Broker, wire: WireClient, topic: str) -> None:
    with configured(broker, maxUnackedMessagesPerConsumer=10):
        join(wire, topic, 1, "c", 100)
        wire.producer(topic)
        publish(wire, [1] * 30)
        held = wire.messages(10)
        assert list(wire.delivered()) == []
        assert consumers(broker, topic)["c"]["blockedConsumerOnUnackedMsgs"]
        wire.ack(1, [each.id for each in held[:4]], request=True)
        assert list(wire.delivered()) == []
        wire.ack(1, [held[4].id])
        assert len(wire.messages(5)) == 5
        assert list(wire.delivered()) == []
        wire.redeliver(1)
        again = wire.messages(10)
        assert [each.redelivery_count for each in again] == [1] * 10
        for each in again:
            wire.ack(1, [each.id])
        for _ in range(15):
            wire.ack(1, [wire.message().id], request=True)
        seen = consumers(broker, topic)["c"]
        assert (seen["unackedMessages"], seen["blockedConsumerOnUnackedMsgs"]) == (0, False)


def test_d2_32_the_subscriptions_limit_counts_all_its_consumers(broker: Broker, wire: WireClient, topic: str) -> None:
    with configured(broker, maxUnackedMessagesPerSubscription=20):
        for number in range(4):
            join(wire, topic, number, f"c{number}", 100)
        keys = [key for number in range(4) for key in keys_of(broker, topic, f"c{number}")]
        wire.producer(topic)
        for number in range(40):
            wire.publish(b"x", number, key=keys[number % 4])
        held = wire.messages(20)
        assert {each.consumer_id for each in held} == {0, 1, 2, 3}
        assert list(wire.delivered()) == []
        sub = sub_stats(broker, topic)
        assert (sub["unackedMessages"], sub["blockedSubscriptionOnUnackedMsgs"]) == (20, True)
        for each in held[:10]:
            wire.ack(each.consumer_id, [each.id])
        assert len(wire.messages(10)) == 10
        assert list(wire.delivered()) == []


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_d2_37_the_limit_is_exceeded_by_one_entry_at_most(
    broker: Broker, wire: WireClient, topic: str, size: int
) -> None:
    """Sizes that vary are what an estimate by averages gets wrong."""
    with configured(broker, maxUnackedMessagesPerConsumer=10):
        join(wire, topic, 1, "c", 1000)
        wire.producer(topic)
        sizes = [1, 1, size, 1, 20, size, 3, size] * 3
        publish(wire, sizes)
        left = list(sizes)
        while left:
            due = 0
            expected = []
            while left and due < 10:
                expected.append(left.pop(0))
                due += expected[-1]
            held = wire.messages(len(expected))
            assert [each.batch_size for each in held] == expected
            assert list(wire.delivered()) == []
            assert consumers(broker, topic)["c"]["unackedMessages"] == due
            wire.ack(1, [each.id for each in held], request=True)
