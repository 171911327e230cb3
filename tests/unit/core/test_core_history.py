"""What a subscription remembers of joins, leaves and drains, and how much of it."""

from __future__ import annotations

from tests.support.corebroker import FAILOVER, CoreBroker
from tests.unit.core.keyshared.scene import Scene, Still

KEYS = [f"k{number}" for number in range(20)]


def told(scene: Scene) -> list[tuple[str, str, int]]:
    """What happened, to whom, and how long it lasted."""
    return [(event.what, event.consumer, event.lasted_ms) for event in scene.sub.history.events]


def test_a_drain_is_over_once_however_it_ends() -> None:
    scene = Still()
    first = scene.join("first")
    scene.publish(*KEYS)
    first.new()
    second = scene.join("second")
    scene.broker.advance(300)
    second.close()
    first.ack(*[(key, 1) for key in KEYS])
    scene.join("third").close()
    first.close()
    assert told(scene) == [
        ("joined", "first", 0),
        ("joined", "second", 0),
        ("drained", "", 300),
        ("left", "second", 0),
        ("joined", "third", 0),
        ("left", "third", 0),
        ("left", "first", 0),
    ]
    assert scene.sub.history.changes == 6


def test_a_drain_lasts_from_the_first_slot_to_the_last_over_several_changes() -> None:
    scene = Still()
    first = scene.join("first")
    scene.publish(*KEYS)
    first.new()
    scene.broker.advance(50)
    second = scene.join("second")
    scene.broker.advance(200)
    scene.join("third")
    held = [event.draining for event in scene.sub.history.events]
    assert 0 == held[0] < held[1] < held[2] < 20
    scene.broker.advance(200)
    first.ack(*[(key, 1) for key in KEYS])
    second.new()
    assert told(scene)[3:] == [("drained", "", 400)]


def test_a_drain_ends_with_the_last_consumer() -> None:
    scene = Still()
    first = scene.join("first")
    scene.publish(*KEYS)
    second = scene.join("second")
    scene.broker.advance(10)
    second.client.session.drop_consumer(scene.held("second"))
    first.close()
    scene.join("again")
    assert told(scene)[2:] == [("drained", "", 10), ("left", "second", 0), ("left", "first", 0), ("joined", "again", 0)]


def test_only_so_many_are_remembered_and_all_are_counted() -> None:
    scene = Still(history_events_max=3)
    for number in range(4):
        scene.join(f"c{number}").close()
    assert [what[:2] for what in told(scene)] == [("left", "c2"), ("joined", "c3"), ("left", "c3")]
    assert scene.sub.history.changes == 8


def test_failover_remembers_who_was_active() -> None:
    broker = CoreBroker()
    for name, priority in (("worse", 1), ("better", 0)):
        broker.client().consumer("t", kind=FAILOVER, consumer_name=name, priority_level=priority)
    events = [(event.what, event.consumer) for event in broker.sub().history.events]
    assert events == [("active", "worse"), ("joined", "worse"), ("active", "better"), ("joined", "better")]
