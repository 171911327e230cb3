"""``kill -9`` while schemas are registered and topics deleted: each is done or not done, never half.

A worker uploads ever longer schemas to a topic over REST, deletes the topic now and then, and begins anew. The broker
is killed after a random number of answers; after the next start everything that was answered holds, and what was under
way is there as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from magnetar.testing import BrokerProcess

ROUNDS = 12
ANSWERS_MAX = 60
VERSIONS_MAX = 8


def definition(fields: int) -> str:
    made = [{"name": f"f{number}", "type": "int", "default": 0} for number in range(fields)]
    return json.dumps({"type": "record", "name": "R", "fields": made})


class Worker:
    """One topic's life, again and again, and what is known of it."""

    def __init__(self) -> None:
        self.url = ""
        self.there = False
        self.versions = 0
        """Schemas whose upload was answered."""
        self.deleting = False
        self.left = 0
        self.enough = threading.Event()

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, f"/admin/v2/{path}", None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read()
        return response.status, json.loads(text) if text else None

    def change(self, method: str, path: str, body: object = None) -> Any:
        status, answer = self.ask(method, path, body)
        assert status in (200, 204), (method, path, status, answer)
        self.left -= 1
        if self.left <= 0:
            self.enough.set()
        return answer

    def work(self) -> None:
        """Until the broker is gone."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                self.step()

    def step(self) -> None:
        if not self.there:
            self.change("PUT", "persistent/public/default/t")
            self.there = True
        elif self.versions < VERSIONS_MAX:
            body = {"type": "AVRO", "schema": definition(self.versions + 1)}
            answer = self.change("POST", "schemas/public/default/t/schema", body)
            assert answer == {"version": {"version": self.versions}}
            self.versions += 1
        else:
            self.deleting = True
            self.change("DELETE", "persistent/public/default/t")
            self.there = self.deleting = False
            self.versions = 0

    def settle(self) -> None:
        """Hold what is there against what was answered, and go on from it."""
        found = self.ask("GET", "schemas/public/default/t/schemas")[1]["getSchemaResponses"]
        assert [schema["version"] for schema in found] == list(range(len(found)))
        assert [schema["data"] for schema in found] == [definition(number + 1) for number in range(len(found))]
        there = self.ask("GET", "persistent/public/default/t/stats")[0] == 200
        if self.deleting:
            assert (there, len(found)) in ((True, VERSIONS_MAX), (False, 0))
        elif self.there:
            assert there
            assert len(found) in (self.versions, self.versions + 1)
        else:
            assert not found
        self.there, self.versions, self.deleting = there, len(found), False


@pytest.mark.timeout(300)
def test_schemas_are_registered_or_not(tmp_path: Path) -> None:
    dice = random.Random(5)
    worker = Worker()
    answered = 0
    broker = BrokerProcess(data=tmp_path / "data")
    with contextlib.closing(broker):
        for _ in range(ROUNDS):
            broker.start()
            worker.url = broker.admin_url
            worker.settle()
            worker.left = dice.randint(1, ANSWERS_MAX)
            worker.enough.clear()
            answered += worker.left
            thread = threading.Thread(target=worker.work)
            thread.start()
            try:
                assert worker.enough.wait(60)
            finally:
                broker.kill()
                thread.join()
        broker.start()
        worker.url = broker.admin_url
        worker.settle()
    assert answered > 100
