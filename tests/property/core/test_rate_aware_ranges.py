"""The ranges of the rate-aware selector over any joins, leaves, loads and rebalancing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.core.selector.rebalance import best_maximum, part_of_the_way, plan
from tests.unit.core.selector.crowd import LAST, Crowd

SLOT = st.integers(0, LAST)
STEP = st.one_of(
    st.tuples(st.just("join"), SLOT, SLOT),
    st.tuples(st.just("leave"), SLOT, SLOT),
    st.tuples(st.just("send"), SLOT, SLOT),
    st.tuples(st.just("hot"), SLOT, SLOT),
    st.tuples(st.just("wait"), SLOT, SLOT),
    st.tuples(st.just("rebalance"), SLOT, SLOT),
)


def covers(crowd: Crowd) -> None:
    """Each consumer has one range, and the ranges are all slots without a gap or an overlap."""
    rows = crowd.selector.ranges()
    assert [first for first, _, _ in rows] == [0, *(last + 1 for _, last, _ in rows[:-1])]
    assert rows[-1][1] == LAST
    assert all(first <= last for first, last, _ in rows)
    assert len({owner.name for _, _, owner in rows}) == len(rows)
    assert sum(crowd.selector.share(owner) for _, _, owner in rows) == LAST + 1
    for first, last, owner in rows:
        assert crowd.selector.select(first) is crowd.selector.select(last) is owner


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, max_size=40))
def test_every_slot_has_one_owner_and_every_consumer_one_range(steps: list[tuple[str, int, int]]) -> None:
    crowd = Crowd()
    crowd.join("c0")
    for number, (what, a, b) in enumerate(steps):
        here, before = len(crowd.selector.owners), crowd.ranges()
        if what == "join":
            crowd.join(f"c{number + 1}")
            changed = [name for name, part in crowd.ranges().items() if before.get(name) != part]
            assert len(changed) == 2
        elif what == "leave" and here > 1:
            crowd.leave(crowd.selector.owners[a % here].name)
            assert sum(before[name] != part for name, part in crowd.ranges().items()) == 1
        elif what == "send":
            crowd.send(min(a, b), max(a, b), 200)
        elif what == "hot":
            crowd.send(a, a, b % 2_000)
        elif what == "wait":
            crowd.pass_ms(a * b)
        elif what == "rebalance":
            profile, bounds = crowd.load.profile(), crowd.selector.bounds
            crowd.selector.move(part_of_the_way(bounds, plan(profile, bounds, 0.05), a), "as the plan has it")
        covers(crowd)


@settings(max_examples=60, deadline=None)
@given(loads=st.lists(st.tuples(SLOT, st.integers(1, 500)), min_size=1, max_size=60), parts=st.integers(2, 12))
def test_a_plan_is_as_good_as_any_and_a_second_one_moves_nothing(loads: list[tuple[int, int]], parts: int) -> None:
    crowd = Crowd()
    crowd.join(*(f"c{number}" for number in range(parts)))
    for slot, messages in loads:
        crowd.send(slot, slot, messages)
    profile = crowd.load.profile()
    found = plan(profile, crowd.selector.bounds, 0.0)
    most = max(profile.between(low + 1, high) for low, high in zip([-1, *found[:-1]], found, strict=True))
    assert most <= best_maximum(profile.sums, parts) * 1.02
    assert plan(profile, found, 0.0) == found


@settings(max_examples=30, deadline=None)
@given(parts=st.integers(1, 5), more=st.integers(1, 6))
def test_equal_rates_do_not_churn(parts: int, more: int) -> None:
    """Consumers that come and go while all rates are equal leave the ranges of the others as they were."""
    crowd = Crowd()
    crowd.join("c0")
    crowd.send(0, LAST, LAST + 1)
    crowd.join(*(f"c{number}" for number in range(1, 1 << parts)))
    before = crowd.ranges()
    for number in range(more):
        crowd.send(0, LAST, LAST + 1)
        crowd.join(f"guest{number}")
        crowd.leave(f"guest{number}")
        assert crowd.ranges() == before
