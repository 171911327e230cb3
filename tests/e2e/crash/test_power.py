"""The whole broker over a disk that loses power, fails a sync, or is full, with clients on real sockets.

The disk is ``magnetar.testing``'s: it keeps apart what was written and what was synced, and a power cut loses of the
unsynced what a real one may lose. Everything above it is the broker as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from magnetar.log.files import FileLog
from magnetar.metadata.memory import MemoryMetadata
from magnetar.ports.metadata import MetadataStore
from magnetar.testing.disk import FaultDisk
from tests.e2e.crash.load import SINGLY, TOPIC, UP_TO, Book, consume, publish
from tests.e2e.crash.test_kill import SEEDS, settle
from tests.support.served import Served, options
from tests.support.wireclient import WireClient, WireError
from tests.support.wirecodec import Command

ROUNDS = 10
SEGMENT_BYTES = 1 << 20


class _Kept(MemoryMetadata):
    """A metadata store that outlives its broker; SQLite's own promises are tested with its adapter."""

    async def close(self) -> None:
        """Nothing is lost."""


def broker_on(disk: FaultDisk, metadata: MetadataStore) -> Served:
    log = FileLog("data", disk=disk, segment_bytes=SEGMENT_BYTES)
    chosen = options(max_unacked_per_consumer=0, max_unacked_per_subscription=0)
    return Served(chosen, log=log, metadata=metadata)


async def load_until(book: Book, url: str, promises: int, cut: asyncio.Event) -> None:
    """Load the broker until so many promises are made; then ``cut`` is set, and the load goes on until it breaks."""
    left = promises

    def seen() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            cut.set()

    book.seen = seen
    loads = (publish(url, book, "one"), publish(url, book, "many", 4))
    work = [asyncio.ensure_future(each) for each in (*loads, consume(url, book, SINGLY), consume(url, book, UP_TO))]
    async with asyncio.timeout(60):
        await asyncio.wait([asyncio.ensure_future(cut.wait()), *work], return_when=asyncio.FIRST_COMPLETED)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_promised_survives_power_cuts(seed: int) -> None:
    dice = random.Random(seed)
    book = Book()
    disk = FaultDisk(seed)
    metadata = _Kept()
    for number in range(ROUNDS):
        with broker_on(disk, metadata) as served:

            async def one_round(served: Served = served, disk: FaultDisk = disk) -> FaultDisk:
                await load_until(book, served.service_url, dice.randint(1, 1_500), asyncio.Event())
                return disk.power_cut()

            disk = asyncio.run(one_round())
        assert not book.again, f"seed {seed}, round {number}: delivered again: {book.again[:3]}"
    with broker_on(disk, metadata) as served:
        settle(served.service_url, book)
    assert len(book.receipts) > 500
    assert len(book.acked) > 100


def producer_and_reader(served: Served) -> tuple[WireClient, WireClient]:
    writer, reader = served.wire(), served.wire()
    writer.producer(TOPIC, name="w")
    reader.subscribe(TOPIC, "s")
    reader.flow(1, 100_000)
    return writer, reader


@pytest.mark.parametrize("operation", ["write", "fdatasync"])
def test_a_write_or_sync_that_fails_is_told_and_publishing_goes_on(operation: str) -> None:
    disk = FaultDisk(3)
    with broker_on(disk, MemoryMetadata()) as served:
        writer, reader = producer_and_reader(served)
        with contextlib.closing(writer), contextlib.closing(reader):
            before = writer.publish(b"kept", 0)
            disk.fail(operation)
            with pytest.raises(WireError) as failed:
                writer.publish(b"void", 1)
            assert failed.value.code == 2
            assert "Input/output error" in failed.value.text, failed.value.text
            assert writer.expect(Command.CLOSE_PRODUCER).fields.num(1) == 1
            writer.producer(TOPIC, name="w", epoch=1)
            after = writer.publish(b"again", 1)
            assert after.ledger > before.ledger
            assert [delivery.body for delivery in reader.messages(2)] == [b"kept", b"again"]
    assert disk.resynced == []


def test_a_full_disk_is_told_reading_goes_on_and_publishing_resumes_with_space() -> None:
    disk = FaultDisk(4)
    with broker_on(disk, MemoryMetadata()) as served:
        writer, reader = producer_and_reader(served)
        with contextlib.closing(writer), contextlib.closing(reader):
            kept = [b"%d" % number * 1_000 for number in range(50)]
            for number, body in enumerate(kept):
                writer.publish(body, number)
            disk.capacity = disk.used + 100
            with pytest.raises(WireError) as full:
                writer.publish(bytes(10_000), 50)
            assert full.value.code == 2
            assert "no space left" in full.value.text, full.value.text
            writer.expect(Command.CLOSE_PRODUCER)
            assert [delivery.body for delivery in reader.messages(50)] == kept
            with served.wire() as late:
                late.subscribe(TOPIC, "reader", durable=False)
                late.flow(1, 1_000)
                assert [delivery.body for delivery in late.messages(50)] == kept
            # A client comes back, is let in, and is refused again as long as there is no space.
            writer.producer(TOPIC, name="w", epoch=1)
            with pytest.raises(WireError):
                writer.publish(bytes(10_000), 50)
            writer.expect(Command.CLOSE_PRODUCER)
            disk.capacity = None
            writer.producer(TOPIC, name="w", epoch=2)
            writer.publish(b"there is space", 50)
            assert reader.message().body == b"there is space"
            assert [delivery.body for delivery in reader.delivered()] == []
    with broker_on(disk, MemoryMetadata()) as served:
        assert served.call(lambda: served.standalone.notes) == [], "nothing is torn"
