"""The core of the broker without sockets, threads or time: frames in, frames out, and everything else when told.

    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", "s", permits=10)
    client.publish(b"hello")
    assert client.bodies() == [b"hello"]

With ``auto`` (the usual case) commits, metadata writes and log reads complete within ``turn()``. Otherwise they wait
for ``commit()``, ``fail()``, ``store()`` and ``read()``, so that a test can look at what is in between.
``restart()`` is a crash: what was not committed is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from magnetar.core.broker import Broker
from magnetar.core.catalog import NAMESPACES, TENANTS, MetaWrite, encode_row
from magnetar.core.options import Options
from magnetar.core.session import Session
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.core.unfinished import left_over
from magnetar.errors import LogFailed, MetadataFailed
from magnetar.log.memory import MemoryLog
from magnetar.ports.log import Committed, Failed, ReadDone
from magnetar.wire.commands import decode, encode, pb
from magnetar.wire.entry import metadata_bounds, seal
from magnetar.wire.frames import next_frame, payload_frame

__all__ = [
    "EXCLUSIVE",
    "FAILOVER",
    "KEY_SHARED",
    "SHARED",
    "Client",
    "CoreBroker",
    "Frame",
    "answered",
    "entry_of",
    "full",
]

EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED = range(4)
START_MS = 1_700_000_000_000
FRAME_MAX = 1 << 30


def full(topic: str) -> str:
    """The full name of a topic given by its local name."""
    return topic if "://" in topic else f"persistent://public/default/{topic}"


def entry_of(
    body: bytes = b"x",
    *,
    sequence: int = 0,
    key: str | None = None,
    batch: int | None = None,
    publish_time: int = START_MS,
    producer: str = "p",
    **fields: Any,
) -> bytes:
    """An entry as a client would send it."""
    metadata = pb.MessageMetadata(producer_name=producer, sequence_id=sequence, publish_time=publish_time, **fields)
    if key is not None:
        metadata.partition_key = key
    if batch is not None:
        metadata.num_messages_in_batch = batch
    return seal(metadata.SerializeToString(), body)


class Frame:
    """A frame that the broker sent: its command's name, the command, and what came behind it."""

    def __init__(self, kind: int, message: Any, payload: bytes) -> None:
        self.name: str = pb.BaseCommand.Type.Name(kind)
        self.message: Any = message
        self.payload: bytes = payload

    @property
    def body(self) -> bytes:
        """The payload of a MESSAGE behind its metadata."""
        return self.payload[metadata_bounds(self.payload)[1] :]

    @property
    def id(self) -> tuple[int, int]:
        """The place that a MESSAGE, a receipt or a last-id answer names."""
        place = self.message.last_message_id if "LAST" in self.name else self.message.message_id
        return place.ledgerId, place.entryId

    def __repr__(self) -> str:
        return f"<{self.name} {str(self.message).strip()}>"


def answered(frame: Frame | None) -> Frame:
    """The answer, which must be there."""
    assert frame is not None, "there is no answer"
    return frame


