"""A broker inside this process: the whole of it, sockets included, in a thread with an event loop of its own.

Most of what a broker costs to start is its imports and its thread, and both can be shared: any number of brokers, one
after the other or side by side, live in one ``LoopThread``. That is how the pytest fixture gives every test its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import TypeVar

from magnetar.admin.server import AdminServer
from magnetar.server.run import bind_web, listen, make_stores
from magnetar.server.settings import Settings, Value
from magnetar.server.settings_load import load_settings, write_value
from magnetar.server.standalone import Standalone

__all__ = ["EmbeddedBroker", "LoopThread", "option"]

T = TypeVar("T")

CALL_SECONDS = 60.0
"""How long a start or a stop may take before the caller gets ``TimeoutError``."""


class LoopThread:
    """A thread that runs an event loop (uvloop where it is installed) until ``close``."""

    def __init__(self) -> None:
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._main, name="magnetar", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.wait(left) if left else asyncio.sleep(0))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def call(self, work: Coroutine[object, object, T]) -> T:
        """Run ``work`` in the loop, and give its result or raise its error here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS)

    def close(self) -> None:
        """Stop the loop; what still runs in it is cancelled."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CALL_SECONDS)


class EmbeddedBroker:
    """A broker on free ports of this machine, between ``start`` and ``stop`` or for the length of a ``with`` block.

    ``data`` is a folder to keep everything in; without one it is all in memory, and every start begins with nothing.
    ``settings`` have the names of broker.conf; neither files nor the environment are read. ``loop`` is a thread to
    share with others.

    >>> with EmbeddedBroker(settings={"brokerDeduplicationEnabled": True}) as broker:
    ...     client = pulsar.Client(broker.service_url)

    After a stop, ``start`` opens the broker again, on the same ports.
    """

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Value] | None = None,
        loop: LoopThread | None = None,
    ) -> None:
        self._data = data
        self._given: dict[str, Value] = {"brokerServicePort": 0, "webServicePort": 0, **(settings or {})}
        if data is not None:
            self._given["dataDirectory"] = os.fspath(data)
        self._shared = loop
        self._own: LoopThread | None = None
        self._broker: Standalone | None = None
        self._admin: AdminServer | None = None

    @property
    def service_url(self) -> str:
        """Where clients connect: ``pulsar://127.0.0.1:PORT``."""
        return self._running().options.broker_url

    @property
    def admin_url(self) -> str:
        """Where the REST interface is: ``http://127.0.0.1:PORT``."""
        return self._running().options.http_url

    def start(self) -> EmbeddedBroker:
        """Start; when this returns, both ports answer. What goes wrong is raised here."""
        assert self._broker is None, "the broker is started already"
        settings = load_settings(None, {}, [option(name, value) for name, value in self._given.items()]).settings
        loop = self._shared
        if loop is None:
            loop = self._own = LoopThread()
        try:
            loop.call(self._open(settings))
        except BaseException:
            self._close_loop()
            raise
        return self

    def stop(self) -> None:
        """Stop cleanly: what is under way becomes durable, clients are hung up on. A second stop does nothing."""
        loop = self._shared if self._own is None else self._own
        if self._broker is None or loop is None:
            return
        try:
            loop.call(self._close())
        finally:
            self._close_loop()

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> Standalone:
        assert self._broker is not None, "the broker is not started"
        return self._broker

    def _close_loop(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            own.close()

    # In the loop's thread.

    async def _open(self, settings: Settings) -> None:
        log, metadata = make_stores(settings, memory=self._data is None)
        broker = Standalone(settings, log, metadata)
        self._given["brokerServicePort"] = await listen(broker, settings)
        try:
            listener = bind_web(broker, settings)
            if listener is not None:
                self._given["webServicePort"] = int(listener.getsockname()[1])
                self._admin = AdminServer(broker, settings)
                await self._admin.start(listener)
        except BaseException:
            await broker.stop()
            raise
        self._broker = broker

    async def _close(self) -> None:
        broker, admin = self._running(), self._admin
        self._broker = self._admin = None
        if admin is not None:
            await admin.stop()
        await broker.stop()


def option(name: str, value: Value) -> str:
    """A setting as the command line writes it.

    >>> option("brokerDeduplicationEnabled", True), option("subscriptionTypesEnabled", ("Shared", "Exclusive"))
    ('brokerDeduplicationEnabled=true', 'subscriptionTypesEnabled=Shared,Exclusive')
    """
    return f"{name}={write_value(value)}"


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
