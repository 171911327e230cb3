"""``python -m bench.balance``: how evenly each selector shares the load out, and how many slots move for it.

Consumers join one after another, then a third of them leave and as many others join, while messages with keys of the
given distribution are sent. Loads are those of the keys' true shares, not of what the selector has seen of them.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from magnetar.core.selector.load import LOAD_SLOTS, SlotLoad
from magnetar.core.selector.rateaware import RateAware
from magnetar.core.selector.rebalance import plan
from magnetar.core.selector.ring import Ring
from magnetar.core.selector.split import WidestSplit
from magnetar.wire.hashing import murmur3

KEYS = 10_000
MESSAGES = 200_000
STEP_MESSAGES = 4_000
STEP_MS = 30_000
SPREAD = 0.01
"""With keySharedRebalanceThresholdPercent=2 and a budget that is not reached."""
CONSUMERS = (3, 10, 50)
SELECTORS = ("consistentHashing", "autoSplit", "rateAware", "rateAware, rebalancing")


@dataclass(eq=False)
class Named:
    """As much of a consumer as a selector looks at."""

    name: str


@dataclass
class Result:
    """Max over mean after all have joined, after the leaves and joins, and the slots that moved in each change."""

    joined: float
    churned: float
    moved: float


def distributions() -> dict[str, list[float]]:
    """Shares of the keys, together 1."""
    found = {"uniform": [1.0] * KEYS}
    for exponent in (0.9, 1.1):
        found[f"Zipf {exponent}"] = [1 / rank**exponent for rank in range(1, KEYS + 1)]
    found["one hot key"] = [KEYS / 2, *[0.5] * KEYS]
    return {name: [share / sum(shares) for share in shares] for name, shares in found.items()}


def run(which: str, shares: list[float], consumers: int, seed: int = 1) -> Result:
    """One selector under one load."""
    chance = random.Random(seed)
    hashes = [murmur3(b"key-%d" % number) for number in range(len(shares))]
    sums = list(accumulate(shares))
    load = SlotLoad(0)
    makers: dict[str, Callable[[], Any]] = {"consistentHashing": lambda: Ring(100), "autoSplit": WidestSplit}
    selector: Any = makers.get(which, lambda: RateAware(load))()
    here: list[Named] = []
    moved: list[int] = []

    def send(messages: int) -> None:
        for _ in range(messages):
            load.note(hashes[min(bisect_left(sums, chance.random() * sums[-1]), len(hashes) - 1)], 1)
        load.tick(load.now_ms + STEP_MS)

    def owners() -> list[Any]:
        return [selector.select(slot or 1) for slot in range(LOAD_SLOTS)]

    def change(name: str = "", leaver: Named | None = None) -> None:
        before = owners() if here else []
        if leaver is None:
            here.append(Named(name))
            selector.add(here[-1])
        else:
            here.remove(leaver)
            selector.remove(leaver)
        send(STEP_MESSAGES)
        if which == SELECTORS[3]:
            selector.move(plan(load.profile(), selector.bounds, SPREAD), "rebalanced")
        if before:
            moved.append(sum(old is not new for old, new in zip(before, owners(), strict=True)))

    def most() -> float:
        found = dict.fromkeys(here, 0.0)
        for key_hash, share in zip(hashes, shares, strict=True):
            found[selector.select(selector.slot_of(key_hash))] += share
        return max(found.values()) * len(here)

    send(MESSAGES)
    for number in range(consumers):
        change(f"consumer-{number}")
    if which == SELECTORS[3]:
        send(MESSAGES)
        selector.move(plan(load.profile(), selector.bounds, SPREAD), "rebalanced")
    joined = most()
    for number in range(max(consumers // 3, 1)):
        change(leaver=chance.choice(here))
        change(f"other-{number}")
    if which == SELECTORS[3]:
        send(MESSAGES)
        selector.move(plan(load.profile(), selector.bounds, SPREAD), "rebalanced")
    return Result(joined, most(), sum(moved) / len(moved) / LOAD_SLOTS)


def table() -> list[tuple[str, int, dict[str, Result]]]:
    """All rows: a distribution, the number of consumers, and the results by selector."""
    return [
        (name, consumers, {which: run(which, shares, consumers) for which in SELECTORS})
        for name, shares in distributions().items()
        for consumers in CONSUMERS
    ]


def main() -> None:
    print("Max over mean load after joins / after leaves and joins (slots that change hands in one change)")
    print("| keys | consumers | " + " | ".join(SELECTORS) + " |")
    print("| --- | --- |" + " --- |" * len(SELECTORS))
    for name, consumers, results in table():
        cells = (f"{one.joined:.2f} / {one.churned:.2f} ({one.moved:.0%})" for one in results.values())
        print(f"| {name} | {consumers} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
