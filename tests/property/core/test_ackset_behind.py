"""Counting entries that are not acknowledged agrees with looking at each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from magnetar.core.ackset import AckSet

OFFSETS = st.lists(st.one_of(st.integers(0, 60), st.integers(200, 800)), max_size=60)


@given(floor=st.integers(0, 300), acked=OFFSETS, runs=st.lists(st.tuples(st.integers(0, 900), st.integers(1, 300))),
       count=st.integers(0, 700))  # fmt: skip
def test_behind_is_after_so_many_that_are_open(
    floor: int, acked: list[int], runs: list[tuple[int, int]], count: int
) -> None:
    acks = AckSet(floor)
    for offset in [*acked, *(first + step for first, length in runs for step in range(length))]:
        acks.add(offset)
    at, left = acks.floor, count
    while left:
        left -= not acks.contains(at)
        at += 1
    assert acks.behind(count) == at
