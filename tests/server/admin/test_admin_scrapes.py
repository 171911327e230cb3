"""Who asks for the metrics together gets one page together, and one that does not read holds nobody up for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from magnetar.admin import scrapes as module
from magnetar.admin.scrapes import Scrapes

LARGE = b"x" * 65_536


class Pages:
    """A server whose only page is made part by part, as fast as the test lets it."""

    def __init__(self) -> None:
        self.scrapes = Scrapes()
        self.open = asyncio.Event()
        self.seen: asyncio.Queue[str] = asyncio.Queue()
        self.large = 0
        self.url = ""

    def make(self) -> Iterator[bytes]:
        self.seen.put_nowait("page")
        number = self.scrapes.pages
        yield b"page %d" % number
        while not self.open.is_set():
            yield b""
        for _ in range(self.large):
            yield LARGE
        yield b", the end"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self.seen.put_nowait("reader")
        await self.scrapes.serve(request, response, self.make)
        await response.write_eof()
        return response

    async def until(self, *what: str) -> None:
        """Wait for what happens next, in this order."""
        for each in what:
            assert await asyncio.wait_for(self.seen.get(), 30) == each


@asynccontextmanager
async def served() -> AsyncIterator[Pages]:
    pages = Pages()
    app = web.Application()
    app.router.add_get("/", pages.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    pages.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        yield pages
    finally:
        pages.open.set()
        await runner.cleanup()


async def read(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as answer:
        return await answer.read()


def test_who_asks_while_a_page_is_made_shares_the_next_one() -> None:
    async def run() -> None:
        async with served() as pages, aiohttp.ClientSession() as session:
            first = asyncio.create_task(read(session, pages.url))
            await pages.until("reader", "page")
            others = [asyncio.create_task(read(session, pages.url)) for _ in range(7)]
            await pages.until(*["reader"] * 7)
            pages.open.set()
            assert await first == b"page 1, the end"
            assert await asyncio.gather(*others) == [b"page 2, the end"] * 7
            assert pages.scrapes.pages == 2
            assert await read(session, pages.url) == b"page 3, the end"

    asyncio.run(run())


def test_a_reader_that_goes_away_costs_the_others_nothing() -> None:
    async def run() -> None:
        async with served() as pages, aiohttp.ClientSession() as session:
            pages.large = 400
            gone = await session.get(pages.url)
            await pages.until("reader", "page")
            other = asyncio.create_task(read(session, pages.url))
            await pages.until("reader")
            gone.close()
            pages.open.set()
            assert (await other).endswith(b", the end")

    asyncio.run(run())


def test_a_reader_that_does_not_read_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_WAIT_S", 0.05)

    async def run() -> None:
        async with served() as pages:
            pages.large = 4_000
            pages.open.set()
            reader, writer = await asyncio.open_connection("127.0.0.1", int(pages.url.rpartition(":")[2][:-1]))
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert reader._transport is not None
            reader._transport.pause_reading()
            async with aiohttp.ClientSession() as session:
                await pages.until("reader", "page")
                assert (await read(session, pages.url)).endswith(b", the end")
            writer.close()

    asyncio.run(run())
