"""A broker on a real socket in a thread of the test's process, with its insides within reach.

    with Served(options(keep_alive_ms=1_000)) as served:
        with served.wire() as client: ...
        served.call(lambda: served.core.sessions)

Log and metadata store may be given, faulty ones for example. ``stop`` may be called before the end of the block.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from magnetar.core.broker import Broker
from magnetar.core.session import Session
from magnetar.log.memory import MemoryLog
from magnetar.metadata.memory import MemoryMetadata
from magnetar.ports.log import LogStore
from magnetar.ports.metadata import MetadataStore
from magnetar.server.connection import Connection
from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone
from magnetar.testing.embedded import LoopThread
from tests.support.broker import eventually
from tests.support.wireclient import WireClient

__all__ = ["Served", "options"]

T = TypeVar("T")


def options(**values: object) -> dict[str, object]:
    """Options of the core that are to be other than usual."""
    return values


class Served:
    """See the module's text."""

    def __init__(
        self,
        chosen: dict[str, object] | None = None,
        *,
        log: LogStore | None = None,
        metadata: MetadataStore | None = None,
    ) -> None:
        self._thread = LoopThread()
        self.standalone = Standalone(Settings(), log or MemoryLog(auto=True), metadata or MemoryMetadata())
        for name, value in (chosen or {}).items():
            assert hasattr(self.standalone.options, name), name
            setattr(self.standalone.options, name, value)
        self._started = False
        self.port = 0

    def start(self) -> Served:
        self.port = self._thread.call(self.standalone.start("127.0.0.1", 0))
        self.standalone.options.broker_url = self.service_url
        self._started = True
        return self

    def stop(self) -> None:
        if self._started:
            self._started = False
            self._thread.call(self.standalone.stop())

    def __enter__(self) -> Served:
        try:
            return self.start()
        except BaseException:
            self._thread.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self._thread.close()

    @property
    def service_url(self) -> str:
        return f"pulsar://127.0.0.1:{self.port}"

    @property
    def core(self) -> Broker:
        return self.standalone.core

    def call(self, work: Callable[[], T]) -> T:
        """Call something in the broker's loop, between two turns."""

        async def once() -> T:
            return work()

        return self._thread.call(once())

    def eventually(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait until the condition, asked in the broker's loop, holds."""
        eventually(lambda: self.call(condition), 30.0, what)

    def wire(self) -> WireClient:
        """A raw connection, past its handshake."""
        return WireClient.open(self.service_url)

    def session_of(self, client: WireClient) -> Session:
        """The broker's end of a connection."""
        host, port = client.socket.getsockname()[:2]
        address = f"/{host}:{port}"
        return self.call(lambda: next(each for each in self.core.sessions.values() if each.address == address))

    def connection_of(self, client: WireClient) -> Connection:
        """The socket that belongs to it."""
        number = self.session_of(client).number
        return self.call(lambda: self.standalone.pump.connections[number])
