"""A consumer's line gives out what a sorted list would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from magnetar.core.dispatch.waiting import Line

PAIRS = st.tuples(st.integers(0, 1 << 62), st.integers(0, (1 << 31) - 1)) | st.tuples(
    st.integers(0, 50), st.integers(0, 3)
)


@given(st.lists(PAIRS | st.none()))
def test_a_line_is_a_sorted_list(steps: list[tuple[int, int] | None]) -> None:
    line = Line()
    model: list[tuple[int, int]] = []
    for step in steps:
        if step is not None:
            line.add(*step)
            model = sorted([*model, step])
        elif model:
            assert line.first() == model[0]
            line.drop_first()
            del model[0]
    for pair in model:
        assert line.first() == pair
        line.drop_first()
    assert line.first() == (-1, 0)


def test_a_line_that_is_long_gives_out_all_of_it() -> None:
    line = Line()
    for offset in range(5_000):
        line.add(offset, offset % 7)
    for offset in range(5_000):
        assert line.first() == (offset, offset % 7)
        line.drop_first()
        line.add(10_000 + offset, 1)
    assert [line.first() for _ in range(5_000) if line.drop_first() is None][-1] == (-1, 0)
