"""A Key_Shared subscription under random steps, with its insides looked at after each of them.

Every entry is held by one consumer at most, none that is acknowledged is, and each count is the sum of what it counts.
The look-ahead is small, so that skimming begins and ends all the time; some runs read everything from the log.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from magnetar.core.consumer import pending_count
from tests.unit.core.keyshared.scene import Joined, Scene

STEPS = 120
PARTS = [(part * 8192, part * 8192 + 8191) for part in range(8)]


def counts_hold(scene: Scene) -> None:
    sub, total = scene.sub, 0
    holders: dict[int, str] = {}
    for consumer in sub.consumers:
        assert consumer.unacked == sum(pending_count(word) for word in consumer.pending.values())
        total += consumer.unacked
        for offset in consumer.pending:
            assert holders.setdefault(offset, consumer.name) == consumer.name
            assert not sub.acks.contains(offset)
    assert scene.dispatcher.unacked() == total
    assert scene.dispatcher.waiting_keys.count == sum(map(len, scene.dispatcher.waiting_keys.keys.values()))
    assert not holders.keys() & scene.dispatcher.waiting_keys.key_of.keys()


class Run:
    """One run from one seed."""

    def __init__(self, seed: int, sticky: bool) -> None:
        self.random, self.sticky = random.Random(seed), sticky
        choice = self.random.choice
        self.scene = Scene(
            keep_alive_ms=1 << 40,
            look_ahead_per_consumer=choice([1, 3, 50]),
            key_shared_unblocking_ms=choice([0, 10]),
            key_shared_ring=choice([True, False]),
            key_shared_nack_order=choice([True, False]),
            tail_cache_bytes=choice([0, 1 << 20]),
            max_unacked_per_consumer=choice([0, 5]),
        )
        self.keys = [f"k{number}" for number in range(choice([5, 20]))]
        self.workers: list[Joined] = []
        self.ranges: dict[str, list[tuple[int, int]]] = {}
        self.held: dict[str, dict[tuple[int, int], Any]] = {}
        self.sequence = self.joined = 0

    def join(self, name: str = "", ranges: list[tuple[int, int]] | None = None) -> None:
        self.joined += 1
        name = name or f"w{self.joined}"
        permits = self.random.choice([0, 1, 3, 20])
        if self.sticky:
            taken = [part for worker in self.workers for part in self.ranges[worker.name]]
            free = [part for part in PARTS if part not in taken]
            if not free:
                return
            self.ranges[name] = ranges or self.random.sample(free, self.random.randint(1, min(3, len(free))))
            self.workers.append(self.scene.join_sticky(name, *self.ranges[name], permits=permits))
        else:
            self.workers.append(self.scene.join(name, permits))
        self.held[name] = {}

    def step(self) -> None:
        for _ in range(self.random.randint(1, 10)):
            key = self.random.choice(self.keys)
            self.scene.producer.publish(b"%d" % self.sequence, key=key, batch=self.random.randint(1, 3))
            self.sequence += 1
        if self.random.random() < 0.3:
            self._come_or_go()
        for worker in self.random.sample(self.workers, min(3, len(self.workers))):
            self._work(worker)
        self.scene.settle(self.random.choice([0, 1, 5, 60]))

    def _come_or_go(self) -> None:
        chance = self.random.random()
        if len(self.workers) < 2 or chance < 0.5:
            self.join()
            return
        worker = self.random.choice(self.workers)
        self.workers.remove(worker)
        (worker.close if self.random.random() < 0.5 else worker.cut)()
        if chance < 0.7:
            self.join(worker.name, self.ranges.get(worker.name))

    def _work(self, worker: Joined) -> None:
        held = self.held[worker.name]
        came = worker.client.messages()
        held.update((frame.id, frame) for frame in came)
        if came or self.random.random() < 0.2:
            worker.flow(2 * len(came) + 1)
        if not held:
            return
        some = self.random.sample(list(held), self.random.randint(1, len(held)))
        chance = self.random.random()
        if chance < 0.1:
            held.clear()
            worker.client.redeliver_all()
        else:
            for place in some:
                del held[place]
            (worker.client.nack if chance < 0.3 else worker.client.ack)(*some)

    def finish(self) -> None:
        """Everybody takes and acknowledges; what nobody's range has is left over."""
        for _ in range(1_000):
            for worker in self.workers:
                worker.flow(100)
                worker.client.ack(*(frame.id for frame in worker.client.messages()), *self.held[worker.name])
                self.held[worker.name].clear()
            self.scene.settle(60)
            if not self.scene.sub.backlog():
                return
        raise AssertionError(f"{self.scene.sub.backlog()} entries were never delivered")


@pytest.mark.parametrize("sticky", [False, True], ids=["auto", "sticky"])
@pytest.mark.parametrize("seed", range(12))
def test_d2_33_counts_are_what_they_count(seed: int, sticky: bool) -> None:
    run = Run(seed, sticky)
    run.join()
    for _ in range(STEPS):
        run.step()
        counts_hold(run.scene)
    if not sticky:
        if not run.workers:
            run.join()
        run.finish()
        counts_hold(run.scene)
        assert run.scene.dispatcher.unacked() == run.scene.dispatcher.waiting() == run.scene.dispatcher.draining() == 0
