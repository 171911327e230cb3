"""Ten thousand connections that do nothing, against a broker in a process of its own: what they cost, and whom."""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from magnetar.testing import BrokerProcess
from tests.support.wireclient import WireClient
from tests.support.wirecodec import Command, frame

COUNT = 10_000
BYTES_EACH_MAX = 16_384
"""What an idle connection may cost the broker: its objects, and nothing like a buffer."""

TOPIC = "persistent://public/default/t"
HANDSHAKE = frame(Command.CONNECT, {1: "idle", 4: 21})


@pytest.fixture
def files() -> Iterator[None]:
    """As many open files as this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard >= COUNT + 500, f"this test needs {COUNT + 500} open files, and the system allows {hard}: ulimit -Hn"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the process is gone")


def connect(port: int, number: int) -> socket.socket:
    """A connection; four source addresses share the ports, of which one alone may have too few."""
    return socket.create_connection(("127.0.0.1", port), 30, (f"127.0.0.{number % 4 + 1}", 0))


def work(client: WireClient, number: int) -> None:
    """A message goes through."""
    client.publish(b"%d" % number, number)
    delivery = client.message()
    assert delivery.body == b"%d" % number
    client.ack(1, [delivery.id], request=True)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("files")
def test_ten_thousand_idle_connections() -> None:
    with contextlib.ExitStack() as stack:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # The broker raises its own limit: it is started with a usual one.
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
        try:
            broker = stack.enter_context(BrokerProcess())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        client = stack.enter_context(WireClient.open(broker.service_url))
        client.producer(TOPIC)
        client.subscribe(TOPIC, "s")
        client.flow(1, 1_000)
        work(client, 0)
        before = resident(broker.pid)
        port = urlsplit(broker.service_url).port or 0
        idle = []
        for number in range(COUNT):
            idle.append(stack.enter_context(connect(port, number)))
            idle[-1].sendall(HANDSHAKE)
            if number % 1_000 == 999:
                work(client, number)
        for each in idle:
            each.settimeout(30)
            assert each.recv(4), "every one of them is answered"
        grown = resident(broker.pid) - before
        assert grown <= COUNT * BYTES_EACH_MAX, f"{grown // COUNT} bytes each"
        for number in range(COUNT, COUNT + 100):
            work(client, number)
        for each in idle[::2]:
            each.close()
        for each in idle[1::200]:
            each.sendall(frame(Command.PING, {}))
            assert each.recv(4096)
        work(client, COUNT + 100)
