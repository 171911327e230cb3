"""The selector ``balanced``: topics of one subscription name, shared out evenly and with few moves."""

from __future__ import annotations

from collections import Counter

import pytest

from magnetar.core.balance import SETTLE_MOST_MS, SETTLE_MS
from tests.support.corebroker import FAILOVER, Client, CoreBroker
from tests.unit.core.policies import set_namespace

CASES = [  # topics, partitions of each, consumers, and what moves when one more joins
    (100, 1, 10, 9),
    (1000, 1, 10, 90),
    (100, 3, 4, 60),
    (50, 4, 8, 22),
    (1, 10, 3, 2),
    (1, 100, 10, 9),
]


class Fleet:
    """Consumers that each subscribe to all topics, as one application with a pattern does."""

    def __init__(self, topics: list[str], **options: object) -> None:
        self.broker = CoreBroker(**{"failover_selector": "balanced", "failover_delay_ms": 0, **options})
        self.topics = topics
        self.clients: dict[str, Client] = {}

    def join(self, name: str, priority: int = 0, only: list[str] | None = None) -> Client:
        client = self.clients[name] = self.broker.client()
        for number, topic in enumerate(self.topics):
            if only is None or topic in only:
                client.consumer(
                    topic, kind=FAILOVER, consumer_id=number, consumer_name=name, priority_level=priority, permits=10
                )
        return client

    def settle(self) -> None:
        self.broker.advance(SETTLE_MOST_MS)

    def active(self) -> dict[str, str]:
        found = {}
        for topic in self.topics:
            dispatcher = self.broker.sub(topic).dispatcher
            consumer = dispatcher.active() if dispatcher is not None else None
            if consumer is not None:
                found[topic] = consumer.name
        return found

    def spread(self) -> list[int]:
        counts = Counter(self.active().values())
        return [min(counts.values()), max(counts.values())]


def names(topics: int, partitions: int) -> list[str]:
    return [f"topic-{number}-partition-{index}" for number in range(topics) for index in range(partitions)]


@pytest.mark.parametrize(("topics", "partitions", "consumers", "moves"), CASES)
def test_every_row_of_the_comparison_is_even(topics: int, partitions: int, consumers: int, moves: int) -> None:
    fleet = Fleet(names(topics, partitions))
    for number in range(consumers):
        fleet.join(f"consumer-{number}")
    fleet.settle()
    low, high = fleet.spread()
    assert high - low <= 1
    before = fleet.active()
    fleet.join("one more")
    assert fleet.active() == before, "nothing moves while it is still coming"
    fleet.settle()
    after = fleet.active()
    low, high = fleet.spread()
    assert high - low <= 1
    moved = [topic for topic in before if before[topic] != after[topic]]
    assert len(moved) == moves
    assert {after[topic] for topic in moved} == {"one more"}
    fleet.clients["consumer-0"].cut()
    left = fleet.active()
    assert [topic for topic in after if after[topic] != left[topic] and after[topic] != "consumer-0"] == []
    fleet.settle()
    low, high = fleet.spread()
    assert high - low <= 1
    assert fleet.active() == left, "what was left was spread at once, and there is nothing to do after it"


def test_it_is_settled_when_nobody_has_come_for_a_while_and_at_last_anyhow() -> None:
    fleet = Fleet(names(4, 1))
    fleet.join("a")
    fleet.settle()
    fleet.join("b")
    fleet.broker.advance(SETTLE_MS - 1)
    assert fleet.spread() == [4, 4]
    fleet.broker.advance(1)
    assert fleet.spread() == [2, 2]
    fleet.join("c")
    for number in range(SETTLE_MOST_MS // (SETTLE_MS - 1)):
        assert "c" not in fleet.active().values(), number
        fleet.broker.advance(SETTLE_MS - 1)
        fleet.join(f"another-{number}", only=fleet.topics[:1])
    fleet.broker.advance(SETTLE_MOST_MS - SETTLE_MS)
    assert "c" in fleet.active().values()


def test_it_is_the_same_every_time() -> None:
    found = []
    for _ in range(2):
        fleet = Fleet(names(30, 1))
        for name in ("x", "y", "z", "v"):
            fleet.join(name)
            fleet.settle()
        fleet.clients["y"].cut()
        found.append(fleet.active())
    assert found[0] == found[1]


def test_a_better_priority_has_all_topics_that_it_is_on() -> None:
    fleet = Fleet(names(12, 1))
    for name in ("a", "b"):
        fleet.join(name, 1)
    fleet.join("best", 0, only=fleet.topics[:4])
    fleet.settle()
    assert Counter(fleet.active().values()) == {"best": 4, "a": 4, "b": 4}
    assert [fleet.active()[topic] for topic in fleet.topics[:4]] == ["best"] * 4
    fleet.clients["best"].cut()
    fleet.settle()
    assert fleet.spread() == [6, 6]


def test_topics_move_by_way_of_others() -> None:
    """``a`` and ``c`` have no topic in common: what ``a`` has too much reaches ``c`` through ``b``."""
    fleet = Fleet(names(12, 1))
    first, second = fleet.topics[:8], fleet.topics[8:]
    fleet.join("b", only=fleet.topics)
    fleet.settle()
    fleet.join("a", only=first)
    fleet.settle()
    assert fleet.spread() == [6, 6]
    fleet.join("c", only=second)
    fleet.settle()
    assert fleet.spread() == [4, 4]
    assert max(fleet.broker.sub(topic).history.switches for topic in fleet.topics) <= 2


def test_names_and_tenants_have_their_own_balance() -> None:
    fleet = Fleet(names(4, 1))
    fleet.join("a")
    fleet.join("b")
    client = fleet.broker.client()
    for number, topic in enumerate(fleet.topics):
        client.consumer(topic, "other", FAILOVER, consumer_id=number, consumer_name="a")
    fleet.settle()
    assert fleet.spread() == [2, 2]
    assert list(fleet.broker.core.balance.groups) == [("public", "s"), ("public", "other")]


def test_nothing_is_left_behind() -> None:
    fleet = Fleet(names(3, 1))
    fleet.join("a")
    fleet.join("b").cut()
    (group,) = fleet.broker.core.balance.groups.values()
    assert group.load == {"a": 3}
    fleet.clients["a"].cut()
    assert not fleet.broker.core.balance.groups
    fleet.settle()


def test_exclusive_subscriptions_are_no_part_of_it() -> None:
    broker = CoreBroker(failover_selector="balanced")
    client = broker.client()
    client.consumer("t", kind=0, consumer_name="a")
    assert not broker.core.balance.groups


def test_moves_are_drained_too() -> None:
    fleet = Fleet(names(4, 1), failover_drain_ms=5_000)
    maker = fleet.broker.client()
    first = fleet.join("a")
    for number, topic in enumerate(fleet.topics):
        maker.producer(topic, number)
        maker.publish(b"x", producer_id=number)
    held = {frame.message.consumer_id: frame.id for frame in first.messages()}
    fleet.join("b")
    fleet.settle()
    assert fleet.spread() == [4, 4], "what a holds it may finish"
    (group,) = fleet.broker.core.balance.groups.values()
    assert group.load == {"a": 2, "b": 2}, "and what is to be counts already"
    for consumer, place in held.items():
        first.ack(place, consumer_id=consumer)
    assert fleet.spread() == [2, 2]
    assert fleet.clients["b"].bodies() == []
    set_namespace(fleet.broker, "magnetarFailoverSelector", "first")
    assert fleet.spread() == [2, 2]
