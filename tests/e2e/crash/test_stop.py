"""SIGTERM under load: a clean stop, after which clients come back to all that they were promised."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from magnetar.testing import BrokerProcess
from tests.e2e.crash.load import SINGLY, UP_TO, Book, consume, publish
from tests.e2e.crash.test_kill import NO_LIMITS, settle

PROMISES = 1_500


async def until_stopped(broker: BrokerProcess, book: Book) -> int:
    """Load the broker, ask it to stop in the middle, and let everybody notice; its exit code."""
    enough = asyncio.Event()

    def seen() -> None:
        if len(book.receipts) > before + PROMISES:
            enough.set()

    before = len(book.receipts)
    book.seen = seen
    url = broker.service_url
    loads = (
        publish(url, book, "one"),
        publish(url, book, "many", 4),
        consume(url, book, SINGLY),
        consume(url, book, UP_TO),
    )
    work = [asyncio.ensure_future(each) for each in loads]
    async with asyncio.timeout(60):
        await asyncio.wait([asyncio.ensure_future(enough.wait()), *work], return_when=asyncio.FIRST_COMPLETED)
    # The load goes on while the broker stops.
    code = await asyncio.to_thread(broker.stop)
    for task in work:
        with contextlib.suppress(ConnectionError):
            await task
    return code


def test_a_stop_under_load_is_clean_and_loses_nothing(tmp_path: Path) -> None:
    book = Book()
    broker = BrokerProcess(data=tmp_path / "data", settings=NO_LIMITS)
    with contextlib.closing(broker):
        for _ in range(3):
            broker.start()
            assert asyncio.run(until_stopped(broker, book)) == 0
            assert "Traceback" not in broker.said(), broker.said()
            assert "ERROR" not in broker.said(), broker.said()
            assert not book.again, book.again[:3]
        broker.start()
        settle(broker.service_url, book)
