"""``balanced``: whatever comes and goes, topics are shared as evenly as their consumers allow."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from magnetar.core.balance import SETTLE_MOST_MS, Topics, even_out
from tests.support.corebroker import FAILOVER, Client, CoreBroker

NAMES = tuple("abcdef")
TOPICS = tuple(f"t-partition-{number}" for number in range(9))


class Topic:
    """One topic with its candidates, as ``even_out`` is told of it and as the check keeps it."""

    def __init__(self, candidates: tuple[str, ...], holder: int) -> None:
        self.candidates = candidates
        self.holder = candidates[holder % len(candidates)]


some_topics = st.lists(
    st.builds(
        Topic,
        st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(lambda x: tuple(sorted(x))),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=30,
)


def evened(topics: list[Topic]) -> list[tuple[int, str]]:
    by_kind: Topics = {}
    load = dict.fromkeys(NAMES, 0)
    for index, topic in enumerate(topics):
        by_kind.setdefault(topic.candidates, {}).setdefault(topic.holder, []).append(index)
        load[topic.holder] += 1
    return even_out(by_kind, load)


@given(some_topics)
def test_nobody_could_be_helped_any_more(topics: list[Topic]) -> None:
    """After the moves no way leads from anybody to somebody with two topics less, and each topic moved once at most."""
    moves = evened(topics)
    assert len({index for index, _ in moves}) == len(moves)
    for index, name in moves:
        assert name in topics[index].candidates
        topics[index].holder = name
    load = Counter(dict.fromkeys(NAMES, 0))
    load.update(topic.holder for topic in topics)
    for heavy in NAMES:
        reached = {heavy}
        while True:
            more = {name for topic in topics if topic.holder in reached for name in topic.candidates} - reached
            if not more:
                break
            reached |= more
        assert min(load[name] for name in reached) >= load[heavy] - 1
    assert evened(topics) == [], "what is even stays as it is"


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(2, 6))
def test_where_all_have_all_topics_no_more_moves_than_must_be(holders: list[int], consumers: int) -> None:
    names = NAMES[:consumers]
    topics = [Topic(names, holder) for holder in holders]
    before = Counter(topic.holder for topic in topics)
    moves = evened_among(topics, names)
    for index, name in moves:
        topics[index].holder = name
    after = Counter(dict.fromkeys(names, 0))
    after.update(topic.holder for topic in topics)
    assert max(after.values()) - min(after.values()) <= 1
    low, over = divmod(len(topics), consumers)
    counts = sorted((before[name] for name in names), reverse=True)
    fewest = sum(max(count - (low + (place < over)), 0) for place, count in enumerate(counts))
    assert len(moves) == fewest


def evened_among(topics: list[Topic], names: tuple[str, ...]) -> list[tuple[int, str]]:
    by_holder: dict[str, list[int]] = {}
    for index, topic in enumerate(topics):
        by_holder.setdefault(topic.holder, []).append(index)
    return even_out({names: by_holder}, {name: len(by_holder.get(name, ())) for name in names})


steps = st.lists(
    st.tuples(st.sampled_from(["join", "join", "cut", "wait"]), st.integers(0, 5), st.integers(0, 1)),
    min_size=1,
    max_size=25,
)


@given(steps, st.sampled_from([0, 500]))
def test_joins_and_leaves_with_priorities(happened: list[tuple[str, int, int]], drain_ms: int) -> None:
    """Consumers on all topics: those of the best priority level share them evenly, the others have none."""
    broker = CoreBroker(failover_selector="balanced", failover_delay_ms=0, failover_drain_ms=drain_ms)
    there: dict[str, tuple[int, Client]] = {}
    for what, number, priority in happened:
        name = NAMES[number]
        if what == "join" and name not in there:
            client = broker.client()
            for index, topic in enumerate(TOPICS):
                fields = {"consumer_name": name, "priority_level": priority, "permits": 10}
                client.consumer(topic, kind=FAILOVER, consumer_id=index, **fields)
            there[name] = (priority, client)
        elif what == "cut" and name in there:
            there.pop(name)[1].cut()
        elif what == "wait":
            broker.advance(70)
    broker.advance(SETTLE_MOST_MS)
    if not there:
        assert not broker.core.balance.groups
        return
    best = min(priority for priority, _ in there.values())
    counts = Counter({name: 0 for name, (priority, _) in there.items() if priority == best})
    for topic in TOPICS:
        dispatcher = broker.sub(topic).dispatcher
        assert dispatcher is not None
        active = dispatcher.active()
        assert active is not None
        counts[active.name] += 1
    assert set(counts) <= {name for name, (priority, _) in there.items() if priority == best}
    assert max(counts.values()) - min(counts.values()) <= 1
    (group,) = broker.core.balance.groups.values()
    assert group.load == {name: count for name, count in counts.items() if count}
