"""Which consumer the ring gives a topic to."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from magnetar.core.failover import MODULO, RING, SEPARATED, choose, ring_choice
from magnetar.core.policies.follow import options_changed
from magnetar.wire.hashing import murmur3
from tests.support.corebroker import FAILOVER, Client, CoreBroker, full
from tests.unit.core.policies import set_namespace, set_topic


def on_the_whole_ring(names: list[str], topic: str) -> int:
    """The same, by writing the ring down."""
    owners = {murmur3(f"{name}{point}".encode()): index for index, name in enumerate(names) for point in range(100)}
    behind = [point for point in sorted(owners) if point >= murmur3(topic.encode())]
    return owners[behind[0] if behind else min(owners)]


def test_the_ring_gives_a_topic_to_the_next_point() -> None:
    dice = random.Random(7)
    for size in (1, 2, 3, 10, 60):
        names = [f"consumer-{dice.randrange(10_000)}" for _ in range(size)]
        for number in range(100):
            topic = f"persistent://public/default/t{number}"
            assert ring_choice(names, topic) == on_the_whole_ring(names, topic)


def test_equal_names_go_to_the_last() -> None:
    assert ring_choice(["a", "a", "a"], "persistent://public/default/t") == 2


def test_a_topic_behind_every_point_goes_once_around() -> None:
    names = ["a", "b"]
    most = max(murmur3(f"{name}{point}".encode()) for name in names for point in range(100))
    topic = next(f"t{number}" for number in range(1_000_000) if murmur3(f"t{number}".encode()) > most)
    assert ring_choice(names, topic) == on_the_whole_ring(names, topic)


# -- the selectors, by what Pulsar itself chooses ----------------------------------------------------------------------

TEN = [f"consumer-{number}" for number in range(10)]


def crowd(broker: CoreBroker, topic: str, *names: str) -> list[Client]:
    clients = []
    for name in names:
        client = broker.client()
        client.consumer(topic, kind=FAILOVER, consumer_name=name, permits=10)
        clients.append(client)
    return clients


def active(broker: CoreBroker, topic: str) -> str:
    dispatcher = broker.sub(topic).dispatcher
    assert dispatcher is not None
    found = dispatcher.active()
    assert found is not None
    return found.name


def told(client: Client) -> list[bool]:
    return [frame.message.is_active for frame in client.take("ACTIVE_CONSUMER_CHANGE")]


def test_the_ring_is_that_of_pulsar() -> None:
    """What Apache Pulsar's own choice comes to for these names."""
    partitions = [f"persistent://public/default/topic-{number}-partition-0" for number in range(8)]
    assert [ring_choice(TEN, topic) for topic in partitions] == [4, 5, 9, 8, 2, 3, 1, 3]
    topics = [f"persistent://public/default/topic-{number}" for number in range(6)]
    assert [ring_choice(["c1", "c2", "c3"], topic) for topic in topics] == [2, 1, 0, 0, 0, 0]


def test_partitions_go_by_their_index_and_other_topics_by_the_ring() -> None:
    broker = CoreBroker()
    for number in range(4):
        crowd(broker, f"topic-0-partition-{number}", "b", "c", "a")
    assert [active(broker, f"topic-0-partition-{number}") for number in range(4)] == ["a", "b", "c", "a"]
    for number in range(3):
        crowd(broker, f"topic-{number}", "c1", "c2", "c3")
    assert [active(broker, f"topic-{number}") for number in range(3)] == ["c3", "c2", "c1"]


def test_with_consistent_hashing_partitions_go_by_the_ring_too() -> None:
    broker = CoreBroker(failover_by_hash=True)
    for number in range(8):
        crowd(broker, f"topic-{number}-partition-0", *TEN)
    found = [active(broker, f"topic-{number}-partition-0") for number in range(8)]
    assert found == [TEN[index] for index in (4, 5, 9, 8, 2, 3, 1, 3)]


def test_a_selector_wins_over_the_switch() -> None:
    broker = CoreBroker(failover_by_hash=True, failover_selector=MODULO)
    crowd(broker, "topic-0-partition-0", *TEN)
    assert active(broker, "topic-0-partition-0") == TEN[0]


def test_points_with_a_mark_are_nobody_elses() -> None:
    """Pulsar's points of consumer1 and consumer11 are in part the same texts; with a mark they never are."""
    plain = [{f"{name}{point}" for point in range(100)} for name in ("consumer1", "consumer11")]
    assert len(plain[0] & plain[1]) == 10
    marked = [{f"{name}#{point}" for point in range(100)} for name in ("consumer1", "consumer11", "consumer1#1")]
    assert not marked[0] & marked[1]
    assert not marked[0] & marked[2]
    broker = CoreBroker()
    clients = crowd(broker, "t", "consumer1", "consumer11")
    consumers = [next(iter(client.session.consumers.values())) for client in clients]
    names = [full(f"u{number}") for number in range(200)]
    rings = [[choose(kind, consumers, name, -1, None).name for name in names] for kind in (RING, SEPARATED)]
    assert rings[0] != rings[1]
    assert rings[1] == [["consumer1", "consumer11"][ring_choice(["consumer1#", "consumer11#"], name)] for name in names]