class Client:
    """One connection; what the broker sent collects in ``inbox``."""

    def __init__(self, broker: CoreBroker, session: Session) -> None:
        self.broker = broker
        self.session = session
        self.inbox: list[Frame] = []
        self.requests = 0
        self.sequence = 0
        self.reads = True

    # Bytes and frames.

    def feed(self, data: bytes) -> None:
        """Bytes arrive; one turn follows."""
        used = self.session.receive(data)
        assert used == len(data), "half a frame was left over"
        self.broker.turn()

    def say(self, message: Message) -> None:
        """Send one command."""
        self.feed(encode(message))

    def ask(self, message: Any) -> Frame | None:
        """Send a request under a fresh id; its answer, if there is one yet."""
        self.requests += 1
        message.request_id = self.requests
        self.say(message)
        return self.answer(self.requests)

    def answer(self, request: int) -> Frame | None:
        """Take the answer to a request out of the inbox."""
        for frame in self.inbox:
            if getattr(frame.message, "request_id", None) == request and not frame.name.startswith("CLOSE"):
                self.inbox.remove(frame)
                return frame
        return None

    def take(self, name: str) -> list[Frame]:
        """Take all frames of one command out of the inbox."""
        found = [frame for frame in self.inbox if frame.name == name]
        self.inbox = [frame for frame in self.inbox if frame.name != name]
        return found

    def names(self) -> list[str]:
        """What is in the inbox, by the names of the commands."""
        return [frame.name for frame in self.inbox]

    def cut(self) -> None:
        """The connection is gone."""
        self.broker.core.disconnected(self.session)
        self.broker.turn()

    # Producers.

    def producer(self, topic: str, producer_id: int = 1, name: str | None = None, **fields: Any) -> Frame | None:
        """Open a producer; the answer, if there is one yet."""
        message = pb.CommandProducer(topic=full(topic), producer_id=producer_id, **fields)
        if name is not None:
            message.producer_name = name
        else:
            message.user_provided_producer_name = False
        return self.ask(message)

    def send_frame(
        self, entry: bytes, sequence: int, producer_id: int = 1, count: int = 1, highest: int = 0, chunk: bool = False
    ) -> bytes:
        """The frame of a SEND."""
        command = pb.CommandSend(producer_id=producer_id, sequence_id=sequence, num_messages=count)
        if highest:
            command.highest_sequence_id = highest
        if chunk:
            command.is_chunk = True
        base = pb.BaseCommand(type=pb.BaseCommand.Type.SEND, send=command)
        return payload_frame(base.SerializeToString(), entry)

    def publish(self, *bodies: bytes, producer_id: int = 1, key: str | None = None, **fields: Any) -> None:
        """Publish messages in one go, with ascending sequence ids."""
        frames = []
        for body in bodies:
            entry = entry_of(body, sequence=self.sequence, key=key, **fields)
            frames.append(self.send_frame(entry, self.sequence, producer_id, fields.get("batch") or 1))
            self.sequence += 1
        self.feed(b"".join(frames))

    def receipts(self) -> list[tuple[int, tuple[int, int]]]:
        """Take the receipts that came: sequence id and place."""
        return [(frame.message.sequence_id, frame.id) for frame in self.take("SEND_RECEIPT")]

    # Consumers.

    def subscribe(
        self, topic: str, name: str = "s", kind: int = SHARED, consumer_id: int = 1, **fields: Any
    ) -> Frame | None:
        """Subscribe from the beginning; the answer, if there is one yet."""
        fields.setdefault("initialPosition", 1)
        fields.setdefault("consumer_name", f"c{self.session.number}-{consumer_id}")
        return self.ask(
            pb.CommandSubscribe(topic=full(topic), subscription=name, subType=kind, consumer_id=consumer_id, **fields)
        )

    def consumer(self, topic: str, name: str = "s", kind: int = SHARED, consumer_id: int = 1, **fields: Any) -> None:
        """Subscribe, and ask for messages if ``permits`` says how many."""
        permits = fields.pop("permits", 0)
        answer = self.subscribe(topic, name, kind, consumer_id, **fields)
        assert answer is not None, "no answer to SUBSCRIBE"
        assert answer.name == "SUCCESS", answer
        if permits:
            self.flow(permits, consumer_id)

    def flow(self, permits: int, consumer_id: int = 1) -> None:
        self.say(pb.CommandFlow(consumer_id=consumer_id, messagePermits=permits))

    def messages(self) -> list[Frame]:
        """Take the messages that came."""
        return self.take("MESSAGE")

    def bodies(self) -> list[bytes]:
        """Take the messages that came, and give what is in them."""
        return [frame.body for frame in self.messages()]

    def ack(self, *places: tuple[int, int], consumer_id: int = 1, receipt: bool = False, **fields: Any) -> Frame | None:
        """Acknowledge whole entries one by one, or with ``ack_type=1`` all up to one; the answer to a receipt."""
        message = pb.CommandAck(consumer_id=consumer_id, ack_type=fields.pop("ack_type", 0))
        words: Sequence[int] = fields.pop("ack_set", ())
        for ledger, entry in places:
            message.message_id.add(ledgerId=ledger, entryId=entry, ack_set=words)
        if receipt:
            return self.ask(message)
        self.say(message)
        return None

    def nack(self, *places: tuple[int, int], consumer_id: int = 1) -> None:
        message = pb.CommandRedeliverUnacknowledgedMessages(consumer_id=consumer_id)
        for ledger, entry in places:
            message.message_ids.add(ledgerId=ledger, entryId=entry)
        self.say(message)

    def redeliver_all(self, consumer_id: int = 1, epoch: int | None = None) -> None:
        message = pb.CommandRedeliverUnacknowledgedMessages(consumer_id=consumer_id)
        if epoch is not None:
            message.consumer_epoch = epoch
        self.say(message)

    def close_consumer(self, consumer_id: int = 1) -> Frame | None:
        return self.ask(pb.CommandCloseConsumer(consumer_id=consumer_id))

    def close_producer(self, producer_id: int = 1) -> Frame | None:
        return self.ask(pb.CommandCloseProducer(producer_id=producer_id))

    def seek(self, place: tuple[int, int], consumer_id: int = 1) -> Frame | None:
        message = pb.CommandSeek(consumer_id=consumer_id)
        message.message_id.ledgerId, message.message_id.entryId = place
        return self.ask(message)

    def last_id(self, consumer_id: int = 1) -> Frame | None:
        return self.ask(pb.CommandGetLastMessageId(consumer_id=consumer_id))


