"""Steps that many interop tests share."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator

import pulsar

ARRIVES_MS = 10_000
STAYS_AWAY_MS = 400
SOON_MS = 5

EARLIEST = pulsar.InitialPosition.Earliest
SHARED = pulsar.ConsumerType.Shared
EXCLUSIVE = pulsar.ConsumerType.Exclusive
FAILOVER = pulsar.ConsumerType.Failover
KEY_SHARED = pulsar.ConsumerType.KeyShared


def numbered(count: int, first: int = 0) -> list[bytes]:
    """Payloads that tell their number."""
    return [b"m-%d" % number for number in range(first, first + count)]


def send_all(producer: pulsar.Producer, payloads: Iterable[bytes | None], **options: object) -> list[pulsar.MessageId]:
    """Publish one after the other, each with its receipt."""
    return [producer.send(payload, **options) for payload in payloads]


def send_batch(producer: pulsar.Producer, payloads: Iterable[bytes]) -> None:
    """Publish everything at once, so that a batching producer makes one batch of it, and wait for all receipts."""
    results: list[pulsar.Result] = []
    for payload in payloads:
        producer.send_async(payload, lambda result, _: results.append(result))
    producer.flush()
    assert set(results) == {pulsar.Result.Ok}


def batching_producer(client: pulsar.Client, topic: str, **options: object) -> pulsar.Producer:
    """A producer that sends a batch only when it is told to flush."""
    return client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=60_000, **options)


def receive(consumer: pulsar.Consumer) -> pulsar.Message:
    """Wait for the next message."""
    return consumer.receive(ARRIVES_MS)


def receive_all(consumer: pulsar.Consumer, count: int, *, ack: bool = False) -> list[pulsar.Message]:
    """Wait for this many messages, and acknowledge each if asked to."""
    messages = []
    for _ in range(count):
        message = receive(consumer)
        if ack:
            consumer.acknowledge(message)
        messages.append(message)
    return messages


def payloads(messages: Iterable[pulsar.Message]) -> list[bytes]:
    """What the messages hold."""
    return [message.data() for message in messages]


def together(got: Iterable[Iterable[pulsar.Message]]) -> list[bytes]:
    """What all consumers got, sorted."""
    return sorted(payloads(itertools.chain.from_iterable(got)))


def drain(consumers: Iterable[pulsar.Consumer], count: int, *, ack: bool = False) -> list[list[pulsar.Message]]:
    """Receive this many messages from several consumers together; gives what each of them got."""
    listed = list(consumers)
    got: list[list[pulsar.Message]] = [[] for _ in listed]
    idle_rounds = ARRIVES_MS // (SOON_MS * len(listed))
    while sum(map(len, got)) < count:
        before = sum(map(len, got))
        for consumer, mine in zip(listed, got, strict=True):
            for message in _at_hand(consumer):
                mine.append(message)
                if ack:
                    consumer.acknowledge(message)
        idle_rounds -= sum(map(len, got)) == before
        assert idle_rounds > 0, f"{sum(map(len, got))} of {count} messages came"
    return got


def _at_hand(consumer: pulsar.Consumer) -> Iterator[pulsar.Message]:
    with contextlib.suppress(pulsar.Timeout):
        while True:
            yield consumer.receive(SOON_MS)


def assert_silent(consumer: pulsar.Consumer) -> None:
    """Fail when a message is there that should not be."""
    try:
        message = consumer.receive(STAYS_AWAY_MS)
    except pulsar.Timeout:
        return
    raise AssertionError(f"{message.data()!r} came, which should not")


def read_all(reader: pulsar.Reader) -> list[pulsar.Message]:
    """Read until the reader says that nothing is left."""
    messages = []
    while reader.has_message_available():
        messages.append(reader.read_next(ARRIVES_MS))
    return messages