def test_the_first_one_stays_and_the_longest_connected_follows() -> None:
    broker = CoreBroker(failover_selector="first", failover_delay_ms=0)
    clients = crowd(broker, "t", "m", "z", "a", "b")
    assert active(broker, "t") == "m"
    clients[2].cut()
    clients[0].cut()
    assert active(broker, "t") == "z"
    assert broker.sub("t").history.switches == 1
    better = broker.client()
    better.consumer("t", kind=FAILOVER, consumer_name="zz", priority_level=-1)
    assert active(broker, "t") == "zz", "a better priority wins all the same"


@pytest.mark.parametrize("selector", ["modulo", "ring", "separated", "balanced", "first"])
def test_priority_levels_come_first(selector: str) -> None:
    broker = CoreBroker(failover_selector=selector, failover_delay_ms=0)
    clients = []
    for number, priority in enumerate((2, 1, 0, 0, 1, 0)):
        client = broker.client()
        client.consumer("t-partition-5", kind=FAILOVER, consumer_name=f"c{number}", priority_level=priority)
        clients.append(client)
    seen = []
    for _ in range(6):
        broker.advance(2_000)
        name = active(broker, "t-partition-5")
        seen.append(int(name[1:]))
        clients[int(name[1:])].cut()
        if len(seen) == 6:
            break
    assert sorted(seen[:3]) == [2, 3, 5]
    assert sorted(seen[3:5]) == [1, 4]
    assert seen[5] == 0


def test_equal_names_do_not_flap() -> None:
    broker = CoreBroker(failover_selector="balanced", failover_delay_ms=0)
    clients = crowd(broker, "t", "same", "same", "same")
    broker.advance(2_000)
    assert [told(client) for client in clients] == [[True], [False], [False]]
    clients[0].cut()
    assert told(clients[1]) == [True]


# -- changed while consumers are connected ----------------------------------------------------------------------------


def test_a_namespace_and_a_topic_change_it_at_once_with_one_switch_at_most() -> None:
    broker = CoreBroker(failover_delay_ms=0)
    clients = {topic: crowd(broker, topic, *TEN) for topic in ("topic-0-partition-0", "topic-7-partition-0")}
    for each in clients.values():
        for client in each:
            told(client)
    set_namespace(broker, "magnetarFailoverSelector", "ring")
    for topic, chosen in (("topic-0-partition-0", 4), ("topic-7-partition-0", 3)):
        assert active(broker, topic) == TEN[chosen]
        assert [told(client) for client in clients[topic]] == [[number == chosen] for number in range(10)]
    set_namespace(broker, "message_ttl_in_seconds", 30)
    set_topic(broker, "magnetarFailoverSelector", "ring", "topic-0-partition-0")
    assert [told(client) for client in clients["topic-0-partition-0"]] == [[]] * 10, "that changed nothing"
    set_topic(broker, "magnetarFailoverSelector", "modulo", "topic-0-partition-0")
    assert active(broker, "topic-0-partition-0") == TEN[0]
    assert active(broker, "topic-7-partition-0") == TEN[3]
    set_topic(broker, "magnetarFailoverSelector", None, "topic-0-partition-0")
    assert active(broker, "topic-0-partition-0") == TEN[4]
    set_namespace(broker, "magnetarFailoverSelector", None)
    broker.options.failover_by_hash = True
    options_changed(broker.core)
    broker.turn()
    assert active(broker, "topic-0-partition-0") == TEN[4]


def test_first_keeps_whom_another_selector_chose() -> None:
    broker = CoreBroker(failover_delay_ms=0)
    clients = crowd(broker, "topic-2-partition-1", "a", "b", "c")
    assert active(broker, "topic-2-partition-1") == "b"
    set_namespace(broker, "magnetarFailoverSelector", "first")
    assert broker.sub("topic-2-partition-1").history.switches == 1, "when the second of three came"
    clients[1].cut()
    assert active(broker, "topic-2-partition-1") == "a"


@pytest.mark.parametrize("before", ["modulo", "ring", "first"])
def test_topics_are_evened_out_when_balanced_is_chosen(before: str) -> None:
    broker = CoreBroker(failover_selector=before, failover_delay_ms=0)
    topics = [f"topic-{number}-partition-0" for number in range(20)]
    clients = {topic: crowd(broker, topic, "a", "b", "c") for topic in topics}
    switches = {topic: broker.sub(topic).history.switches for topic in topics}
    set_namespace(broker, "magnetarFailoverSelector", "balanced")
    broker.advance(0)
    assert sorted(Counter(active(broker, topic) for topic in topics).values()) == [6, 7, 7]
    assert max(broker.sub(topic).history.switches - switches[topic] for topic in topics) == (before != "ring")
    set_namespace(broker, "magnetarFailoverSelector", "modulo")
    assert {active(broker, topic) for topic in topics} == {"a"}
    assert not broker.core.balance.groups
    assert max(broker.sub(topic).history.switches - switches[topic] for topic in topics) <= 2
    assert clients
