"""Frames on a real socket: cut anywhere, too large, unknown, too early, about things of others."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from tests.support.served import Served, options
from tests.support.wireclient import WireClient, WireError
from tests.support.wirecodec import Command, Delivery, Id, SubType, Value, frame, payload

TOPIC = "persistent://public/default/t"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(options(max_message_bytes=100_000)) as broker:
        yield broker


def raw(served: Served) -> WireClient:
    return WireClient("127.0.0.1", served.port)


def reason(client: WireClient) -> str:
    """The broker hangs up; what it said before."""
    assert client.is_closed_by_peer()
    return next(kept.fields.text(3) for kept in client.pending if kept.command is Command.ERROR)


def conversation(topic: str, name: str = "p") -> bytes:
    """All that a small client says."""
    frames = [
        frame(Command.CONNECT, {1: "cut", 4: 21}),
        frame(Command.PRODUCER, {1: topic, 2: 1, 3: 1, 4: name, 9: 1}),
        frame(Command.SUBSCRIBE, {1: topic, 2: name, 3: SubType.SHARED, 4: 1, 5: 2, 6: "c"}),
        frame(Command.SEND, {1: 1, 2: 5, 3: 1}, payload({1: "p", 2: 5, 3: 1}, b"body of the message")),
        frame(Command.FLOW, {1: 1, 2: 10}),
        frame(Command.PING, {}),
    ]
    return b"".join(frames)


def check(client: WireClient) -> None:
    """The conversation was understood to its end."""
    client.expect(Command.CONNECTED)
    client.expect(Command.PRODUCER_SUCCESS)
    client.expect(Command.SUCCESS)
    assert client.receipt()[0] == 5
    assert Delivery.read(client.expect(Command.MESSAGE)).body == b"body of the message"
    client.expect(Command.PONG)


def test_frames_cut_at_every_byte(served: Served) -> None:
    """Each half is read before the other is sent: an answer to another connection, asked later, proves it."""
    with served.wire() as maker:
        # In a topic that is there already everything is answered in the order in which it is asked.
        maker.producer(TOPIC + "cut")
        for cut in range(1, len(conversation(TOPIC + "cut", "name000"))):
            stream = conversation(TOPIC + "cut", f"name{cut:03}")
            with raw(served) as client:
                client.send_bytes(stream[:cut])
                maker.ping()
                client.send_bytes(stream[cut:])
                check(client)


def test_a_stream_of_single_bytes(served: Served) -> None:
    with served.wire() as other, raw(served) as client:
        other.producer(TOPIC + "bytes", name="maker")
        for byte in conversation(TOPIC + "bytes"):
            client.send_bytes(bytes((byte,)))
        check(client)


@pytest.mark.parametrize("total", [110_241, 1 << 24, (1 << 31) - 1, (1 << 32) - 1])
def test_a_frame_too_large_is_refused_by_its_size_alone(served: Served, total: int) -> None:
    with served.wire() as client:
        client.send_bytes(struct.pack(">I", total))
        assert f"a frame of {total} bytes" in reason(client)


def test_the_largest_frame_is_taken(served: Served) -> None:
    with served.wire() as client:
        client.producer(TOPIC)
        assert client.publish(bytes(100_000)).ledger > 0


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">I", 3),
        struct.pack(">II", 100, 97),
        struct.pack(">II", 100, 1),
        struct.pack(">II", 6, 2) + b"\xff\xff",
        frame(99, {}),
        frame(Command.CONNECTED, {1: "me"}),
        frame(Command.MESSAGE, {1: 1, 2: {1: 0, 2: 0}}),
        frame(Command.SEND, {1: 1}),
        frame(Command.SEND, {1: 42, 2: 0}, payload({1: "p", 2: 0, 3: 1}, b"m")),
        frame(Command.SUBSCRIBE, {1: TOPIC}),
        frame(Command.PRODUCER, {1: b"\xff\xfe", 2: 1, 3: 1}),
        frame(Command.CONNECT, {1: "again", 4: 21}),
        b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50),
    ],
)
def test_what_makes_no_sense_ends_its_connection_with_a_reason(served: Served, data: bytes) -> None:
    with served.wire() as other, served.wire() as client:
        client.send_bytes(data)
        assert reason(client)
        other.ping()


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        (Command.PRODUCER, {1: TOPIC, 2: 1, 3: 1}),
        (Command.SUBSCRIBE, {1: TOPIC, 2: "s", 3: 0, 4: 1, 5: 1}),
        (Command.SEND, {1: 1, 2: 0}),
        (Command.ACK, {1: 1, 2: 0, 3: {1: 0, 2: 0}}),
        (Command.FLOW, {1: 1, 2: 1}),
        (Command.LOOKUP, {1: TOPIC, 2: 1}),
        (Command.GET_TOPICS, {1: 1, 2: "public/default"}),
    ],
)
def test_nothing_is_answered_before_the_handshake(served: Served, command: int, fields: dict[int, Value]) -> None:
    with raw(served) as client:
        client.send_command(command, fields)
        assert "CONNECT" in reason(client)


def test_orders_that_no_client_keeps(served: Served) -> None:
    """Closing what is not open, permits for nobody, acknowledging and giving back what one does not have."""
    with served.wire() as client:
        client.flow(9, 100)
        client.ack(9, [Id(0, 0)])
        client.redeliver(9)
        client.close_producer(9)
        client.close_consumer(9)
        for request in (
            lambda: client.unsubscribe(9),
            lambda: client.seek(9, Id(0, 0)),
            lambda: client.last_message_id(9),
            lambda: client.consumer_stats(9),
            lambda: client.ack(9, [Id(0, 0)], request=True),
        ):
            with pytest.raises(WireError) as refused:
                request()
            assert "9" in refused.value.text or refused.value.code == 13
        client.ping()


def test_nobody_gets_what_belongs_to_another(served: Served) -> None:
    mine, yours = TOPIC + "mine", TOPIC + "yours"
    with served.wire() as owner, served.wire() as thief:
        owner.producer(mine, 1)
        owner.subscribe(mine, "s", 1)
        thief.producer(yours, 2)
        thief.subscribe(yours, "s", 2)
        place = owner.publish(b"secret")
        owner.flow(1, 10)
        assert owner.message().body == b"secret"
        thief.flow(1, 10)
        thief.flow(2, 10)
        thief.ack(2, [place], request=True)
        thief.redeliver(2, [place])
        thief.redeliver(1, [place])
        assert list(thief.delivered()) == []
        assert list(owner.delivered()) == []
        cursor = served.core.topics[mine].subscriptions["s"]
        assert served.call(cursor.backlog) == 1, "the owner's message is still unacknowledged"
        thief.send(b"forged", 0, producer_id=1)
        assert "producer 1" in reason(thief)
        assert served.call(lambda: served.core.topics[mine].tail.end) == 1
