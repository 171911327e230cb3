"""``kill -9`` in a loop, under publishing and acknowledging: what was promised holds.

Twenty rounds on one data folder, each ended by SIGKILL after a random number of promises (receipts of messages, answers
to acknowledgements), now and then before the first. Then a last start, and everything is counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from pathlib import Path

import pytest

from magnetar.testing import BrokerProcess
from tests.e2e.crash.load import SINGLY, UP_TO, Book, consume, publish, read_all
from tests.support.wirecodec import SubType

ROUNDS = 20
PROMISES_MAX = 2_000
NO_LIMITS = {"maxUnackedMessagesPerConsumer": 0, "maxUnackedMessagesPerSubscription": 0}
"""In the end everything is read by one consumer that acknowledges nothing."""
SEEDS = range(10 if os.environ.get("MAGNETAR_NIGHTLY") else 1)


async def until_killed(broker: BrokerProcess, book: Book, promises: int) -> None:
    """Load the broker, kill it after so many promises, and let everybody notice."""
    enough = asyncio.Event()
    left = promises

    def seen() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            enough.set()

    book.seen = seen
    url = broker.service_url
    work = [
        asyncio.ensure_future(each)
        for each in (
            publish(url, book, "one"),
            publish(url, book, "many", batch=4),
            consume(url, book, SINGLY),
            consume(url, book, UP_TO),
        )
    ]
    if promises:
        asked = asyncio.ensure_future(enough.wait())
        async with asyncio.timeout(60):
            await asyncio.wait([asked, *work], return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
    broker.kill()
    for task in work:
        with contextlib.suppress(ConnectionError):
            await task


def settle(url: str, book: Book) -> None:
    """The last start: hold what is there against what was promised."""
    entries = asyncio.run(read_all(url, "everything", SubType.EXCLUSIVE, durable=False))
    there = [message for _, messages in entries for message in messages]
    assert len(set(there)) == len(there), "a message is there twice"
    assert all(book.sent(message) for message in there), "a message is there that nobody sent"
    lost = sorted(set(book.receipts) - set(there))
    assert not lost, f"{len(lost)} messages with a receipt are lost: {lost[:5]}"
    places = {message: place for place, messages in entries for message in messages}
    moved = [message for message, place in book.receipts.items() if places[message] != place]
    assert not moved, f"they are not where their receipts said: {moved[:5]}"
    for name in book.next:
        mine = [number for producer, number in there if producer == name]
        assert mine == sorted(mine), f"the order of {name} is broken"

    open_still = {m for _, messages in asyncio.run(read_all(url, SINGLY, SubType.SHARED)) for m in messages}
    assert not open_still & book.acked, "what was acknowledged durably is delivered again"
    assert set(there) - open_still <= book.ack_sent, "a subscription lost what nobody acknowledged"

    rest = asyncio.run(read_all(url, UP_TO, SubType.EXCLUSIVE))
    assert all(place > book.up_to for place, _ in rest), "what was acknowledged cumulatively is delivered again"
    skipped = [place for place, _ in entries if place > book.up_to_sent]
    assert skipped == [place for place, _ in rest][len(rest) - len(skipped) :], "a cumulative cursor skipped messages"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_promised_survives_kill_9(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    book = Book()
    broker = BrokerProcess(data=tmp_path / "data", settings=NO_LIMITS)
    with contextlib.closing(broker):
        for number in range(ROUNDS):
            broker.start()
            promises = dice.randint(0, 50) if number % 4 == 3 else dice.randint(50, PROMISES_MAX)
            asyncio.run(until_killed(broker, book, promises))
            assert not book.again, f"seed {seed}, round {number}: delivered again: {book.again[:3]}"
        broker.start()
        settle(broker.service_url, book)
    assert len(book.receipts) > 1_000
    assert len(book.acked) > 1_000
    assert book.up_to.ledger > 0