class CoreBroker:
    """A core over a log in memory; see the module's text."""

    def __init__(self, *, auto: bool = True, **options: Any) -> None:
        self.options = Options()
        for name, value in options.items():
            assert hasattr(self.options, name), name
            setattr(self.options, name, value)
        self.auto = auto
        self.auto_store = True
        self.now_ms = START_MS
        self.log = MemoryLog()
        self.rows: dict[str, bytes] = {
            TENANTS + "public": encode_row({}),
            NAMESPACES + "public/default": encode_row({}),
        }
        self.writes: list[MetaWrite] = []
        self.clients: list[Client] = []
        self.hung_up: list[Session] = []
        self.core = self._start()

    def _start(self) -> Broker:
        core = Broker(self.options, self.now_ms)
        for path, value in self.rows.items():
            core.catalog.apply(path, value)
        for path in left_over(core.catalog):
            self.rows.pop(path)
            core.catalog.apply(path, None)
        core.restore(self.log.recover())
        return core

    def restart(self, keep: int = 0) -> None:
        """Crash, and start again; the first ``keep`` commits under way make it to the disk."""
        self.log = self.log.crash(keep)
        self.writes = []
        self.clients = []
        self.hung_up = []
        self.core = self._start()
        self.turn()

    def client(self, connect: bool = True) -> Client:
        """A new connection, past its handshake unless told otherwise."""
        client = Client(self, self.core.connect(f"/test:{len(self.clients)}"))
        self.clients.append(client)
        if connect:
            client.say(pb.CommandConnect(client_version="test", protocol_version=21))
            assert client.names() == ["CONNECTED"]
            client.inbox.clear()
        return client

    def topic(self, name: str = "t") -> Topic:
        return self.core.topics[full(name)]

    def sub(self, topic: str = "t", name: str = "s") -> Subscription:
        return self.topic(topic).subscriptions[name]

    # The shell's part.

    def turn(self) -> None:
        """Do what the shell does at the end of a pass of its loop, again and again until nothing moves."""
        while True:
            self._hand_over()
            moved = self._deliver()
            if self.auto:
                moved = self.log.step() or moved
            if self.auto:
                moved = self.log.step_read() or moved
            works, self.core.works = self.core.works, []
            for work in works:
                work.run()
                work.done(None)
                moved = True
            if self.auto_store and self.writes:
                self.store()
                moved = True
            if not self._events() and not moved:
                return

    def _hand_over(self) -> None:
        core = self.core
        core.end_turn()
        commit = core.take_commit()
        if commit is not None:
            self.log.submit(commit.records)
        for request in core.read_requests:
            self.log.read(*request)
        core.read_requests = []
        self.writes += core.meta_writes
        core.meta_writes = []

    def _deliver(self) -> bool:
        """Write what the sessions hold and hang up on those that are to be closed."""
        core = self.core
        moved = bool(core.unflushed or core.closing)
        waiting, core.unflushed = core.unflushed, []
        for session in waiting:
            client = next(client for client in self.clients if client.session is session)
            if not client.reads:
                core.unflushed.append(session)
                moved = False
                continue
            data = b"".join(session.take_out())
            at = 0
            while at < len(data):
                start, stop, after = next_frame(data, at, len(data), FRAME_MAX)
                assert after > 0
                client.inbox.append(Frame(*decode(data, start, stop), data[stop:after]))
                at = after
        closing, core.closing = core.closing, []
        for session in closing:
            self.hung_up.append(session)
            core.disconnected(session)
        return moved

    def _events(self) -> bool:
        events = self.log.poll()
        for event in events:
            if isinstance(event, Committed):
                self.core.committed()
            elif isinstance(event, ReadDone):
                self.core.read_done(event)
            elif isinstance(event, Failed):
                self.core.failed(event.error)
        return bool(events)

    def commit(self) -> None:
        """The commit under way becomes durable."""
        assert self.log.step(), "there is no commit under way"
        self._events()
        self.turn()

    def fail(self, text: str = "the disk is full") -> None:
        """The commit under way fails, or the next one if there is none."""
        self.log.fail_next(1, LogFailed(text))
        if self.log.step():
            self._events()
            self.turn()

    def read(self) -> None:
        """The oldest read under way is answered."""
        assert self.log.step_read(), "there is no read under way"
        self._events()
        self.turn()

    def store(self, error: str = "") -> None:
        """All metadata writes under way complete, or fail with ``error``."""
        writes, self.writes = self.writes, []
        for write in writes:
            failure: Exception | None = MetadataFailed(error) if error else None
            if failure is None and write.create and write.path in self.rows:
                failure = MetadataFailed("it is there already")
            if failure is None:
                if write.value is None:
                    self.rows.pop(write.path, None)
                else:
                    self.rows[write.path] = write.value
            self.core.meta_done(write, failure)

    def advance(self, milliseconds: int) -> None:
        """Time goes by; timers run when they are due, one after another."""
        end = self.now_ms + milliseconds
        while 0 <= (due := self.core.timers.next_due()) <= end:
            self._at(max(due, self.now_ms))
        self._at(end)

    def _at(self, now_ms: int) -> None:
        self.now_ms = self.core.now_ms = now_ms
        self.core.tick()
        self.turn()
