"""Ages on the metrics page: of the oldest drain and of what is pending longest."""

from __future__ import annotations

from magnetar.admin.metrics import render
from magnetar.admin.rates import Sampler
from magnetar.ports.log import LogStats
from tests.unit.core.keyshared.scene import Scene, Still, keys_of


def figure(scene: Scene, name: str) -> float:
    text = b"".join(render(scene.broker.core, Sampler(scene.broker.core, 60), LogStats())).decode()
    (line,) = [line for line in text.splitlines() if line.startswith(f"magnetar_subscription_{name}{{")]
    return float(line.split()[-1])


def test_the_oldest_drain_and_the_oldest_pending_entry_give_the_age() -> None:
    scene = Still()
    first = scene.join("first")
    assert figure(scene, "drain_age_seconds") == figure(scene, "oldest_pending_ack_age_seconds") == 0
    keys = [f"k{number}" for number in range(40)]
    scene.publish(*keys)
    first.new()
    scene.broker.advance(2_000)
    second = scene.join("second")
    early = [key for key in keys if scene.owner(key) == "second"]
    scene.broker.advance(3_000)
    scene.join("third")
    late = [key for key in keys if scene.owner(key) == "third" and key not in early]
    assert late
    scene.broker.advance(500)
    assert figure(scene, "drain_age_seconds") == 3.5
    assert figure(scene, "oldest_pending_ack_age_seconds") == 5.5
    first.ack(*[(key, 1) for key in early])
    assert figure(scene, "drain_age_seconds") == 0.5
    first.ack(*[(key, 1) for key in keys if key not in early])
    assert figure(scene, "drain_age_seconds") == 0
    scene.publish(keys_of(scene, "second")[0])
    second.new()
    scene.broker.advance(1_000)
    assert figure(scene, "oldest_pending_ack_age_seconds") == 1


def test_drains_that_the_lease_ended_are_counted() -> None:
    scene = Still(key_shared_drain_lease_ms=1_000)
    scene.join("first")
    keys = [f"k{number}" for number in range(20)]
    scene.publish(*keys)
    scene.join("second")
    scene.publish(*keys)
    assert figure(scene, "drains_leased_out_total") == 0
    scene.broker.advance(3_000)
    assert figure(scene, "drains_leased_out_total") == 1
    assert figure(scene, "assignment_changes_total") == 3
    assert [event.what for event in scene.sub.history.events] == ["joined", "joined", "leasedOut", "drained", "left"]
