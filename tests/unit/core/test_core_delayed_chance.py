"""Delayed delivery under chance: whatever happens, nothing comes early, nothing is lost, and the count is right."""

from __future__ import annotations

import random
from typing import Any

import pytest

from magnetar.core.dispatch.delaying import DelayingDispatcher
from magnetar.core.topic_ops import skip
from tests.support.corebroker import KEY_SHARED, SHARED, Client, CoreBroker

KINDS = [(SHARED, {}), (KEY_SHARED, {}), (KEY_SHARED, {"key_shared_classic": True})]


class Chance:
    """One world: times of messages by number, who holds what, what is done."""

    def __init__(self, seed: int, kind: int, options: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        self.broker = CoreBroker(
            delay_tick_ms=self.random.choice((1, 100)),
            look_ahead_per_consumer=self.random.choice((3, 4_000)),
            look_ahead_per_subscription=0,
            tail_cache_bytes=self.random.choice((0, 1 << 20)),
            keep_alive_ms=1 << 40,
            **options,
        )
        self.times: dict[int, int] = {}
        self.places: dict[int, tuple[int, int]] = {}
        self.done: dict[int, bool] = {}
        self.consumers: list[Client] = []
        self.begin()

    def begin(self) -> None:
        self.producer = self.broker.client()
        self.producer.producer("t")
        self.consumers = []
        self.join()

    def join(self) -> None:
        client = self.broker.client()
        client.consumer("t", kind=self.kind, permits=self.random.choice((0, 5, 1_000)))
        self.consumers.append(client)

    def look(self) -> None:
        """Whatever came has come to its time."""
        for client in self.consumers:
            for frame in client.messages():
                number = int(frame.body)
                assert self.broker.now_ms >= self.times[number], "too early"
                if self.random.random() < 0.2:
                    client.nack(frame.id)
                elif self.random.random() < 0.9:
                    client.ack(frame.id)
                    self.done[number] = True

    def publish(self) -> None:
        now = self.broker.now_ms
        for _ in range(self.random.randint(1, 10)):
            number = len(self.times)
            after = self.random.choice((0, 0, 1, 50, 1_000, 30_000))
            self.times[number] = now + after
            fields = {"deliver_at_time": now + after} if after else {}
            key = f"k{self.random.randrange(8)}"
            self.producer.publish(b"%d" % number, key=key, publish_time=now, **fields)
            ((_, self.places[number]),) = self.producer.receipts()

    def ack_early(self) -> None:
        number = self.random.choice(list(self.times)) if self.times else -1
        if number >= 0 and self.consumers:
            self.random.choice(self.consumers).ack(self.places[number])
            self.done[number] = True

    def leave(self) -> None:
        if self.consumers:
            self.consumers.pop(self.random.randrange(len(self.consumers))).cut()

    def flow(self) -> None:
        for client in self.consumers:
            client.flow(self.random.choice((1, 50)))

    def skip(self) -> None:
        skip(self.broker.sub(), self.random.randint(1, 3), lambda error: None)
        self.broker.turn()
        acks = self.broker.sub().acks
        for number in self.times:
            if acks.contains(self.broker.topic().ledgers.offset(*self.places[number])):
                self.done[number] = True

    def restart(self) -> None:
        self.broker.turn()
        self.broker.restart()
        self.begin()

    def check(self) -> None:
        """What is counted as delayed is unacknowledged and waits for its time, or for somebody to take it."""
        dispatcher = self.broker.sub().dispatcher
        assert isinstance(dispatcher, DelayingDispatcher)
        left = len(self.times) - len(self.done)
        assert 0 <= dispatcher.delayed_count() <= left

    def step(self) -> None:
        act = self.random.choices(
            (self.publish, self.look, self.ack_early, self.leave, self.join, self.flow, self.skip, self.restart),
            (8, 8, 2, 2, 2, 4, 1, 0.3),
        )[0]
        act()
        self.broker.advance(self.random.choice((0, 0, 1, 10, 400, 5_000)))
        self.check()


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("seed", range(15))
def test_whatever_happens(seed: int, kind: int, options: dict[str, Any]) -> None:
    world = Chance(seed, kind, options)
    for _ in range(150):
        world.step()
    # At rest everything comes, and nothing is counted any more.
    world.look()
    while world.consumers:
        world.leave()
    world.broker.advance(60_000)
    last = world.broker.client()
    last.consumer("t", kind=kind, permits=100_000)
    world.broker.advance(2_000)
    came = {int(frame.body) for frame in last.messages()}
    assert came == set(world.times) - set(world.done)
    dispatcher = world.broker.sub().dispatcher
    assert isinstance(dispatcher, DelayingDispatcher)
    assert dispatcher.delayed_count() == 0
