"""Known failures of Key_Shared, by number: workers that come and go while messages are under way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.interop.scenarios.sight import assert_at_rest, configured, sub_stats
from tests.support.broker import Broker
from tests.support.keyworld import KeyWorld

SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_d1_01_workers_are_restarted_in_turn_under_load(broker: Broker, topic: str, seed: int) -> None:
    world = KeyWorld(broker, topic, seed, keys=30)
    for number in range(4):
        world.join(f"worker-{number}")
    for number in range(12):
        world.churn(4, workers=0)
        name = f"worker-{number % 4}"
        worker = next((one for one in world.workers if one.name == name), None)
        if worker is not None:
            (world.cut if number % 2 else world.close)(worker)
        world.publish(20)
        world.join(name)
    world.finish()
    assert world.violations == []
    assert world.deliveries >= world.published.total()
    assert_at_rest(broker, topic)


def test_d1_05_statistics_are_asked_for_all_the_time_while_workers_come_and_go(broker: Broker, topic: str) -> None:
    world = KeyWorld(broker, topic, 5)
    world.join()
    done = threading.Event()

    def poll() -> list[dict[str, Any]]:
        found = []
        while not done.is_set():
            found.append(sub_stats(broker, topic))
        return found

    with ThreadPoolExecutor(1) as pool:
        polled = pool.submit(poll)
        try:
            world.churn(150)
            world.finish()
        finally:
            done.set()
        seen = polled.result()
    assert world.violations == []
    for sub in seen:
        each = sub["consumers"]
        for name in ("drainingHashesCount", "drainingHashesUnackedMessages", "unackedMessages"):
            assert sub[name] == sum(one[name] for one in each) >= 0
        for one in each:
            assert one["drainingHashesCount"] == len(one["drainingHashes"])
            assert one["drainingHashesUnackedMessages"] == sum(row["unackMsgs"] for row in one["drainingHashes"])
    assert any(sub["drainingHashesCount"] for sub in seen), "nothing was draining whenever it was looked at"


@pytest.mark.parametrize("seed", SEEDS)
def test_d1_06_slots_become_free_while_messages_are_handed_out(broker: Broker, topic: str, seed: int) -> None:
    with configured(broker, keySharedUnblockingIntervalMs=0, managedLedgerCacheSizeMB=0):
        world = KeyWorld(broker, topic, 600 + seed, keys=8, permits=5)
        world.publish(50)
        world.churn(100)
        world.finish()
    assert world.violations == []
    assert_at_rest(broker, topic)


@pytest.mark.parametrize("queue", [1, 2, 3])
def test_d1_19_small_receiver_queues_and_churn(broker: Broker, topic: str, queue: int) -> None:
    world = KeyWorld(broker, topic, 1900 + queue, permits=queue)
    world.publish(100)
    for _ in range(4):
        world.join()
    world.churn(100, workers=4)
    world.finish()
    assert world.violations == []


@pytest.mark.parametrize("seed", SEEDS)
def test_d1_20_workers_leave_while_their_messages_are_read_from_the_log(broker: Broker, topic: str, seed: int) -> None:
    """Without a cache every delivery is preceded by a read, and somebody leaves right after it was asked for."""
    with configured(broker, managedLedgerCacheSizeMB=0):
        world = KeyWorld(broker, topic, 2000 + seed, keys=10)
        world.publish(400)
        for number in range(40):
            while len(world.workers) < 4:
                world.join()
            leaving = world.random.choice(world.workers)
            for worker in world.workers:
                world.flow(worker, 5)
            (world.cut if number % 2 else world.close)(leaving)
            for worker in world.workers:
                world.collect(worker)
                world.ack(worker, list(worker.held)[::2])
        world.finish()
    assert world.violations == []
    assert_at_rest(broker, topic)
