"""Topics that are deleted under load, or while the broker is killed: gone with everything, or there with everything."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pulsar
import pytest

from magnetar.log.files.inspect import summaries
from magnetar.testing import BrokerProcess
from tests.e2e.crash.test_policies import ask

NAME = "persistent://public/default/deleted"
TOPIC = NAME.replace("://", "/")
ROUNDS = 12
PARTITIONS = 8


class Load:
    """A producer and a consumer of the official client that go on until their topic is gone."""

    def __init__(self, url: str) -> None:
        quiet = pulsar.FileLogger(pulsar.LoggerLevel.Error, "/dev/null")
        self.client = pulsar.Client(url, logger=quiet, operation_timeout_seconds=5)
        self.producer = self.client.create_producer(NAME, block_if_queue_full=True)
        self.consumer = self.client.subscribe(NAME, "s", pulsar.ConsumerType.Shared)
        self.stop = threading.Event()
        self.busy = threading.Semaphore(0)
        self.threads = [threading.Thread(target=each) for each in (self.publish, self.consume)]
        for thread in self.threads:
            thread.start()

    def publish(self) -> None:
        with contextlib.suppress(pulsar.PulsarException):
            while not self.stop.is_set():
                self.producer.send_async(b"x" * 100, lambda result, message_id: None)

    def consume(self) -> None:
        with contextlib.suppress(pulsar.PulsarException):
            while not self.stop.is_set():
                self.consumer.acknowledge(self.consumer.receive(1_000))
                self.busy.release()

    def end(self) -> None:
        self.stop.set()
        self.client.close()
        for thread in self.threads:
            thread.join()


def page(broker: BrokerProcess) -> str:
    with urllib.request.urlopen(f"{broker.admin_url}/metrics") as answer:
        text: str = answer.read().decode()
    return text


def living_streams(data: Path) -> list[set[int]]:
    """The streams that the newest checkpoint of a log that was closed knows."""
    newest = [each for each in summaries(data / "log") if each.kind == "checkpoint"][-1]
    return [set(newest.streams)]


@pytest.mark.timeout(180)
def test_a_topic_deleted_under_load_leaves_nothing(tmp_path: Path) -> None:
    settings = {"allowAutoTopicCreation": False}
    with BrokerProcess(data=tmp_path / "data", settings=settings) as broker:
        broker.restart()
        broker.stop()
        before = living_streams(broker.data)
        broker.start()
        assert ask(broker, "PUT", TOPIC)[0] == 204
        load = Load(broker.service_url)
        for _ in range(500):
            assert load.busy.acquire(timeout=60)
        assert NAME in page(broker)
        assert ask(broker, "PUT", f"{TOPIC}/compaction")[0] == 204
        assert ask(broker, "DELETE", f"{TOPIC}?force=true")[0] == 204
        # The clients still try to come back.
        assert ask(broker, "GET", f"{TOPIC}/stats")[0] == 404
        assert NAME not in page(broker)
        load.end()
        assert ask(broker, "GET", "persistent/public/default") == (200, [])
        assert ask(broker, "GET", f"{TOPIC}/subscriptions")[0] == 404
        assert NAME not in page(broker)
        broker.stop()
        assert living_streams(broker.data) == before
        broker.start()
        assert ask(broker, "GET", f"{TOPIC}/stats")[0] == 404
        assert ask(broker, "PUT", TOPIC)[0] == 204
        stats: Any = ask(broker, "GET", f"{TOPIC}/stats")[1]
        assert (stats["subscriptions"], stats["storageSize"], stats["msgInCounter"]) == ({}, 0, 0)


@pytest.mark.timeout(300)
def test_a_partitioned_topic_is_deleted_or_not_when_the_broker_is_killed(tmp_path: Path) -> None:
    dice = random.Random(3)
    schema = {"type": "JSON", "schema": json.dumps({"type": "record", "name": "R", "fields": []})}
    seen = set()
    broker = BrokerProcess(data=tmp_path / "data")
    with contextlib.closing(broker):
        broker.start()
        for _ in range(ROUNDS):
            if ask(broker, "GET", f"{TOPIC}/partitions")[1].get("partitions") != PARTITIONS:
                assert ask(broker, "PUT", f"{TOPIC}/partitions", PARTITIONS)[0] == 204
                assert ask(broker, "PUT", f"{TOPIC}/subscription/s", "earliest")[0] == 204
                assert ask(broker, "POST", f"schemas/{TOPIC.partition('/')[2]}/schema", schema)[0] == 200
            answer: list[int] = []

            def delete(answer: list[int] = answer) -> None:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    answer.append(ask(broker, "DELETE", f"{TOPIC}/partitions?force=true")[0])

            work = threading.Thread(target=delete)
            work.start()
            # Somewhere in the middle: until so many other answers have come.
            with contextlib.suppress(OSError, http.client.HTTPException):
                for _ in range(dice.randint(0, 4)):
                    ask(broker, "GET", "tenants")
            broker.kill()
            work.join()
            broker.start()
            there = partitioned(broker)
            assert not there or answer != [204]
            seen.add(there)
    assert seen


def partitioned(broker: BrokerProcess) -> bool:
    """Whether the topic is there, and all that belongs to it; else nothing of it is."""
    partitions: Any = ask(broker, "GET", f"{TOPIC}/partitions")[1]
    topics = ask(broker, "GET", "namespaces/public/default/topics")[1]
    schema = ask(broker, "GET", f"schemas/{TOPIC.partition('/')[2]}/schema")[0]
    if partitions.get("partitions") == PARTITIONS:
        assert len(topics) == PARTITIONS
        assert schema == 200
        for index in range(PARTITIONS):
            assert ask(broker, "GET", f"{TOPIC}-partition-{index}/subscriptions") == (200, ["s"])
        return True
    assert (topics, schema) == ([], 404)
    return False
