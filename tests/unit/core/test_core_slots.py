"""The share of a consumer is what the selector gives it, slot by slot."""

from __future__ import annotations

from tests.unit.core.keyshared.scene import Scene


def test_shares_on_the_ring_are_the_slots_that_belong_to_each() -> None:
    scene = Scene()
    # Of the hundred points of these names some fall on one slot.
    names = ["worker-0", "worker-1", "worker-2", "worker-4"]
    for count, name in enumerate(names, 1):
        scene.join(name)
        selector = scene.dispatcher.selector
        owned = [selector.select(slot) for slot in range(1, 65_536)]
        for other in names[:count]:
            consumer = scene.held(other)
            assert scene.dispatcher.share(consumer) == sum(owner is consumer for owner in owned)
