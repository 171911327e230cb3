"""Peers that do not read: what waits for them is bounded, and nobody else waits with them."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from magnetar.server.connection import UNREAD_BYTES_MAX, WRITE_HIGH_BYTES
from tests.support.served import Served, options
from tests.support.wireclient import WireClient
from tests.support.wirecodec import Command, SubType, frame

TOPIC = "persistent://public/default/t"
BODY = bytes(60_000)
COUNT = 400
"""Twenty-four megabytes, more than all that may wait for one connection."""


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(options(tail_cache_bytes=1 << 20)) as broker:
        yield broker


def narrow(served: Served) -> WireClient:
    """A connection whose socket holds little, so that not reading shows soon."""
    client = WireClient("127.0.0.1", served.port)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
    client.connect()
    return client


def publish(client: WireClient, count: int) -> None:
    for number in range(count):
        client.send(BODY, number)
        if number % 50 == 49:
            for _ in range(50):
                client.receipt()


@pytest.mark.parametrize("kind", [SubType.SHARED, SubType.KEY_SHARED, SubType.EXCLUSIVE, SubType.FAILOVER])
def test_a_consumer_that_stops_reading_costs_a_bounded_amount_and_nobody_else_anything(
    served: Served, kind: SubType
) -> None:
    with served.wire() as producer, served.wire() as quick, narrow(served) as slow:
        slow.subscribe(TOPIC, "slow", sub_type=kind)
        slow.flow(1, 1_000_000)
        quick.subscribe(TOPIC, "quick", sub_type=kind)
        quick.flow(1, 1_000_000)
        producer.producer(TOPIC)
        publish(producer, COUNT)
        assert [delivery.body for delivery in quick.messages(COUNT)] == [BODY] * COUNT
        connection = served.connection_of(slow)
        session = served.session_of(slow)
        most = WRITE_HIGH_BYTES + served.core.options.max_session_out_bytes + len(BODY) * 2
        waiting = served.call(lambda: connection.transport.get_write_buffer_size() + session.out_bytes)
        assert waiting <= most
        assert served.call(lambda: served.core.budget.used_bytes) <= (1 << 20) + len(BODY) * 2
        assert len(slow.messages(COUNT)) == COUNT, "it gets everything when it reads again"


def test_a_slow_consumer_leaves_the_messages_of_a_shared_subscription_to_the_others(served: Served) -> None:
    with served.wire() as producer, served.wire() as quick, narrow(served) as slow:
        slow.subscribe(TOPIC, "s", sub_type=SubType.SHARED)
        slow.flow(1, 1_000_000)
        quick.subscribe(TOPIC, "s", sub_type=SubType.SHARED)
        quick.flow(1, 1_000_000)
        producer.producer(TOPIC)
        publish(producer, COUNT)
        session = served.session_of(slow)
        kept = served.call(lambda: len(next(iter(session.consumers.values())).pending))
        assert kept < COUNT // 2, "more than the buffers of the broker and of both sockets can hold"
        assert len(quick.messages(COUNT - kept)) == COUNT - kept


def test_answers_to_a_peer_that_reads_none_of_them_are_bounded(served: Served) -> None:
    """A thousand small requests arrive at once, and sixty megabytes of answers would come of them."""
    with served.wire() as other, narrow(served) as slow:
        other.producer("persistent://public/default/" + "n" * len(BODY))
        connection = served.connection_of(slow)
        slow.send_bytes(b"".join(frame(Command.GET_TOPICS, {1: k, 2: "public/default"}) for k in range(1_000)))
        served.eventually(lambda: not connection.reading, "its requests wait")
        most = UNREAD_BYTES_MAX + 2 * served.core.options.max_session_out_bytes
        assert served.call(connection.transport.get_write_buffer_size) <= most
        other.ping()
        answers = [slow.expect(Command.GET_TOPICS_RESPONSE).fields.num(1) for _ in range(1_000)]
        assert answers == list(range(1_000))
        slow.ping()
        assert served.call(lambda: connection.reading)
