"""A subscription in which everything is blocked costs nothing until something changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.keyshared.scene import Scene, keys_of

HOUR_MS = 3_600_000


def count_reads(scene: Scene) -> list[tuple[Any, ...]]:
    """Every read of the log from now on; it is answered as always."""
    seen: list[tuple[Any, ...]] = []
    read = scene.broker.log.read

    def counting(*request: Any) -> None:
        seen.append(request)
        read(*request)

    scene.broker.log.read = counting  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("limit", [5, 4000], ids=["look-ahead full", "look-ahead free"])
def test_d1_26_what_is_blocked_is_not_read_again_and_again(limit: int) -> None:
    scene = Scene(
        tail_cache_bytes=0,
        keep_alive_ms=1 << 40,
        key_shared_unblocking_ms=0,
        look_ahead_per_consumer=limit,
        expiry_check_ms=1 << 40,
        retention_check_ms=1 << 40,
    )
    first = scene.join("first")
    second = scene.join("second")
    moving, other = keys_of(scene, "second")[0], keys_of(scene, "first")[0]
    second.close()
    scene.publish(moving)
    assert first.new() == [(moving, 1)]
    second = scene.join("second")
    scene.publish(*[moving] * 300)
    assert second.new() == []
    reads = count_reads(scene)
    scene.broker.advance(HOUR_MS)
    assert reads == []
    for _ in range(50):
        scene.publish(other)
    assert len(first.new()) == 50
    # Each of the fifty is read when it comes; skimming looks again at most at what lies between.
    assert len(reads) <= 3 * 50
    del reads[:]
    scene.broker.advance(HOUR_MS)
    assert reads == []
    first.ack((moving, 1))
    scene.settle(1000)
    assert second.new() == [(moving, number) for number in range(2, 302)]
