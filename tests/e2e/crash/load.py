"""Publishers and consumers that remember what they were promised, for brokers that are killed under them.

A ``Book`` outlives the broker. Publishers number their messages, and write down which numbers they have sent and which
were answered; consumers write down which acknowledgements were answered. Nobody sends anything twice, so whatever the
next broker shows must be a subset of what was sent, in the order of the numbers, and hold all that was answered.

The bytes of a message follow from its publisher and its number, so that damage shows.
"""

from __future__ import annotations

import asyncio
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from tests.support.wirecodec import (
    Command,
    Delivery,
    Fields,
    Frame,
    Id,
    SubType,
    Value,
    batch_body,
    frame,
    payload,
    unbatch,
)

__all__ = ["SINGLY", "UP_TO", "Book", "Wire", "consume", "numbers", "publish", "read_all"]

TOPIC = "persistent://public/default/crash"
SINGLY, UP_TO = "singly", "up-to"
"""The subscription that is acknowledged message by message, and the one acknowledged up to a message."""

WINDOW = 20
PERMITS = 1_000
LARGE_EVERY = 61
LARGE_BYTES = 60_000

Message = tuple[str, int]


class Book:
    """What was sent, and what was promised. ``seen`` is called with every promise."""

    def __init__(self) -> None:
        self.next: dict[str, int] = {}
        self.receipts: dict[Message, Id] = {}
        self.ack_sent: set[Message] = set()
        self.acked: set[Message] = set()
        self.up_to_sent = Id(-1, -1)
        self.up_to = Id(-1, -1)
        """Where the cumulative acknowledgement stands that was answered last."""
        self.again: list[str] = []
        """What was delivered although its acknowledgement had been answered."""
        self.seen: Callable[[], None] = lambda: None

    def sent(self, message: Message) -> bool:
        name, number = message
        return 0 <= number < self.next.get(name, 0)


