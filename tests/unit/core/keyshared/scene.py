"""Key_Shared on a core without sockets: consumers by name, messages as (key, number), what each consumer holds.

scene = Scene()
first = scene.join("first")
scene.publish("a", "b", "a")
first.ack("a", 1)
"""

from __future__ import annotations

from typing import Any

from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.subscription import Subscription
from magnetar.wire.commands import pb
from magnetar.wire.hashing import murmur3
from tests.support.corebroker import KEY_SHARED, Client, CoreBroker

__all__ = ["Joined", "Scene", "Still", "keys_of"]


class Joined:
    """A consumer on a connection of its own, and the ids of what it was sent."""

    def __init__(self, scene: Scene, name: str, client: Client) -> None:
        self.scene = scene
        self.name = name
        self.client = client
        self.ids: dict[tuple[str, int], tuple[int, int]] = {}
        self.redeliveries: dict[tuple[str, int], int] = {}

    def new(self) -> list[tuple[str, int]]:
        """What came since the last call."""
        found = []
        for frame in self.client.messages():
            key, number = frame.body.decode().split(":")
            what = key, int(number)
            self.ids[what] = frame.id
            self.redeliveries[what] = frame.message.redelivery_count
            found.append(what)
        return found

    def flow(self, permits: int) -> None:
        self.client.flow(permits)

    def ack(self, *what: tuple[str, int]) -> None:
        self.new_ids()
        self.client.ack(*(self.ids[one] for one in what))

    def nack(self, *what: tuple[str, int]) -> None:
        self.new_ids()
        self.client.nack(*(self.ids[one] for one in what))

    def new_ids(self) -> None:
        """Learn the ids of what came, and leave it in the inbox."""
        for frame in self.client.inbox:
            if frame.name == "MESSAGE":
                key, number = frame.body.decode().split(":")
                self.ids[key, int(number)] = frame.id

    def close(self) -> None:
        self.client.close_consumer()

    def cut(self) -> None:
        self.client.cut()

    @property
    def permits(self) -> int:
        return self.scene.held(self.name).permits


class Scene:
    """One topic ``t`` with one subscription ``s``."""

    def __init__(self, **options: Any) -> None:
        self.broker = CoreBroker(**options)
        self.producer = self.broker.client()
        self.producer.producer("t")
        self.numbers: dict[str, int] = {}

    def join(self, name: str, permits: int = 1000, **fields: Any) -> Joined:
        """A consumer of this name joins."""
        client = self.broker.client()
        client.consumer("t", kind=KEY_SHARED, permits=permits, consumer_name=name, **fields)
        self.settle()
        return Joined(self, name, client)

    def join_sticky(self, name: str, *ranges: tuple[int, int], permits: int = 1000) -> Joined:
        meta = pb.KeySharedMeta(keySharedMode=1)
        for first, last in ranges:
            meta.hashRanges.add(start=first, end=last)
        return self.join(name, permits, keySharedMeta=meta)

    def publish(self, *keys: str) -> None:
        """One message for each key; the messages of a key are numbered from 1 on."""
        for key in keys:
            self.numbers[key] = self.numbers.get(key, 0) + 1
            self.producer.publish(f"{key}:{self.numbers[key]}".encode(), key=key)
        self.settle()

    def settle(self, milliseconds: int = 5) -> None:
        """Let timers of this length run out."""
        self.broker.advance(milliseconds)

    @property
    def sub(self) -> Subscription:
        return self.broker.sub()

    @property
    def dispatcher(self) -> KeyShared:
        found = self.sub.dispatcher
        assert isinstance(found, KeyShared)
        return found

    def held(self, name: str) -> Any:
        """The core's consumer of this name."""
        (found,) = [consumer for consumer in self.sub.consumers if consumer.name == name]
        return found

    def owner(self, key: str) -> str:
        """Who the key belongs to by the selector."""
        dispatcher: Any = self.sub.dispatcher
        found = dispatcher.selector.select(dispatcher.selector.slot_of(murmur3(key.encode())))
        return str(found.name) if found is not None else ""


class Still(Scene):
    """Time goes by only when the test says so."""

    def settle(self, milliseconds: int = 0) -> None:
        super().settle(0)


def keys_of(scene: Scene, name: str, count: int = 1, prefix: str = "k") -> list[str]:
    """Keys that belong to the consumer of this name now."""
    found = []
    for number in range(10_000):
        key = f"{prefix}{number}"
        if scene.owner(key) == name:
            found.append(key)
            if len(found) == count:
                return found
    raise AssertionError(f"{name} owns too few keys")
