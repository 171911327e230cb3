"""The first picture: what happens to one key when another worker takes it over."""

from __future__ import annotations

from tools.pictures.play import Play
from tools.pictures.svg import Svg

__all__ = ["draw", "play"]

HELD, FREE = "apples", "pears"
"""Both keys belong to A while it is alone, and to B from the moment when B has joined."""
JOIN_MS = 70
END_MS = 260
SCALE = 2.6
LEFT, TOP, ROW = 130, 92, 24


def play() -> Play:
    """A works on three messages of one key when B joins; of the other key it holds nothing."""
    run = Play()
    run.join("A", work_ms=40)
    run.watched = [HELD, FREE]
    run.until(20)
    run.publish(HELD, HELD, HELD)
    assert run.owner(HELD) == run.owner(FREE) == "A"
    run.until(
        END_MS,
        {
            JOIN_MS: lambda: run.join("B", work_ms=30),
            90: lambda: run.publish(HELD, FREE),
            112: lambda: run.publish(HELD),
            130: lambda: run.publish(FREE),
            190: lambda: run.publish(HELD),
        },
    )
    assert run.owner(HELD) == run.owner(FREE) == "B"
    return run


def _x(at_ms: float) -> float:
    return LEFT + at_ms * SCALE


def draw() -> str:
    """The picture."""
    run = play()
    ((drain_from, drain_until),) = run.drains[HELD]
    rows = [(key, number) for key in (HELD, FREE) for number in range(1, run.numbers[key] + 1)]
    height = TOP + ROW * len(rows) + 30 + 56
    svg = Svg(
        840,
        height,
        "A key drains before it moves",
        f"Messages of the keys {HELD} and {FREE} over time. When worker B joins, both keys are to be its own. Worker A "
        f"still holds messages of {HELD}, so new ones wait until A has acknowledged the last of them; then B gets them "
        f"in order. Of {FREE} nothing is held, so B gets it at once.",
    )
    svg.text(20, 30, "A key drains before it moves", "head")
    held_rows = run.numbers[HELD]
    svg.box(_x(drain_from), TOP - 6, (drain_until - drain_from) * SCALE, ROW * held_rows + 6, "shade")
    svg.text(_x((drain_from + drain_until) / 2), TOP - 12, f"{HELD} drains", "middle small")
    bottom = TOP + ROW * len(rows) + 30
    for at, words in (
        (JOIN_MS, "B joins: both keys are to be B's"),
        (drain_until, "A acknowledges its last one: B gets what waits"),
    ):
        svg.line(_x(at), 58, _x(at), bottom, "faint-line thin dashed")
        svg.text(_x(at) + 5, 64, words, "small")
    for index, (key, number) in enumerate(rows):
        y = TOP + index * ROW + (18 if key == FREE else 0)
        svg.text(LEFT - 14, y + 13, f"{key} {number}", "right")
        published = run.published[key, number]
        (delivery,) = [one for one in run.deliveries if (one.key, one.number) == (key, number)]
        if delivery.since_ms > published:
            svg.line(_x(published), y + 9, _x(delivery.since_ms), y + 9, "wait-line thick dotted")
            svg.line(_x(published), y + 4, _x(published), y + 14, "wait-line thick")
        width = (delivery.until_ms - delivery.since_ms) * SCALE
        tip = f"{key} {number} at {delivery.worker} from {delivery.since_ms} to {delivery.until_ms} ms"
        svg.box(_x(delivery.since_ms), y, width, 18, delivery.worker.lower(), tip, 3)
        svg.text(_x(delivery.since_ms) + 6, y + 13, delivery.worker, "on small strong")
    _legend(svg, bottom)
    return svg.write()


def _legend(svg: Svg, bottom: float) -> None:
    for at_ms in range(0, END_MS + 1, 50):
        svg.line(_x(at_ms), bottom, _x(at_ms), bottom + 4, "faint-line thin")
        svg.text(_x(at_ms), bottom + 16, f"{at_ms} ms", "middle small faint")
    svg.line(_x(0), bottom, _x(END_MS), bottom, "faint-line thin")
    y = bottom + 40
    svg.box(LEFT, y - 10, 22, 12, "a", radius=3)
    svg.box(LEFT + 26, y - 10, 22, 12, "b", radius=3)
    svg.text(LEFT + 56, y, "at worker A or B, from sending to acknowledgement", "small faint")
    svg.line(LEFT + 350, y - 4, LEFT + 390, y - 4, "wait-line thick dotted")
    svg.text(LEFT + 398, y, "published, waits at the broker", "small faint")