def body(name: str, number: int) -> bytes:
    """The bytes of a message; now and then a large one, so that segments fill."""
    head = f"{name} {number} ".encode()
    size = LARGE_BYTES if number % LARGE_EVERY == 7 else 20 + number % 300
    return head + zlib.crc32(head).to_bytes(4, "big") * (size // 4)


def numbers(delivery: Delivery) -> list[Message]:
    """The messages in a delivered entry, each byte of them checked."""
    parts = unbatch(delivery) if 11 in delivery.metadata else [delivery.body]
    found = []
    for part in parts:
        name, number, _ = part.split(b" ", 2)
        message = (name.decode(), int(number))
        assert part == body(*message), f"{message} is not what was sent"
        found.append(message)
    return found


class Wire:
    """A connection in the test's loop. It ends with ConnectionError when the broker does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, service_url: str) -> Wire:
        address = urlsplit(service_url)
        wire = cls(*await asyncio.open_connection(address.hostname, address.port, limit=1 << 24))
        await wire.ask(Command.CONNECT, {1: "crash", 4: 21}, Command.CONNECTED)
        await wire.ask(Command.LOOKUP, {1: TOPIC, 2: 1}, Command.LOOKUP_RESPONSE)
        return wire

    def send(self, command: int, fields: Mapping[int, Value], tail: bytes = b"") -> None:
        self.writer.write(frame(command, fields, tail))

    async def read(self) -> Frame:
        """The next frame; PING is answered in between."""
        while True:
            try:
                (total,) = struct.unpack(">I", await self.reader.readexactly(4))
                data = await self.reader.readexactly(total)
            except asyncio.IncompleteReadError:
                raise ConnectionResetError("the broker is gone") from None
            (size,) = struct.unpack_from(">I", data)
            envelope = Fields(data[4 : 4 + size])
            command = Command(envelope.num(1))
            if command is not Command.PING:
                return Frame(command, envelope.sub(command), data[4 + size :])
            self.send(Command.PONG, {})

    async def ask(self, command: int, fields: Mapping[int, Value], answer: Command) -> Fields:
        """Send a command and wait for the frame that answers it; anything else is an error."""
        self.send(command, fields)
        received = await self.read()
        assert received.command is answer, received
        return received.fields

    async def subscribe(self, subscription: str, kind: SubType, *, durable: bool = True) -> None:
        fields: dict[int, Value] = {1: TOPIC, 2: subscription, 3: kind, 4: 1, 5: 2, 6: "c", 8: int(durable), 13: 1}
        await self.ask(Command.SUBSCRIBE, fields, Command.SUCCESS)
        self.send(Command.FLOW, {1: 1, 2: PERMITS})

    def close(self) -> None:
        self.writer.transport.abort()


async def publish(url: str, book: Book, name: str, batch: int = 1) -> None:
    """Publish without end, ``WINDOW`` entries ahead of the receipts, each of ``batch`` messages."""
    wire = await Wire.open(url)
    try:
        await wire.ask(Command.PRODUCER, {1: TOPIC, 2: 1, 3: 2, 4: name, 9: 1}, Command.PRODUCER_SUCCESS)
        waiting = 0
        while True:
            while waiting < WINDOW:
                _send(wire, book, name, batch)
                waiting += 1
            await wire.writer.drain()
            received = await wire.read()
            assert received.command is Command.SEND_RECEIPT, received
            waiting -= 1
            first, place = received.fields.num(2), Id.read(received.fields.sub(3))
            for number in range(first, first + batch):
                book.receipts[name, number] = place
            book.seen()
    finally:
        wire.close()


def _send(wire: Wire, book: Book, name: str, batch: int) -> None:
    first = book.next.get(name, 0)
    book.next[name] = first + batch
    last = first + batch - 1
    bodies = [body(name, number) for number in range(first, first + batch)]
    metadata: dict[int, Value] = {1: name, 2: first, 3: int(time.time() * 1000)}
    fields: dict[int, Value] = {1: 1, 2: first, 3: batch}
    if batch > 1:
        metadata |= {11: batch, 24: last}
        fields[6] = last
    wire.send(Command.SEND, fields, payload(metadata, batch_body(bodies) if batch > 1 else bodies[0]))


async def consume(url: str, book: Book, subscription: str) -> None:
    """Acknowledge without end: on ``SINGLY`` two entries of three, on ``UP_TO`` all up to every tenth."""
    wire = await Wire.open(url)
    asked: dict[int, list[Message] | Id] = {}
    requests = used = 0
    try:
        await wire.subscribe(subscription, SubType.SHARED if subscription == SINGLY else SubType.EXCLUSIVE)
        while True:
            received = await wire.read()
            if received.command is Command.ACK_RESPONSE:
                assert 4 not in received.fields, received
                _note(book, asked.pop(received.fields.num(6)))
                continue
            assert received.command is Command.MESSAGE, received
            delivery = Delivery.read(received)
            used += delivery.batch_size
            if used > PERMITS // 2:
                wire.send(Command.FLOW, {1: 1, 2: used})
                used = 0
            requests += 1
            if _acknowledge(wire, book, subscription, delivery, requests):
                asked[requests] = numbers(delivery) if subscription == SINGLY else delivery.id
                await wire.writer.drain()
    finally:
        wire.close()


def _acknowledge(wire: Wire, book: Book, subscription: str, delivery: Delivery, request: int) -> bool:
    """Look at what came, and acknowledge it if it is its turn."""
    messages = numbers(delivery)
    place: dict[int, Value] = {1: delivery.id.ledger, 2: delivery.id.entry}
    if subscription == UP_TO:
        if delivery.id <= book.up_to:
            book.again.append(f"{messages} on {UP_TO}, acknowledged up to {book.up_to}")
        if request % 10:
            return False
        book.up_to_sent = max(book.up_to_sent, delivery.id)
        wire.send(Command.ACK, {1: 1, 2: 1, 3: place, 8: request})
        return True
    if messages[0] in book.acked:
        book.again.append(f"{messages} on {SINGLY}")
    if messages[0][1] % 3 == 0:
        return False
    book.ack_sent.update(messages)
    wire.send(Command.ACK, {1: 1, 2: 0, 3: place, 8: request})
    return True


def _note(book: Book, what: list[Message] | Id) -> None:
    if isinstance(what, Id):
        book.up_to = max(book.up_to, what)
    else:
        book.acked.update(what)
    book.seen()


Found = list[tuple[Id, list[Message]]]
"""Entries, and the messages in each."""


async def read_all(url: str, subscription: str, kind: SubType, *, durable: bool = True) -> Found:
    """What a subscription still has to give, in the order in which it comes; it ends with a message of its own."""
    wire = await Wire.open(url)
    found: Found = []
    try:
        await wire.subscribe(subscription, kind, durable=durable)
        wire.send(Command.PRODUCER, {1: TOPIC, 2: 1, 3: 3, 4: f"end of {subscription}".replace(" ", "-"), 9: 1})
        end = ""
        used = 0
        while True:
            received = await wire.read()
            if received.command is Command.PRODUCER_SUCCESS:
                end = received.fields.text(2)
                wire.send(Command.SEND, {1: 1, 2: 0}, payload({1: end, 2: 0, 3: 1}, body(end, 0)))
            if received.command is not Command.MESSAGE:
                continue
            delivery = Delivery.read(received)
            messages = numbers(delivery)
            if messages[0][0] == end:
                return found
            if not messages[0][0].startswith("end-of-"):
                found.append((delivery.id, messages))
            used += delivery.batch_size
            if used > PERMITS // 2:
                wire.send(Command.FLOW, {1: 1, 2: used})
                used = 0
    finally:
        wire.close()
