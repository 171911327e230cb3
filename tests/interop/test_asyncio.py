"""The asyncio face of the official client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pulsar
import pulsar.asyncio
import pytest

from tests.interop.helpers import ARRIVES_MS, SHARED, numbered
from tests.support.broker import Broker

SECONDS = ARRIVES_MS / 1000


@asynccontextmanager
async def connected(broker: Broker) -> AsyncIterator[pulsar.asyncio.Client]:
    client = pulsar.asyncio.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        yield client
    finally:
        await client.close()


async def receive(consumer: pulsar.asyncio.Consumer, count: int) -> list[pulsar.Message]:
    async with asyncio.timeout(SECONDS):
        return [await consumer.receive() for _ in range(count)]


async def data_of(consumer: pulsar.asyncio.Consumer, count: int) -> list[bytes]:
    return [message.data() for message in await receive(consumer, count)]


def test_publish_receive_and_acknowledge(broker: Broker, topic: str) -> None:
    async def go() -> None:
        async with connected(broker) as client:
            consumer = await client.subscribe(topic, "s")
            producer = await client.create_producer(topic, batching_enabled=False)
            await asyncio.gather(*(producer.send(payload) for payload in numbered(100)))
            messages = await receive(consumer, 100)
            assert [message.data() for message in messages] == numbered(100)
            await consumer.acknowledge_cumulative(messages[59])
            await consumer.close()
            assert await data_of(await client.subscribe(topic, "s"), 40) == numbered(40, 60)

    asyncio.run(go())


def test_two_consumers_share_in_one_loop(broker: Broker, topic: str) -> None:
    async def go() -> None:
        async with connected(broker) as client:
            consumers = [await client.subscribe(topic, "s", SHARED) for _ in range(2)]
            producer = await client.create_producer(topic, batching_enabled=False)
            await asyncio.gather(*(producer.send(payload) for payload in numbered(40)))
            got: list[bytes] = []
            finished = asyncio.Event()

            async def take(consumer: pulsar.asyncio.Consumer) -> None:
                while True:
                    got.append((await consumer.receive()).data())
                    if len(got) == 40:
                        finished.set()

            tasks = [asyncio.create_task(take(consumer)) for consumer in consumers]
            async with asyncio.timeout(SECONDS):
                await finished.wait()
            for task in tasks:
                task.cancel()
            assert sorted(got) == sorted(numbered(40))

    asyncio.run(go())


def test_a_reader_and_seek(broker: Broker, topic: str) -> None:
    async def go() -> None:
        async with connected(broker) as client:
            producer = await client.create_producer(topic)
            for payload in numbered(5):
                await producer.send(payload)
            reader = await client.create_reader(topic, pulsar.MessageId.earliest)
            read = []
            while await reader.has_message_available():
                read.append((await reader.read_next()).data())
            assert read == numbered(5)
            await reader.seek(pulsar.MessageId.wrap(pulsar.MessageId.earliest))
            assert (await reader.read_next()).data() == b"m-0"

    asyncio.run(go())


def test_errors_carry_their_result(broker: Broker, topic: str) -> None:
    async def go() -> None:
        async with connected(broker) as client:
            holder = await client.subscribe(topic, "s")
            with pytest.raises(pulsar.asyncio.PulsarException) as refused:
                await client.subscribe(topic, "s")
            await holder.close()
            assert refused.value.error() == pulsar.Result.ConsumerBusy

    asyncio.run(go())
