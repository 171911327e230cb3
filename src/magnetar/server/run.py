"""A broker in the foreground: start, say where it listens, run until a signal, stop cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any

from magnetar.core.options import Options
from magnetar.errors import MagnetarError
from magnetar.ports.log import LogStore
from magnetar.ports.metadata import MetadataStore
from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone

__all__ = [
    "DataFolderError",
    "ListenError",
    "Web",
    "advertise",
    "bind_web",
    "listen",
    "make_stores",
    "run_loop",
    "serve",
]


Web = Callable[[Standalone, Settings, socket.socket], Awaitable[Callable[[], Awaitable[None]]]]
"""Starts the HTTP side of a broker on a socket that listens already; what it gives back stops it."""


class ListenError(MagnetarError):
    """The port cannot be had."""

    fault = "operator"


class DataFolderError(MagnetarError):
    """The data folder is not there and cannot be made."""

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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFolderError(
            f"the data folder {folder} cannot be made: {error.strerror}; choose another with --data"
        ) from None
    return FileLog(folder / "log"), SqliteMetadata(folder / "metadata.db")


def advertise(options: Options, settings: Settings, port: int, http_port: int) -> None:
    """Fill in the addresses that lookups answer with."""
    host = settings.advertisedAddress or settings.bindAddress
    if host in ("0.0.0.0", "::", ""):
        host = "127.0.0.1"
    if ":" in host:
        host = f"[{host}]"
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


def serve(settings: Settings, memory: bool, announce: Callable[[str], None], web: Web | None = None) -> None:
    """Run until SIGINT or SIGTERM. ``announce`` is told where the broker listens; ``web`` starts the HTTP side, which
    this package knows nothing of."""
    where = "memory only" if memory else str(Path(settings.dataDirectory).resolve())
    raise_file_limit()
    run_loop(lambda: _serve(settings, memory, where, announce, web))


def raise_file_limit() -> None:
    """Every connection is a file; take as many as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems say "unlimited" and mean less
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _stop_on_signals(stopping: asyncio.Event) -> None:
    """The first signal asks for a clean stop, the second ends the process at once: the log stands a crash.

    These are plain handlers, not the loop's own, because recovery keeps the loop busy.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(128 + number)
        asked = True
        loop.call_soon_threadsafe(stopping.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


async def _serve(
    settings: Settings, memory: bool, where: str, announce: Callable[[str], None], web: Web | None
) -> None:
    stopping = asyncio.Event()
    _stop_on_signals(stopping)
    log, metadata = make_stores(settings, memory)
    broker = Standalone(settings, log, metadata)
    await listen(broker, settings)
    stop_web: Callable[[], Awaitable[None]] | None = None
    try:
        listener = bind_web(broker, settings) if web is not None else None
        urls = (
            broker.options.broker_url
            if listener is None
            else f"{broker.options.broker_url} and {broker.options.http_url}"
        )
        announce(f"Magnetar listens on {urls}, data in {where}")
        if web is not None and listener is not None:
            stop_web = await web(broker, settings, listener)
        tune_collector()
        await stopping.wait()
    finally:
        if stop_web is not None:
            await stop_web()
        await broker.stop()


def tune_collector() -> None:
    """Let the cycle collector leave alone what lives as long as the process, and look at the rest less often.

    The core's objects are freed by their reference counts; cycles come from connections and errors, which are few.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def bind_web(broker: Standalone, settings: Settings) -> socket.socket | None:
    """Open the HTTP port, so that it is known and clients may queue there; None when the settings want none."""
    if settings.webServicePort is None:
        return None
    try:
        family = socket.AF_INET6 if ":" in settings.bindAddress else socket.AF_INET
        listener = socket.create_server((settings.bindAddress, settings.webServicePort), family=family, backlog=1024)
    except OSError as error:
        raise ListenError(
            f"cannot listen on {settings.bindAddress}:{settings.webServicePort}: {_reason(error)}; "
            "choose another with --http-port, or stop what uses it"
        ) from None
    host = broker.options.http_url.rpartition(":")[0]
    broker.options.http_url = f"{host}:{listener.getsockname()[1]}"
    return listener


async def listen(broker: Standalone, settings: Settings) -> int:
    """Open the client port; a broker that cannot start is taken down again, and why is said in a sentence."""
    try:
        port = await broker.start(settings.bindAddress, settings.brokerServicePort or 0)
    except OSError as error:
        await broker.stop()
        raise ListenError(
            f"cannot listen on {settings.bindAddress}:{settings.brokerServicePort}: {_reason(error)}; "
            "choose another with --host and --port, or stop what uses it"
        ) from None
    except BaseException:
        await broker.stop()
        raise
    advertise(broker.options, settings, port, settings.webServicePort or 0)
    return port


def _reason(error: OSError) -> str:
    """What the system says, without what loops add; a name that is not found has no number of the system's."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else (error.strerror or str(error))
