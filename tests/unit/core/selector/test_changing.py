"""Selectors chosen by setting, policy and property, changed while consumers hold messages; slots that move by rate."""

from __future__ import annotations

import random

import pytest

from magnetar.core.dispatch.rebalancer import REBALANCE_EVERY_MS
from magnetar.core.explain.selector import explain_selector
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.history import RANGES, SELECTOR
from magnetar.core.policies.follow import options_changed
from magnetar.core.resetting import set_properties
from magnetar.core.selector.names import SELECTOR_PROPERTY
from magnetar.wire.hashing import murmur3
from tests.property.core.test_keyshared_counts import Run, counts_hold
from tests.support.wirecodec import batch_body
from tests.unit.core.keyshared.scene import Joined, Scene, Still
from tests.unit.core.policies import set_namespace, set_topic

NAMES = ("consistentHashing", "autoSplit", "rateAware")
POLICY = "key_shared_selector"


def choose(scene: Scene, name: str) -> None:
    scene.broker.core.options.key_shared_selector = name
    options_changed(scene.broker.core)


def set_property(scene: Scene, name: str) -> None:
    set_properties(scene.sub, {SELECTOR_PROPERTY: name} if name else {}, lambda error: None)
    scene.broker.turn()


def test_the_closer_level_wins_and_each_change_is_followed_at_once() -> None:
    scene = Scene()
    scene.join("a")
    assert scene.dispatcher.selector_name == "consistentHashing"
    scene.broker.core.options.key_shared_ring = False
    options_changed(scene.broker.core)
    assert scene.dispatcher.selector_name == "autoSplit"
    choose(scene, "Key_Failover")
    assert scene.dispatcher.selector_name == "rateAware"
    set_namespace(scene.broker, POLICY, "consistentHashing")
    assert scene.dispatcher.selector_name == "consistentHashing"
    set_topic(scene.broker, POLICY, "Key_Failover")
    assert scene.dispatcher.selector_name == "rateAware"
    set_property(scene, "autoSplit")
    assert scene.dispatcher.selector_name == "autoSplit"
    set_property(scene, "nonsense")
    assert scene.dispatcher.selector_name == "rateAware"
    assert [event.what for event in scene.sub.history.events].count(SELECTOR) == 6


@pytest.mark.parametrize("before", NAMES)
@pytest.mark.parametrize("after", NAMES)
def test_keys_that_move_by_the_change_drain_first(before: str, after: str) -> None:
    scene = Still(key_shared_selector=before, key_shared_unblocking_ms=0)
    workers = {name: scene.join(name) for name in ("a", "b", "c")}
    keys = [f"k{number}" for number in range(60)]
    scene.publish(*keys)
    was = {key: scene.owner(key) for key in keys}
    choose(scene, after)
    moved = [key for key in keys if scene.owner(key) != was[key]]
    assert bool(moved) == (before != after)
    scene.publish(*keys)
    for name, worker in workers.items():
        came = worker.new()
        assert sorted(key for key, number in came if number == 1) == sorted(key for key in keys if was[key] == name)
        assert all(was[key] == name and key not in moved for key, number in came if number == 2)
    for key in keys:
        workers[was[key]].ack((key, 1))
    for name, worker in workers.items():
        assert sorted(worker.new()) == sorted((key, 2) for key in moved if scene.owner(key) == name)
    assert scene.dispatcher.draining() == 0


def test_a_drain_keeps_its_age_when_the_slots_are_counted_otherwise() -> None:
    scene = Still(key_shared_selector="rateAware")
    first = scene.join("first")
    scene.publish(*(f"k{number}" for number in range(40)))
    first.new()
    scene.join("second")
    began, draining = scene.broker.now_ms, scene.dispatcher.draining()
    assert draining
    scene.broker.advance(5_000)
    choose(scene, "consistentHashing")
    drains = scene.dispatcher.drains
    assert drains.oldest_ms() == began
    for key_hash in drains.keys:
        assert drains.count(scene.dispatcher.selector.slot_of(key_hash)) >= 1
    choose(scene, "rateAware")
    assert scene.dispatcher.drains.oldest_ms() == began


@pytest.mark.parametrize("seed", range(12))
def test_the_counts_hold_through_changes_of_the_selector(seed: int) -> None:
    run, chance = Run(seed, False), random.Random(seed)
    run.join()
    for _ in range(60):
        run.step()
        if chance.random() < 0.3:
            choose(run.scene, chance.choice(NAMES))
        counts_hold(run.scene)
        held: dict[int, str] = {}
        for consumer in run.scene.sub.consumers:
            for word in consumer.pending.values():
                assert held.setdefault(word >> 31, consumer.name) == consumer.name
    if not run.workers:
        run.join()
    run.finish()
    assert run.scene.dispatcher.draining() == run.scene.dispatcher.waiting() == 0


def busy(scene: Scene, workers: list[Joined], rounds: int) -> None:
    """Keys of the lower sixteenth of the slots have nine tenths of the messages; everything is acknowledged."""
    keys = [f"k{number}" for number in range(3_000)]
    low = [key for key in keys if murmur3(key.encode()) % 65_536 < 4_096][:100]
    for _ in range(rounds):
        scene.publish(*low * 9, *keys[:100])
        for worker in workers:
            worker.ack(*worker.new())
        scene.settle(REBALANCE_EVERY_MS)


def test_slots_move_between_consumers_that_stay_only_within_the_budget_and_when_they_may() -> None:
    scene = Scene(key_shared_selector="rateAware")
    workers = [scene.join(name, 1 << 20) for name in ("a", "b")]
    busy(scene, workers, 12)
    assert scene.dispatcher.selector.share(scene.held("a")) == 32_768
    scene.broker.core.options.rebalance_slots = 6_000
    busy(scene, workers, 1)
    assert 26_700 <= scene.dispatcher.selector.share(scene.held("a")) < 32_768
    moved = [event for event in scene.sub.history.events if event.what == RANGES]
    assert 0 < sum(event.slots for event in moved) <= 6_000
    scene.broker.core.options.rebalance_slots = 60_000
    busy(scene, workers, 12)
    report = explain_selector(scene.sub)
    assert report is not None
    rates = {share.consumer: share.rate for share in report.shares}
    assert max(rates.values()) < 1.15 * sum(rates.values()) / 2
    assert "times the mean rate" in report.decisions[-1].why
    settled = len([event for event in scene.sub.history.events if event.what == RANGES])
    busy(scene, workers, 6)
    assert len([event for event in scene.sub.history.events if event.what == RANGES]) == settled


def test_explain_names_hot_keys_and_producers_of_mixed_batches() -> None:
    scene = Scene(key_shared_selector="rateAware")
    scene.join("a")
    scene.join("b")
    scene.publish(*["hot"] * 150, *(f"k{number}" for number in range(50)))
    body = batch_body([b"x", b"y"], ["one", "two"])
    scene.producer.publish(body, key="one", batch=2)
    scene.producer.publish(batch_body([b"x", b"y"], ["one", "one"]), key="one", batch=2)
    report = explain_subscription(scene.sub).selector
    assert report is not None
    assert report.name == "rateAware"
    (hot,) = report.hot_keys
    assert (hot.key, hot.owner) == (b"hot", scene.owner("hot"))
    assert hot.part == pytest.approx(150 / 204)
    (mixed,) = report.mixed
    assert (mixed.batches, mixed.mixed) == (2, 1)
    assert [share.slots for share in report.shares] == [32_768, 32_768]
    assert [one.what for one in report.decisions] == ["joined", "joined"]
