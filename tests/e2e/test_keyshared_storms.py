"""The contract of a key in bad weather: crowds, tiny queues, storms of redelivery, changing ranges, a killed broker.

Each is played by raw consumers against a broker in a process of its own, with its log on the disk; what they were given
is judged at every delivery, and in the end nothing may be left over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.interop.scenarios.sight import assert_at_rest, configured
from tests.support.broker import StartedBroker, started_broker
from tests.support.keyworld import KeyWorld

SEEDS = range(40 if os.environ.get("MAGNETAR_NIGHTLY") else 2)
TOPIC = "persistent://public/default/{}-{}"


@pytest.fixture(scope="module")
def broker() -> Iterator[StartedBroker]:
    with started_broker() as started:
        yield started


def permits_of(world: KeyWorld) -> dict[str, int]:
    return {worker.name: worker.granted - worker.got for worker in world.workers}


@pytest.mark.parametrize("ring", [True, False], ids=["ring", "split"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_with_tiny_queues_and_batches(broker: StartedBroker, seed: int, ring: bool) -> None:
    with configured(broker, subscriptionKeySharedUseConsistentHashing=ring):
        world = KeyWorld(broker, TOPIC.format("crowd", f"{seed}-{ring}"), seed, keys=50)
        for number in range(20):
            world.join(permits=number % 3 + 1)
        world.churn(60, workers=22, batch=4)
        world.finish()
        assert world.violations == []
        assert_at_rest(broker, world.topic, permits_of(world))


@pytest.mark.parametrize("seed", SEEDS)
def test_storms_of_redelivery(broker: StartedBroker, seed: int) -> None:
    world = KeyWorld(broker, TOPIC.format("storm", seed), seed, nack="yes")
    world.churn(30)
    for _ in range(15):
        world.publish(20)
        for worker in world.workers:
            world.redeliver_all(worker)
        world.churn(3)
    world.finish()
    assert world.violations == []
    assert_at_rest(broker, world.topic, permits_of(world))


@pytest.mark.parametrize("seed", SEEDS)
def test_sticky_ranges_that_change_hands_and_leave_gaps(broker: StartedBroker, seed: int) -> None:
    world = KeyWorld(broker, TOPIC.format("sticky", seed), seed, keys=40, sticky=True)
    world.churn(120)
    world.finish()
    assert world.violations == []
    assert_at_rest(broker, world.topic, permits_of(world))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_subscription_is_deleted_under_its_workers_and_begins_anew(broker: StartedBroker, seed: int) -> None:
    topic = TOPIC.format("deleted", seed)
    for round_ in range(4):
        world = KeyWorld(broker, topic, 10 * seed + round_)
        world.join()
        world.churn(20)
        world.workers[0].wire.unsubscribe(1, force=True)
        world.lost()
    world = KeyWorld(broker, topic, seed)
    world.join()
    # What the deleted subscriptions had left is nobody's now; a new one may find it in the topic still.
    broker.topic_rest("POST", topic, "subscription/s/skip_all")
    world.cut(world.workers[0])
    world = KeyWorld(broker, topic, seed, keys=7)
    world.keys = [f"new-{key}" for key in world.keys]
    world.join()
    world.churn(20)
    world.finish()
    assert world.violations == []


@pytest.mark.parametrize("selector", ["ring", "split", "sticky"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_broker_is_killed_in_the_middle(seed: int, selector: str) -> None:
    """What was answered stays acknowledged; the rest comes again, at one worker a key and in order."""
    settings = {"subscriptionKeySharedUseConsistentHashing": str(selector == "ring").lower()}
    with started_broker(settings) as broker:
        world = KeyWorld(broker, TOPIC.format("killed", seed), seed, keys=30, sticky=selector == "sticky")
        for _ in range(3):
            world.churn(30, batch=3)
            broker.kill()
            world.lost()
            broker.start()
        world.finish()
        assert world.violations == []
        assert world.deliveries > world.published.total()
        assert_at_rest(broker, world.topic, permits_of(world))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_broker_is_killed_while_keys_are_in_nack_order(seed: int) -> None:
    with started_broker({"keySharedNackOrder": "true"}) as broker:
        world = KeyWorld(broker, TOPIC.format("nacked", seed), seed, nack="ordered")
        for _ in range(2):
            world.churn(40)
            broker.kill()
            world.lost()
            # The broker that comes back does not know what was given back; everything comes again in order.
            world.nacked.clear()
            broker.start()
        world.finish()
        assert world.violations == []
        assert_at_rest(broker, world.topic)
