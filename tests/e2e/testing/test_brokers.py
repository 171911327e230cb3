"""``EmbeddedBroker`` and ``BrokerProcess`` with the official client."""

from __future__ import annotations

import json
import os
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pulsar
import pytest

from magnetar.errors import MagnetarError
from magnetar.server.settings_load import SettingsError
from magnetar.testing import BrokerFailedError, BrokerProcess, EmbeddedBroker, LoopThread


@pytest.fixture
def connect() -> Iterator[Callable[[str], pulsar.Client]]:
    made: list[pulsar.Client] = []

    def make(url: str) -> pulsar.Client:
        made.append(pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull)))
        return made[-1]

    yield make
    for client in made:
        client.close()


Connect = Callable[[str], pulsar.Client]


def partitions(admin_url: str) -> int:
    """How many partitions the topic "orders" has, asked over HTTP."""
    url = f"{admin_url}/admin/v2/persistent/public/default/orders/partitions"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return int(json.load(answer)["partitions"])


def read(client: pulsar.Client, count: int) -> list[bytes]:
    reader = client.create_reader("orders", pulsar.MessageId.earliest)
    return [reader.read_next(timeout_millis=10_000).data() for _ in range(count)]


def test_both_ports_answer_and_nothing_is_left(connect: Connect) -> None:
    threads = threading.active_count()
    with EmbeddedBroker() as broker:
        connect(broker.service_url).create_producer("orders").send(b"one")
        assert partitions(broker.admin_url) == 0
        port = int(broker.service_url.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    assert "magnetar" not in [thread.name for thread in threading.enumerate()]
    assert threading.active_count() <= threads + 1


def test_in_memory_every_start_begins_with_nothing_on_the_same_ports(connect: Connect) -> None:
    broker = EmbeddedBroker(settings={"allowAutoTopicCreationType": "partitioned", "defaultNumPartitions": 3})
    with broker:
        url = broker.service_url
        connect(url).create_producer("orders").send(b"one")
        assert partitions(broker.admin_url) == 3
    with broker:
        assert broker.service_url == url
        with pytest.raises(AssertionError):
            broker.start()
        with urllib.request.urlopen(f"{broker.admin_url}/admin/v2/persistent/public/default", timeout=30) as answer:
            assert json.load(answer) == []


def test_data_in_a_folder_stays(connect: Connect, tmp_path: Path) -> None:
    with EmbeddedBroker(data=tmp_path / "data") as broker:
        connect(broker.service_url).create_producer("orders").send(b"one")
    with EmbeddedBroker(data=tmp_path / "data") as broker:
        assert read(connect(broker.service_url), 1) == [b"one"]
        with pytest.raises(MagnetarError, match="in use"):
            EmbeddedBroker(data=tmp_path / "data").start()


def test_several_share_a_thread(connect: Connect) -> None:
    loop = LoopThread()
    with EmbeddedBroker(loop=loop) as one, EmbeddedBroker(loop=loop) as two:
        assert one.service_url != two.service_url
        connect(one.service_url).create_producer("orders").send(b"one")
        connect(two.service_url).create_producer("orders").send(b"two")
        assert read(connect(one.service_url), 1) == [b"one"]
        assert read(connect(two.service_url), 1) == [b"two"]
    loop.close()


def test_what_goes_wrong_is_raised_in_the_caller() -> None:
    with pytest.raises(SettingsError, match="did you mean maxMessageSize"):
        EmbeddedBroker(settings={"maxMesageSize": 1}).start()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for name in ("brokerServicePort", "webServicePort"):
            broker = EmbeddedBroker(settings={name: taken.getsockname()[1]})
            with pytest.raises(MagnetarError, match="Address already in use"):
                broker.start()
            broker.stop()
    with pytest.raises(AssertionError, match="not started"):
        _ = EmbeddedBroker().service_url
    assert "magnetar" not in [thread.name for thread in threading.enumerate()]


def test_the_environment_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULSAR_PREFIX_authenticationEnabled", "true")
    with EmbeddedBroker() as embedded, BrokerProcess() as process:
        assert embedded.admin_url != process.admin_url


def test_a_process_that_is_killed_comes_back_with_its_data_and_ports(connect: Connect) -> None:
    with BrokerProcess() as broker:
        url, pid = broker.service_url, broker.pid
        client = connect(url)
        producer = client.create_producer("orders")
        producer.send(b"one")
        broker.kill()
        broker.restart()
        assert broker.service_url == url
        assert broker.pid != pid
        producer.send(b"two")
        assert read(client, 2) == [b"one", b"two"]
        folder = broker.data
        assert broker.stop() == 0
        broker.start()
        assert partitions(broker.admin_url) == 0
    assert not folder.exists()


def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    with BrokerProcess(data=tmp_path / "data") as first:
        with pytest.raises(BrokerFailedError, match="in use by another process"):
            BrokerProcess(data=tmp_path / "data").start()
        assert first.stop() == 0
    assert (tmp_path / "data" / "metadata.db").exists()
    with pytest.raises(BrokerFailedError, match=r"exit code 2.*there is no setting 'nosuch'"):
        BrokerProcess(settings={"nosuch": 1}).start()
