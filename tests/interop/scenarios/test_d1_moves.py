"""Known failures of Key_Shared, by number: what moves to whom when somebody joins or leaves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pulsar
import pytest

from tests.interop.helpers import EARLIEST, KEY_SHARED, drain, payloads, receive_all
from tests.interop.scenarios.sight import assert_at_rest, configured, consumers, keys_of, owner, sub_stats
from tests.support.broker import Broker, eventually
from tests.support.wireclient import WireClient
from tests.support.wirecodec import Delivery, SubType

KEYS = [f"k{number}" for number in range(30)]


def join(wire: WireClient, topic: str, consumer_id: int, name: str, permits: int = 1000) -> None:
    wire.subscribe(topic, "s", consumer_id, SubType.KEY_SHARED, name=name)
    if permits:
        wire.flow(consumer_id, permits)


def key_that_moves(broker: Broker, wire: WireClient, topic: str) -> str:
    """A key that belongs to ``first``, and to ``second`` when that is there too; ``first`` has joined."""
    join(wire, topic, 1, "first")
    join(wire, topic, 2, "second", 0)
    (key,) = keys_of(broker, topic, "second")
    wire.close_consumer(2)
    return key


def bodies(deliveries: list[Delivery]) -> list[tuple[int, bytes]]:
    return [(each.consumer_id, each.body) for each in deliveries]


def test_d1_02_one_held_message_holds_up_its_key_and_no_other(broker: Broker, wire: WireClient, topic: str) -> None:
    join(wire, topic, 1, "first")
    wire.producer(topic)
    for number, key in enumerate(KEYS):
        wire.publish(b"1", number, key=key)
    held = {each.key: each.id for each in wire.messages(30, 1)}
    join(wire, topic, 2, "second")
    moved = [key for key in KEYS if owner(broker, topic, key) == "second"]
    stuck = moved[0]
    wire.ack(1, [place for key, place in held.items() if key != stuck], request=True)
    for number, key in enumerate(KEYS, 30):
        wire.publish(b"2", number, key=key)
    assert sorted(each.key for each in wire.messages(len(moved) - 1, 2)) == sorted(moved[1:])
    assert sorted(each.key for each in wire.messages(30 - len(moved), 1)) == sorted(set(KEYS) - set(moved))
    assert list(wire.delivered()) == []
    wire.ack(1, [held[stuck]])
    assert wire.message(2).key == stuck


def test_d1_03_ten_consumers_are_added_to_a_backlog(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    first = client.subscribe(topic, "s", KEY_SHARED, initial_position=EARLIEST, receiver_queue_size=20)
    for number in range(600):
        producer.send_async(b"%d" % number, None, partition_key=f"k{number % 60}")
    producer.flush()
    early = receive_all(first, 100, ack=True)
    others = [client.subscribe(topic, "s", KEY_SHARED, receiver_queue_size=20) for _ in range(10)]
    got = drain([first, *others], 500, ack=True)
    assert sorted(int(data) for data in payloads(early) + [d for each in got for d in payloads(each)]) == list(
        range(600)
    )
    assert all(got[1:])


def test_d1_04_who_joins_or_leaves_moves_its_own_slots_only(broker: Broker, wire: WireClient, topic: str) -> None:
    """Names that run together with numbers, and equal ones."""
    names = ["c1", "c11", "c", "c1", "c111"]
    steps: list[dict[str, list[list[int]]]] = []

    def look() -> None:
        # Of equal names the figures come in the order of joining.
        found: dict[str, list[list[int]]] = {}
        for each in sub_stats(broker, topic)["consumers"]:
            found[f"{each['consumerName']} {sum(one.startswith(each['consumerName'] + ' ') for one in found)}"] = each[
                "keyHashRangeArrays"
            ]
        steps.append(found)

    for number, name in enumerate(names, 1):
        join(wire, topic, number, name, 0)
        look()
    for number in (5, 4, 3, 2):
        wire.close_consumer(number)
        look()
    for before, after in pairwise(steps):
        slots = [{s for first, last in each for s in range(first, last + 1)} for each in before.values()]
        (changed,) = set(before) ^ set(after)
        bigger = after if changed in after else before
        moved = {s for first, last in bigger[changed] for s in range(first, last + 1)}
        assert moved
        assert set.union(*slots) == set(range(1, 65_536))
        for name in set(before) & set(after):
            mine = [{s for first, last in step[name] for s in range(first, last + 1)} for step in (before, after)]
            assert mine[0] ^ mine[1] <= moved, f"{name} lost or got slots that were nobody's to move"


def test_d1_07_what_was_blocked_comes_without_any_further_publish(broker: Broker, wire: WireClient, topic: str) -> None:
    key = key_that_moves(broker, wire, topic)
    wire.producer(topic)
    wire.publish(b"held", 0, key=key)
    held = wire.message(1)
    join(wire, topic, 2, "second")
    for number in range(1, 6):
        wire.publish(b"%d" % number, number, key=key)
    assert list(wire.delivered()) == []
    wire.ack(1, [held.id])
    assert [each.body for each in wire.messages(5, 2)] == [b"1", b"2", b"3", b"4", b"5"]


def test_d1_08_a_range_returns_to_its_owner(broker: Broker, wire: WireClient, topic: str) -> None:
    key = key_that_moves(broker, wire, topic)
    wire.producer(topic)
    wire.publish(b"held", 0, key=key)
    wire.message(1)
    join(wire, topic, 2, "second")
    wire.publish(b"next", 1, key=key)
    assert list(wire.delivered()) == []
    assert sub_stats(broker, topic)["drainingHashesCount"] == 1
    wire.close_consumer(2)
    assert wire.message(1).body == b"next"
    assert sub_stats(broker, topic)["drainingHashesCount"] == 0
    wire.publish(b"last", 2, key=key)
    assert wire.message(1).body == b"last"


@pytest.mark.parametrize("end", ["ack", "close"])
def test_d1_12_the_backlog_goes_while_messages_are_under_way(
    broker: Broker, wire: WireClient, topic: str, end: str
) -> None:
    """Whatever gives a backlog up moves the cursor past what consumers hold; their counts must come back to zero."""
    join(wire, topic, 1, "first")
    join(wire, topic, 2, "second")
    wire.producer(topic)
    for number in range(60):
        wire.publish(b"x", number, key=KEYS[number % 30])
    held = wire.messages(60)
    broker.topic_rest("POST", topic, "subscription/s/skip_all")
    assert sub_stats(broker, topic)["unackedMessages"] == 60
    for number in (1, 2):
        if end == "ack":
            wire.ack(number, [each.id for each in held if each.consumer_id == number], request=True)
        else:
            wire.close_consumer(number)
    assert_at_rest(broker, topic)
    join(wire, topic, 3, "third")
    wire.publish(b"next", 60, key="k0")
    assert bodies(wire.messages(1))[0][1] == b"next"
    assert [x for x in wire.delivered() if x.body != b"next"] == []


@pytest.mark.parametrize("count", [3, 5, 10, 20])
def test_d1_21_slots_are_shared_evenly(broker: Broker, wire: WireClient, topic: str, count: int) -> None:
    for number in range(count):
        join(wire, topic, number, f"consumer-{number}", 0)
    shares = [
        sum(last - first + 1 for first, last in each["keyHashRangeArrays"])
        for each in consumers(broker, topic).values()
    ]
    assert sum(shares) == 65_535
    average = 65_535 / count
    assert min(shares) > 0.8 * average
    assert max(shares) < 1.25 * average


def test_d1_25_one_hot_key_at_a_slow_consumer(broker: Broker, client: pulsar.Client, topic: str) -> None:
    """The slow one holds its first messages and takes no more; every other key goes on."""
    with configured(broker, keySharedLookAheadMsgInReplayThresholdPerConsumer=20):
        slow = client.subscribe(topic, "s", KEY_SHARED, consumer_name="slow", receiver_queue_size=2)
        quick = client.subscribe(topic, "s", KEY_SHARED, consumer_name="quick")
        (hot,) = keys_of(broker, topic, "slow")
        others = keys_of(broker, topic, "quick", 10)
        producer = client.create_producer(topic, batching_enabled=False)
        for number in range(300):
            producer.send_async(b"%d" % number, None, partition_key=hot)
            producer.send_async(b"%d" % number, None, partition_key=others[number % 10])
        producer.flush()
        (got,) = drain([quick], 300, ack=True)
        assert payloads(got) == [b"%d" % number for number in range(300)]
        (got,) = drain([slow], 300, ack=True)
        assert payloads(got) == [b"%d" % number for number in range(300)]

        def gone() -> bool:
            sub: dict[str, Any] = sub_stats(broker, topic)
            return sub["msgBacklog"] == 0

        eventually(gone)
