"""``kill -9`` while policies change: each change is done or not done, and what was answered is done.

Somebody sets the same policies to ever higher numbers, each policy in all its fields to the same number, until the
broker is killed under him. After the next start every policy has the number that was answered last, or the one that was
under way, in all of its fields, and acts by it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from magnetar.testing import BrokerProcess

ROUNDS = 12
CHANGES_MAX = 60
TOPIC = "persistent/public/default/crash"
NAMESPACE = "namespaces/public/default"

Make = Callable[[int], Any]

POLICIES: dict[str, Make] = {
    f"{TOPIC}/maxProducers": lambda n: n,
    f"{TOPIC}/retention": lambda n: {"retentionTimeInMinutes": n, "retentionSizeInMB": n},
    f"{TOPIC}/publishRate": lambda n: {"publishThrottlingRateInMsg": n, "publishThrottlingRateInByte": n},
    f"{TOPIC}/inactiveTopicPolicies": lambda n: {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 1_000 + n,
        "deleteWhileInactive": True,
    },
    f"{NAMESPACE}/maxConsumersPerTopic": lambda n: n,
    f"{NAMESPACE}/subscribeRate": lambda n: {"subscribeThrottlingRatePerConsumer": n, "ratePeriodInSecond": n},
    f"{NAMESPACE}/subscriptionDispatchRate": lambda n: {
        "dispatchThrottlingRateInMsg": n,
        "dispatchThrottlingRateInByte": n,
        "relativeToPublishRate": False,
        "ratePeriodInSecond": n,
    },
}


def ask(broker: BrokerProcess, method: str, path: str, body: object = None) -> tuple[int, Any]:
    address = urlsplit(broker.admin_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, f"/admin/v2/{path}", None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
    return response.status, json.loads(text) if text else None


class Writer:
    """Sets every policy to the next number, in turns, and remembers what was asked and what was answered."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.answered: dict[str, int] = {}
        self.number = 0

    def run(self, broker: BrokerProcess, enough: threading.Event, changes: int) -> None:
        try:
            while True:
                self.number += 1
                for path, make in POLICIES.items():
                    self.asked[path] = self.number
                    assert ask(broker, "POST", path, make(self.number))[0] == 204
                    self.answered[path] = self.number
                    changes -= 1
                    if changes <= 0:
                        enough.set()
        except (OSError, http.client.HTTPException):
            enough.set()


def judge(broker: BrokerProcess, writer: Writer) -> None:
    """Hold what is there against what was answered; from now on that is what counts."""
    for path, make in POLICIES.items():
        status, value = ask(broker, "GET", path)
        numbers = [number for number in (writer.answered.get(path), writer.asked.get(path)) if number is not None]
        if status == 204:
            assert path not in writer.answered, path
            continue
        found = [number for number in numbers if make(number) == value]
        assert found, (path, value, numbers)
        writer.asked[path] = writer.answered[path] = found[0]
        if path.startswith(NAMESPACE):
            last = path.rpartition("/")[2].replace("maxConsumersPerTopic", "maxConsumers")
            assert ask(broker, "GET", f"{TOPIC}/{last}?applied=true") == (200, value)


@pytest.mark.timeout(300)
def test_a_policy_is_changed_or_not_when_the_broker_is_killed(tmp_path: Path) -> None:
    dice = random.Random(7)
    writer = Writer()
    broker = BrokerProcess(data=tmp_path / "data")
    with contextlib.closing(broker):
        broker.start()
        assert ask(broker, "PUT", TOPIC)[0] == 204
        for _ in range(ROUNDS):
            enough = threading.Event()
            work = threading.Thread(target=writer.run, args=(broker, enough, dice.randint(0, CHANGES_MAX)))
            work.start()
            assert enough.wait(60)
            broker.kill()
            work.join()
            broker.start()
            judge(broker, writer)
    assert writer.number > ROUNDS


@pytest.mark.timeout(300)
def test_all_policies_of_a_topic_go_or_stay_when_the_broker_is_killed(tmp_path: Path) -> None:
    dice = random.Random(11)
    paths = [path for path in POLICIES if path.startswith(TOPIC)]
    broker = BrokerProcess(data=tmp_path / "data")
    seen = set()
    with contextlib.closing(broker):
        broker.start()
        assert ask(broker, "PUT", TOPIC)[0] == 204
        for number in range(1, ROUNDS + 1):
            for path in paths:
                assert ask(broker, "POST", path, POLICIES[path](number))[0] == 204
            started = threading.Event()
            answer: list[int] = []

            def delete(started: threading.Event = started, answer: list[int] = answer) -> None:
                started.set()
                with contextlib.suppress(OSError, http.client.HTTPException):
                    answer.append(ask(broker, "DELETE", f"{TOPIC}/policies")[0])

            work = threading.Thread(target=delete)
            work.start()
            started.wait()
            if dice.random() < 0.5:
                work.join()
            broker.kill()
            work.join()
            broker.start()
            there = [ask(broker, "GET", path) for path in paths]
            gone = [(204, None)] * len(paths)
            assert there in (gone, [(200, POLICIES[path](number)) for path in paths])
            assert there == gone or answer != [204]
            seen.add(there == gone)
    assert True in seen
