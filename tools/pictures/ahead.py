"""The fourth picture: the stream at one moment, while a worker that is stuck holds up its own keys and nothing else."""

from __future__ import annotations

from tools.pictures.play import Play
from tools.pictures.svg import Svg

__all__ = ["Cell", "cells", "draw"]

MESSAGES, KEYS = 120, 24
LOOK_AHEAD = 16
PERMITS = 4
COLUMNS, CELL, LEFT, TOP = 30, 25, 24, 78

ACKNOWLEDGED, HELD, WAITS, PASSED, UNREAD = "acknowledged", "held", "waits", "passed over", "not read"


class Cell:
    """A message: what has become of it, and whose key it is."""

    def __init__(self, state: str, owner: str) -> None:
        self.state = state
        self.owner = owner


def cells() -> tuple[list[Cell], int]:
    """The messages in the order of the stream, and where reading has stopped."""
    run = Play(look_ahead_per_consumer=0, look_ahead_per_subscription=LOOK_AHEAD)
    run.join("A", work_ms=4, permits=2 * PERMITS)
    run.join("B", work_ms=0, permits=PERMITS)
    run.join("C", work_ms=3, permits=2 * PERMITS)
    keys = [f"key-{(number * 7 + number // KEYS * 5) % KEYS}" for number in range(MESSAGES)]
    run.publish(*keys)
    run.until(110)
    at = {(one.key, one.number): one for one in run.deliveries}
    dispatcher = run.dispatcher
    found, numbers = [], dict.fromkeys(keys, 0)
    for offset, key in enumerate(keys):
        numbers[key] += 1
        delivery = at.get((key, numbers[key]))
        if delivery is not None:
            state = ACKNOWLEDGED if delivery.acknowledged else HELD
        elif dispatcher.waiting_keys.find(offset) >= 0:
            state = WAITS
        else:
            state = PASSED if offset < dispatcher.skim.next else UNREAD
        found.append(Cell(state, run.owner(key)))
    return found, dispatcher.read_next


def draw() -> str:
    """The picture."""
    shown, read_next = cells()
    rows = -(-len(shown) // COLUMNS)
    svg = Svg(
        LEFT * 2 + COLUMNS * CELL,
        TOP + rows * (CELL + 8) + 84,
        "A stuck worker and the others",
        "The messages of a stream at one moment, while worker B does not acknowledge. Messages of its keys wait, up to "
        "the look-ahead limit. From there on the broker skims: the other workers' messages are sent, those of B are "
        "passed over.",
    )
    svg.text(20, 30, "A stuck worker and the others", "head")
    svg.text(20, 54, f"B holds {PERMITS} messages and acknowledges none; at most {LOOK_AHEAD} may wait for it", "faint")
    for offset, cell in enumerate(shown):
        x = LEFT + offset % COLUMNS * CELL
        y = TOP + offset // COLUMNS * (CELL + 8)
        _cell(svg, x, y, cell, offset)
        if offset == read_next:
            svg.path([(x - 2, y - 5), (x, y - 5), (x, y + CELL + 2), (x - 2, y + CELL + 2)], "bad")
    _legend(svg, TOP + rows * (CELL + 8) + 22)
    return svg.write()


def _cell(svg: Svg, x: float, y: float, cell: Cell, offset: int) -> None:
    colour, tip = cell.owner.lower(), f"message {offset} of {cell.owner}: {cell.state}"
    if cell.state == HELD:
        svg.box(x + 2, y, CELL - 4, CELL - 4, colour, tip, 3)
    elif cell.state == ACKNOWLEDGED:
        svg.box(x + 2, y, CELL - 4, CELL - 4, "none", tip, 3)
    else:
        line = {WAITS: f"{colour}-line thick", PASSED: f"{colour}-line thin dashed"}.get(cell.state, "grid-line thin")
        svg.box(x + 3, y + 1, CELL - 6, CELL - 6, line, tip, 3)
    ink = {HELD: "on strong", WAITS: "strong", PASSED: ""}.get(cell.state, "faint")
    svg.text(x + CELL / 2, y + 15, cell.owner, f"middle small {ink}".rstrip())


def _legend(svg: Svg, y: float) -> None:
    entries = (
        (Cell(ACKNOWLEDGED, "A"), "acknowledged", 0, 0),
        (Cell(HELD, "A"), "at its worker", 150, 0),
        (Cell(WAITS, "B"), "waits for its worker", 290, 0),
        (Cell(PASSED, "B"), "passed over: read again when there is room", 460, 0),
    )
    for cell, words, right, down in entries:
        _cell(svg, LEFT + right, y + down - 15, cell, 0)
        svg.text(LEFT + right + CELL + 4, y + down, words, "small faint")
    svg.box(LEFT + 3, y + 14, 2, CELL, "bad")
    svg.text(LEFT + 14, y + 31, "reading stops here because so many wait; the broker skims on", "small faint")
