"""Clients that leave, or change their minds, while what they asked for is still being opened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from magnetar.metadata.memory import MemoryMetadata
from tests.support.served import Served
from tests.support.wireclient import WireError
from tests.support.wirecodec import Command, SubType

TOPIC = "persistent://public/default/t"


class SlowMetadata(MemoryMetadata):
    """A store whose writes of topics wait until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.waiting = 0

    async def put(self, path: str, value: bytes, version: int | None = None) -> int:
        if "/topics/" in path:
            self.waiting += 1
            await self.gate.wait()
        return await super().put(path, value, version)


@pytest.fixture
def store() -> SlowMetadata:
    return SlowMetadata()


@pytest.fixture
def served(store: SlowMetadata) -> Iterator[Served]:
    with Served(metadata=store) as broker:
        yield broker
        broker.call(store.gate.set)


def is_idle(served: Served) -> bool:
    topic = served.core.topics.get(TOPIC)
    return topic is not None and not topic.producers and not topic.subscriptions


@pytest.mark.parametrize("what", ["producer", "consumer"])
def test_a_client_that_leaves_while_its_topic_is_made_leaves_nothing(
    served: Served, store: SlowMetadata, what: str
) -> None:
    with served.wire() as client:
        if what == "producer":
            client.send_command(Command.PRODUCER, {1: TOPIC, 2: 1, 3: 1, 4: "p", 9: 1})
        else:
            client.send_command(Command.SUBSCRIBE, {1: TOPIC, 2: "s", 3: SubType.EXCLUSIVE, 4: 1, 5: 1})
        served.eventually(lambda: store.waiting == 1)
    served.eventually(lambda: not served.core.sessions, "it has left")
    served.call(store.gate.set)
    served.eventually(lambda: is_idle(served), "the topic is there and nobody on it")
    with served.wire() as other:
        other.producer(TOPIC, name="p")
        other.subscribe(TOPIC, "s")


def test_a_client_that_closes_before_the_answer_hears_of_both(served: Served, store: SlowMetadata) -> None:
    with served.wire() as client:
        client.send_command(Command.PRODUCER, {1: TOPIC, 2: 1, 3: 50, 4: "p", 9: 1})
        client.send_command(Command.SUBSCRIBE, {1: TOPIC, 2: "s", 3: SubType.SHARED, 4: 1, 5: 51})
        client.send_command(Command.CLOSE_PRODUCER, {1: 1, 2: 52})
        client.send_command(Command.CLOSE_CONSUMER, {1: 1, 2: 53})
        for early in (50, 51):
            with pytest.raises(WireError):
                client.reply(early)
        for late in (52, 53):
            client.reply(late)
        served.call(store.gate.set)
        served.eventually(lambda: is_idle(served))
        client.ping()
        assert [kept.command for kept in client.pending] == []


def test_many_who_wait_for_one_topic_all_get_it(served: Served, store: SlowMetadata) -> None:
    clients = [served.wire() for _ in range(20)]
    try:
        for number, client in enumerate(clients):
            client.send_command(Command.PRODUCER, {1: TOPIC, 2: 1, 3: 1, 4: f"p{number}", 9: 1})
        for client in clients:
            client.ping()
        clients.pop().close()
        served.call(store.gate.set)
        for client in clients:
            client.reply(1)
        served.eventually(lambda: len(served.core.topics[TOPIC].producers) == 19)
        streams = {topic.stream for topic in served.core.topics.values()}
        assert len(streams) == len(served.core.topics) == 1
    finally:
        for client in clients:
            client.close()


def test_a_stop_does_not_wait_for_ever_for_a_store_that_does_not_answer(served: Served, store: SlowMetadata) -> None:
    with served.wire() as client:
        client.send_command(Command.PRODUCER, {1: TOPIC, 2: 1, 3: 1, 4: "p", 9: 1})
        served.eventually(lambda: store.waiting == 1)
        served.stop()
        assert client.is_closed_by_peer()
