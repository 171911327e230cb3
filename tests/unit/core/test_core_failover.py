"""Which consumer the ring gives a topic to."""

from __future__ import annotations

import random

from magnetar.core.failover import ring_choice
from magnetar.wire.hashing import murmur3


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
