"""Handing the metrics page to everybody who asks for it, made only as often as need be.

One page is made at a time. Who asks while one is being made waits for the next, and all who wait get that next one
together, part by part, so that nothing of it is kept: ten collectors cost two pages at most, and no memory. They go at
the pace of the slowest, but one that takes nothing for ``READ_WAIT_S`` is hung up on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from aiohttp import web

__all__ = ["READ_WAIT_S", "Scrapes"]

READ_WAIT_S = 10.0

Make = Callable[[], Iterator[bytes]]


class _Reader:
    """Somebody who waits for the page."""

    def __init__(self, response: web.StreamResponse, request: web.Request) -> None:
        self.response = response
        self.request = request
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def write(self, part: bytes) -> None:
        """Give it a part; what goes wrong ends this reader's page only."""
        try:
            async with asyncio.timeout(READ_WAIT_S):
                await self.response.write(part)
        except TimeoutError:
            if self.request.transport is not None:
                self.request.transport.abort()
            self._end(ConnectionResetError("the metrics page was not read"))
        except (OSError, RuntimeError) as error:
            self._end(error)

    def _end(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Scrapes:
    """See the module's text."""

    def __init__(self) -> None:
        self.pages: int = 0
        """How many were made so far."""
        self._waiting: list[_Reader] = []
        self._task: asyncio.Task[None] | None = None

    async def serve(self, request: web.Request, response: web.StreamResponse, make: Make) -> None:
        """Write the next page to the response, which is prepared."""
        reader = _Reader(response, request)
        self._waiting.append(reader)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(make))
        await reader.done

    async def _run(self, make: Make) -> None:
        while self._waiting:
            readers, self._waiting = self._waiting, []
            try:
                await self._page(readers, make)
            except Exception as error:  # noqa: BLE001 - who waits must hear of it, and the next page is another one
                for reader in readers:
                    reader._end(error)

    async def _page(self, readers: list[_Reader], make: Make) -> None:
        self.pages += 1
        for part in make():
            if part:
                await asyncio.gather(*(reader.write(part) for reader in readers))
                readers = [reader for reader in readers if not reader.done.done()]
                if not readers:
                    return
            await asyncio.sleep(0)
        for reader in readers:
            reader.done.set_result(None)
