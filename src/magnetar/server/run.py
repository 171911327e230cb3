"""A broker in the foreground: start, say where it listens, run until a signal, stop cleanly."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any

from magnetar.core.options import Options
from magnetar.errors import MagnetarError
from magnetar.ports.log import LogStore
from magnetar.ports.metadata import MetadataStore
from magnetar.server.core_options import core_options
from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone

__all__ = ["DataFolderError", "ListenError", "advertise", "listen", "make_stores", "run_loop", "serve"]


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


def serve(settings: Settings, memory: bool, say: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM. ``say`` is told where the broker listens once it does."""
    run_loop(lambda: _serve(settings, memory, say))


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


async def _serve(settings: Settings, memory: bool, say: Callable[[str], None]) -> None:
    stopping = asyncio.Event()
    _stop_on_signals(stopping)
    log, metadata = make_stores(settings, memory)
    broker = Standalone(core_options(settings), log, metadata)
    await listen(broker, settings)
    _announce(broker.options, settings, memory, say)
    try:
        await stopping.wait()
    finally:
        await broker.stop()


def _announce(options: Options, settings: Settings, memory: bool, say: Callable[[str], None]) -> None:
    """Where it listens, where data lies, and nothing more."""
    say(f"Magnetar listens on {options.broker_url}")
    if settings.webServicePort is not None:
        say(f"Administration on {options.http_url}")
    say("Data in memory only" if memory else f"Data in {Path(settings.dataDirectory).resolve()}")


async def listen(broker: Standalone, settings: Settings) -> int:
    """Open the client port; a broker that cannot start is taken down again, and why is said in a sentence."""
    try:
        port = await broker.start(settings.bindAddress, settings.brokerServicePort or 0)
    except OSError as error:
        await broker.stop()
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ListenError(
            f"cannot listen on {settings.bindAddress}:{settings.brokerServicePort}: {reason}; "
            "choose another with --host and --port, or stop what uses it"
        ) from None
    except BaseException:
        await broker.stop()
        raise
    advertise(broker.options, settings, port, settings.webServicePort or 0)
    return port
