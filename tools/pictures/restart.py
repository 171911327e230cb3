"""The second picture: a worker is restarted under load, with draining and with the classic dispatcher."""

from __future__ import annotations

from tools.pictures.play import Delivery, Play
from tools.pictures.svg import Svg

__all__ = ["draw", "overlaps", "play"]

KEYS = ("almonds", "carrots", "lemons", "limes", "peas", "walnuts")
NAMES = ("A", "B", "C")
MESSAGES, WORK_MS, PERMITS = 30, 20, 6
LEAVE_MS, BACK_MS, END_MS = 30, 70, 260
SCALE = 2.55
LEFT, LANE, ROW = 110, 7, 30
PANEL = 62 + ROW * len(KEYS)

Span = tuple[int, int]


def play(classic: bool) -> Play:
    """Three workers with a backlog; B's connection is lost, and it comes back under its name."""
    run = Play(key_shared_classic=classic)
    for name in NAMES:
        run.join(name, WORK_MS, 0)
    run.watched = list(KEYS)
    run.publish(*(KEYS[(each * 5 + each // len(KEYS)) % len(KEYS)] for each in range(MESSAGES)))
    for worker in list(run.workers.values()):
        worker.ask(PERMITS)
    run.until(END_MS, {LEAVE_MS: run.workers["B"].leave, BACK_MS: lambda: run.join("B", WORK_MS, PERMITS)})
    return run


def holding(run: Play, key: str, worker: str) -> list[Span]:
    """When the worker held at least one message of the key."""
    found: list[Span] = []
    for each in sorted(_spans(run, key, worker)):
        if found and each[0] <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], each[1])
        else:
            found.append(each)
    return found


def _spans(run: Play, key: str, worker: str) -> list[Span]:
    mine: list[Delivery] = [one for one in run.deliveries if (one.key, one.worker) == (key, worker)]
    return [(one.since_ms, one.until_ms if one.until_ms >= 0 else END_MS) for one in mine]


def overlaps(run: Play, key: str) -> list[Span]:
    """When two workers held messages of the key at the same time."""
    found = []
    for index, first in enumerate(NAMES):
        for second in NAMES[index + 1 :]:
            for begin, end in holding(run, key, first):
                for other_begin, other_end in holding(run, key, second):
                    since, until = max(begin, other_begin), min(end, other_end)
                    if since < until:
                        found.append((since, until))
    return sorted(found)


def _x(at_ms: float) -> float:
    return LEFT + at_ms * SCALE


def draw() -> str:
    """The picture."""
    height = 44 + 2 * PANEL + 84
    svg = Svg(
        LEFT + int(END_MS * SCALE) + 30,
        height,
        "A worker is restarted under load",
        "Which of three workers held messages of each of six keys over time, while worker B was restarted. With "
        "draining no key is at two workers at any time. With the classic dispatcher B, when it comes back, is given "
        "messages of keys of which others still hold earlier ones.",
    )
    svg.text(20, 30, "A worker is restarted under load", "head")
    _panel(svg, 44, "Draining (the default)", play(classic=False))
    _panel(svg, 44 + PANEL + 8, "The classic dispatcher, same load", play(classic=True))
    _legend(svg, 44 + 2 * PANEL + 8)
    return svg.write()


def _panel(svg: Svg, top: float, title: str, run: Play) -> None:
    broken = sum(1 for one in run.deliveries if one.together_with)
    svg.text(20, top + 22, title, "strong")
    words = f"{broken} messages sent while another worker held the key" if broken else "no key at two workers"
    svg.text(_x(END_MS), top + 22, words, "right bad strong" if broken else "right")
    first = top + 48
    for index, key in enumerate(KEYS):
        y = first + index * ROW
        svg.text(LEFT - 12, y + 15, key, "right")
        for since, until in run.drains.get(key, []):
            svg.box(_x(since), y - 2, (until - since) * SCALE, ROW - 5, "shade")
        for since, until in overlaps(run, key):
            svg.box(_x(since), y - 3, (until - since) * SCALE, ROW - 3, "bad-line thick", radius=3)
        for lane, name in enumerate(NAMES):
            for since, until in holding(run, key, name):
                tip = f"{name} holds {key} from {since} to {until} ms"
                svg.box(_x(since), y + lane * LANE, (until - since) * SCALE, LANE - 1, name.lower(), tip, 1)
        svg.line(LEFT, y + ROW - 5, _x(END_MS), y + ROW - 5, "grid-line thin")
    for at, words in ((LEAVE_MS, "B is gone"), (BACK_MS, "B is back")):
        svg.line(_x(at), top + 32, _x(at), first + ROW * len(KEYS) - 5, "faint-line thin dashed")
        svg.text(_x(at) + 4, top + 40, words, "small")


def _legend(svg: Svg, bottom: float) -> None:
    for at_ms in range(0, END_MS + 1, 50):
        svg.text(_x(at_ms), bottom + 14, f"{at_ms} ms", "middle small faint")
    y = bottom + 42
    for index, name in enumerate(NAMES):
        svg.box(LEFT + index * 44, y - 8, 22, 7, name.lower(), radius=1)
        svg.text(LEFT + index * 44 + 26, y, name, "small faint")
    svg.text(LEFT + 138, y, "the worker holds messages of the key", "small faint")
    svg.box(LEFT + 370, y - 12, 22, 15, "shade")
    svg.text(LEFT + 398, y, "the key drains", "small faint")
    svg.box(LEFT + 500, y - 12, 22, 15, "bad-line thick", radius=3)
    svg.text(LEFT + 530, y, "at two workers at once", "small faint")
    svg.text(LEFT, y + 22, f"{MESSAGES} messages, {WORK_MS} ms of work each, queues of {PERMITS}", "small faint")
