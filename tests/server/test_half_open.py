"""Peers that are not there any more, or not heard: they are found out, and what they held is free."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from magnetar.log.memory import MemoryLog
from tests.support.served import Served, options
from tests.support.wireclient import WireClient, WireError
from tests.support.wirecodec import Command, SubType, frame

TOPIC = "persistent://public/default/t"


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(options(keep_alive_ms=1_500, liveness_probe_ms=300)) as broker:
        yield broker


def mute(served: Served) -> WireClient:
    """A connection that answers no PING: nobody reads it."""
    return served.wire()


def count(served: Served) -> int:
    return served.call(lambda: len(served.core.sessions))


def test_a_silent_peer_is_asked_and_then_hung_up_on(served: Served) -> None:
    with mute(served) as client:
        served.eventually(lambda: not served.core.sessions, "the session is gone")
        served.eventually(lambda: not served.standalone.pump.connections, "the socket is gone")
        raw = b""
        while chunk := client.socket.recv(4096):
            raw += chunk
        assert frame(Command.PING, {}) in raw or len(raw) >= 8


def test_a_peer_that_answers_stays(served: Served) -> None:
    with served.wire() as client:
        begun = served.call(served.standalone.clock.now_ms)
        while served.call(served.standalone.clock.now_ms) - begun < 5_000:
            # Reading answers PING; no frame of another kind comes.
            with pytest.raises(TimeoutError):
                client.read_frame(0.2)
        client.ping()
        assert count(served) == 1


def test_a_connection_without_a_handshake_is_not_kept(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as raw:
        raw.settimeout(20)
        while raw.recv(4096):
            pass
        served.eventually(lambda: not served.standalone.pump.connections)


def test_what_a_dead_peer_held_is_free(served: Served) -> None:
    with mute(served) as dead, served.wire() as other:
        dead.producer(TOPIC, name="name")
        dead.subscribe(TOPIC, "s")
        other.producer(TOPIC, name="name")
        other.subscribe(TOPIC, "s")
        other.flow(1, 10)
        other.publish(b"m")
        assert other.message().body == b"m"
        assert count(served) == 1


def test_a_living_peer_keeps_what_it_holds(served: Served) -> None:
    with served.wire() as alive, served.wire() as other:
        alive.subscribe(TOPIC, "s")
        other.lookup(TOPIC)
        request = 77
        other.send_command(Command.SUBSCRIBE, {1: TOPIC, 2: "s", 3: SubType.EXCLUSIVE, 4: 1, 5: request})
        with pytest.raises(TimeoutError):
            # The broker asks for a sign of life meanwhile, and reading gives it.
            alive.read_frame(0.1)
        alive.ping()
        with pytest.raises(WireError) as refused:
            other.reply(request)
        assert refused.value.code == 5


def test_a_peer_that_neither_reads_nor_speaks_leaves_no_memory_behind(served: Served) -> None:
    with WireClient("127.0.0.1", served.port) as dead:
        dead.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        dead.connect()
        dead.subscribe(TOPIC, "s")
        dead.flow(1, 1_000_000)
        connection = served.connection_of(dead)
        with served.wire() as producer:
            producer.producer(TOPIC)
            number = 0
            while not served.call(connection.transport.get_write_buffer_size):
                producer.publish(bytes(60_000), number)
                number += 1
        served.eventually(lambda: not served.standalone.pump.connections, "it is let go")


def test_a_peer_that_the_broker_does_not_read_is_not_taken_for_dead() -> None:
    """While the disk does not answer, publishes fill their window and the socket is not read, PONGs included."""
    log = MemoryLog()
    chosen = options(keep_alive_ms=1_000, liveness_probe_ms=300, max_pending_publishes=10)
    with Served(chosen, log=log) as served, served.wire() as client, served.wire() as rival:
        client.producer(TOPIC, name="p")
        connection = served.connection_of(client)
        for number in range(20):
            client.send(b"m", number)
        served.eventually(lambda: not connection.reading, "the window is full")
        with pytest.raises(WireError) as refused:
            rival.producer(TOPIC, name="p")
        assert refused.value.code == 16, "the name is not free: its owner is only not heard"
        begun = served.call(served.standalone.clock.now_ms)
        served.eventually(lambda: served.standalone.clock.now_ms() - begun > 4_000, "two intervals go by")

        def written() -> bool:
            log.run()
            return served.core.in_flight is None and connection.reading

        served.eventually(written, "the disk answers again")
        assert [client.receipt()[0] for _ in range(20)] == list(range(20))
