"""A whole broker in a thread of the test's process, on memory, with both of its ports open."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import secrets
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from magnetar.admin.server import AdminServer
from magnetar.core.broker import Broker
from magnetar.log.memory import MemoryLog
from magnetar.metadata.memory import MemoryMetadata
from magnetar.server.run import advertise
from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone
from tests.support.wireclient import WireClient

T = TypeVar("T")


class Answer:
    """What came back: status, type of content, and the body as text and as JSON where it is JSON."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.content_type = response.headers.get_content_type()
        self.headers = dict(response.getheaders())
        self.body = response.read()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def refusal(self) -> tuple[int, str]:
        assert list(self.json) == ["reason"], self.text
        assert self.content_type == "application/json"
        return self.status, self.json["reason"]


class Served:
    """The broker, its parts and its addresses."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.http_port: int = self.listener.getsockname()[1]
        settings = Settings()
        self.standalone = Standalone(settings, MemoryLog(auto=True), MemoryMetadata())
        self.port = 0
        self._settings = settings
        self._thread = threading.Thread(target=self.loop.run_forever)

    def start(self) -> None:
        self._thread.start()
        self.run(self._start())

    async def _start(self) -> None:
        self.port = await self.standalone.start("127.0.0.1", 0)
        advertise(self.standalone.options, self._settings, self.port, self.http_port)
        self.admin = AdminServer(self.standalone, self._settings)
        await self.admin.start(self.listener)

    async def _stop(self) -> None:
        await self.admin.stop()
        await self.standalone.stop()

    def stop(self) -> None:
        self.run(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    @property
    def core(self) -> Broker:
        return self.standalone.core

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the broker's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def call(self, work: Callable[[], T]) -> T:
        """Call something in the broker's loop, between two turns."""

        async def once() -> T:
            return work()

        return self.run(once())

    def wire(self) -> WireClient:
        return WireClient.open(f"pulsar://127.0.0.1:{self.port}")

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Send a request exactly as it is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_accept_encoding=True)
            data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
            connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            return Answer(connection.getresponse())

    def get(self, path: str) -> Answer:
        return self.ask("GET", f"/admin/v2/{path}")

    def put(self, path: str, body: object = None) -> Answer:
        return self.ask("PUT", f"/admin/v2/{path}", body)

    def post(self, path: str, body: object = None) -> Answer:
        return self.ask("POST", f"/admin/v2/{path}", body)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", f"/admin/v2/{path}")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    broker = Served()
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def wire(served: Served) -> Iterator[WireClient]:
    with served.wire() as client:
        yield client


@pytest.fixture
def topic() -> str:
    """Path of a topic that nobody else uses."""
    return f"persistent://public/default/{secrets.token_hex(6)}"


def path(topic: str) -> str:
    """The topic as a part of a path."""
    return topic.replace("://", "/")
