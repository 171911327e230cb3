"""More publishes than the disk takes: they wait in the publisher's socket, not in the broker."""

from __future__ import annotations

import select

import pytest

from magnetar.log.memory import MemoryLog
from magnetar.server.pump import RECEIVE_BYTES
from tests.support.served import Served, options
from tests.support.wirecodec import Command, frame, payload

TOPIC = "persistent://public/default/t"
WINDOW = 100


@pytest.mark.parametrize("size", [500, 20_000])
def test_a_publisher_ahead_of_the_disk_is_not_read(size: int) -> None:
    log = MemoryLog()
    with Served(options(max_pending_publishes=WINDOW), log=log) as served, served.wire() as client:
        client.producer(TOPIC)
        connection, session = served.connection_of(client), served.session_of(client)
        sent = 0
        client.socket.setblocking(False)
        rest = b""
        while select.select([], [client.socket], [], 0.3)[1] and sent < 200_000:
            while len(rest) < 1 << 16:
                rest += frame(Command.SEND, {1: 1, 2: sent, 3: 1}, payload({1: "p", 2: sent, 3: 1}, bytes(size)))
                sent += 1
            rest = rest[client.socket.send(rest) :]
        assert served.call(lambda: not connection.reading)
        one_read = RECEIVE_BYTES // (size + 30)
        assert WINDOW <= served.call(lambda: session.pending) <= WINDOW + one_read
        assert served.call(lambda: connection.have) <= 2 * RECEIVE_BYTES

        with served.wire() as other:
            other.ping()

        client.socket.setblocking(True)
        waiting = 0

        def answered() -> bool:
            log.run()
            return served.core.in_flight is None and connection.reading

        served.eventually(answered, "the disk has caught up")
        client.send_bytes(rest)
        while waiting < sent:
            served.call(log.run)
            arrived = [client.receipt()[0]]
            arrived += [kept.fields.num(2) for kept in client.pending if kept.command is Command.SEND_RECEIPT]
            client.pending.clear()
            assert arrived == list(range(waiting, waiting + len(arrived)))
            waiting += len(arrived)


def test_others_publish_while_one_is_not_read() -> None:
    log = MemoryLog()
    chosen = options(max_pending_publishes=WINDOW)
    with Served(chosen, log=log) as served, served.wire() as greedy, served.wire() as modest:
        greedy.producer(TOPIC)
        modest.producer(TOPIC + "2")
        connection = served.connection_of(greedy)
        greedy.send_bytes(
            b"".join(
                frame(Command.SEND, {1: 1, 2: k, 3: 1}, payload({1: "p", 2: k, 3: 1}, b"m")) for k in range(WINDOW)
            )
        )
        served.eventually(lambda: not connection.reading)
        modest.send(b"mine", 7)
        topic = served.core.topics[TOPIC + "2"]
        served.eventually(lambda: topic.next_offset == 1, "it is taken")

        def written() -> bool:
            log.run()
            return topic.tail.end == 1

        served.eventually(written)
        assert modest.receipt()[0] == 7


def test_a_producer_held_by_its_rate_is_not_taken_for_dead_and_goes_on_by_itself() -> None:
    chosen = options(publish_rate_messages=2, keep_alive_ms=300)
    with Served(chosen) as served, served.wire() as client:
        client.producer(TOPIC)
        connection, session = served.connection_of(client), served.session_of(client)
        client.send_bytes(
            b"".join(frame(Command.SEND, {1: 1, 2: k, 3: 1}, payload({1: "p", 2: k, 3: 1}, b"m")) for k in range(5))
        )
        served.eventually(lambda: not connection.reading, "it is held")
        assert served.call(lambda: session.unheard)
        served.eventually(lambda: served.core.topics[TOPIC].tail.end == 5, "all of it is taken")
        assert not session.closed
        served.eventually(lambda: connection.reading, "it is read again")
