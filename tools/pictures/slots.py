"""The third picture: which worker owns which slots as workers come and go, and which keys drain."""

from __future__ import annotations

from magnetar.wire.hashing import murmur3
from tools.pictures.play import Play
from tools.pictures.svg import Svg

__all__ = ["Moment", "draw", "moments"]

POINTS = 14
"""On the ring for each worker. A broker has 100 unless told otherwise, which could not be told apart in a picture."""
SLOTS = 65_536
KEYS = 48
LEFT, WIDTH, TOP, ROW = 150, 540, 62, 62


class Moment:
    """What the ring and the hands looked like after something had happened."""

    def __init__(self, run: Play, words: str, before: Moment | None) -> None:
        selector = run.dispatcher.selector
        self.words = words
        self.ranges = [(first, last, owner.name) for first, last, owner in selector.ranges()]
        self.owners = [""] * SLOTS
        for first, last, name in self.ranges:
            self.owners[first : last + 1] = [name] * (last + 1 - first)
        self.moved = 0
        if before is not None:
            self.moved = sum(now != then for now, then in zip(self.owners, before.owners, strict=True))
        held = {(worker.name, one.key) for worker in run.workers.values() for one, _ in worker.hand}
        self.draining = sorted(
            (selector.slot_of(murmur3(key.encode())), name) for name, key in held if run.owner(key) != name
        )


def moments() -> list[Moment]:
    """Two workers hold a message of each key; one joins, one leaves and comes back, and nobody acknowledges."""
    run = Play(ring_points=POINTS)
    run.join("A", work_ms=0)
    run.join("B", work_ms=0)
    run.until(10)
    run.publish(*(f"key-{number}" for number in range(KEYS)))
    found = [Moment(run, "A and B", None)]
    run.join("C", work_ms=0)
    found.append(Moment(run, "C joins", found[-1]))
    run.workers["B"].leave()
    found.append(Moment(run, "B leaves", found[-1]))
    run.join("B", work_ms=0)
    found.append(Moment(run, "B is back", found[-1]))
    return found


def _x(slot: int) -> float:
    return LEFT + slot * WIDTH / SLOTS


def draw() -> str:
    """The picture."""
    shown = moments()
    height = TOP + ROW * len(shown) + 76
    svg = Svg(
        LEFT + WIDTH + 150,
        height,
        "Who owns which slots",
        "Four strips of the 65535 slots, coloured by the worker that owns them: with two workers, after a third has "
        "joined, after one has left, and after it has come back to the same slots. Only slots of the worker that comes "
        "or goes change hands. Marks below a strip are keys that another worker than the owner still holds.",
    )
    svg.text(20, 30, "Who owns which slots", "head")
    for index, moment in enumerate(shown):
        y = TOP + index * ROW
        svg.text(LEFT - 16, y + 17, moment.words, "right strong")
        for first, last, name in moment.ranges:
            tip = f"slots {first} to {last}: {name}"
            svg.box(_x(first), y, (last + 1 - first) * WIDTH / SLOTS, 24, name.lower(), tip)
        for slot, holder in moment.draining:
            x = _x(slot)
            svg.path([(x, y + 27), (x - 4, y + 35), (x + 4, y + 35)], holder.lower())
        if index:
            svg.text(LEFT + WIDTH + 14, y + 11, f"{moment.moved * 100 / SLOTS:.0f}% of the slots move", "small")
            svg.text(LEFT + WIDTH + 14, y + 27, f"{len(moment.draining)} of {KEYS} keys drain", "small")
    bottom = TOP + ROW * len(shown) - 14
    for slot in (1, 16_384, 32_768, 49_152, 65_535):
        svg.text(_x(slot), bottom + 6, f"{slot}", "middle small faint")
    y = bottom + 36
    for index, name in enumerate("ABC"):
        svg.box(LEFT + index * 44, y - 11, 22, 14, name.lower())
        svg.text(LEFT + index * 44 + 27, y, name, "small faint")
    svg.text(LEFT + 138, y, "owns the slots", "small faint")
    for index, name in enumerate("ABC"):
        x = LEFT + 250 + index * 14
        svg.path([(x, y - 9), (x - 4, y - 1), (x + 4, y - 1)], name.lower())
    svg.text(LEFT + 294, y, "a key that the worker of this colour still holds", "small faint")
    svg.text(LEFT, y + 22, f"Drawn with {POINTS} points a worker on the ring instead of 100", "small faint")
    return svg.write()
