"""A broker in the foreground: start, say where it listens, run until a signal, stop cleanly."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from magnetar.core.options import Options
from magnetar.errors import MagnetarError
from magnetar.ports.log import LogStore
from magnetar.ports.metadata import MetadataStore
from magnetar.server.core_options import core_options
from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone

__all__ = ["CannotListen", "advertise", "make_stores", "run_loop", "serve"]


class CannotListen(MagnetarError):  # noqa: N818
    """The port cannot be had."""

    fault = "operator"


def make_stores(settings: Settings, memory: bool) -> tuple[LogStore, MetadataStore]:
    """The log and the metadata store of a data folder, or of nothing but memory."""
    if memory:
        from magnetar.log.memory import MemoryLog
        from magnetar.metadata.memory import MemoryMetadata

        return MemoryLog(auto=True), MemoryMetadata()
    from magnetar.log.files.store import FileLog
    from magnetar.metadata.sqlite import SqliteMetadata

    folder = Path(settings.dataDirectory)
    folder.mkdir(parents=True, exist_ok=True)
    return FileLog(folder / "log"), SqliteMetadata(folder / "metadata.db")


def advertise(options: Options, settings: Settings, port: int, http_port: int) -> None:
    """Fill in the addresses that lookups answer with."""
    host = settings.advertisedAddress or settings.bindAddress
    if host in ("0.0.0.0", "::", ""):
        host = "127.0.0.1"
    options.broker_url = f"pulsar://{host}:{port}"
    options.http_url = f"http://{host}:{http_port}"


def run_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run ``main`` on uvloop where it is installed, else on asyncio's own loop."""
    try:
        import uvloop
    except ImportError:
        with asyncio.Runner() as runner:
            runner.run(main())
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def serve(settings: Settings, memory: bool) -> None:
    """Run until SIGINT or SIGTERM."""
    run_loop(lambda: _serve(settings, memory))


async def _serve(settings: Settings, memory: bool) -> None:
    log, metadata = make_stores(settings, memory)
    broker = Standalone(core_options(settings), log, metadata)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    await listen(broker, settings)
    where = "memory only" if memory else str(Path(settings.dataDirectory).resolve())
    print(f"Magnetar listens on {broker.options.broker_url}, data in {where}", flush=True)
    try:
        await stopping.wait()
    finally:
        await broker.stop()


async def listen(broker: Standalone, settings: Settings) -> int:
    """Open the client port; a port that is taken is said in a sentence."""
    try:
        port = await broker.start(settings.bindAddress, settings.brokerServicePort or 0)
    except OSError as error:
        await broker.stop()
        if error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL):
            raise CannotListen(
                f"cannot listen on {settings.bindAddress}:{settings.brokerServicePort}: {error.strerror}; "
                "choose another with --port, or stop what uses it"
            ) from None
        raise
    advertise(broker.options, settings, port, settings.webServicePort or 0)
    return port
