"""A run of the real core with time that stands still until told, and a record of what happened in it.

    play = Play()
    anna = play.join("anna", work_ms=20)
    play.publish("apples")
    play.until(100)

Workers get their messages as frames, as any client would, work on them one after another for ``work_ms`` each, and
acknowledge. Nothing in a play depends on the clock or on chance, so the same play gives the same record for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from magnetar.core.broker import Broker
from magnetar.core.catalog import NAMESPACES, TENANTS, encode_row
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.options import Options
from magnetar.core.session import Session
from magnetar.core.subscription import Subscription
from magnetar.log.memory import MemoryLog
from magnetar.ports.log import Committed, ReadDone
from magnetar.wire.commands import decode, encode, pb
from magnetar.wire.entry import metadata_bounds, seal
from magnetar.wire.frames import next_frame, payload_frame
from magnetar.wire.hashing import murmur3

__all__ = ["Delivery", "Play", "Worker"]

START_MS = 1_700_000_000_000
TOPIC = "persistent://public/default/play"
SUBSCRIPTION = "workers"
FRAME_BYTES_MAX = 1 << 20


class Delivery:
    """A message at a worker, from the turn in which the broker sent it until it was acknowledged or given back."""

    def __init__(self, worker: str, key: str, number: int, since_ms: int) -> None:
        self.worker = worker
        self.key = key
        self.number = number
        self.since_ms = since_ms
        self.until_ms = -1
        self.acknowledged = False
        self.together_with = ""
        """Another worker that held a message of the key when this one was sent: the contract is broken."""


class Worker:
    """A client on a connection of its own that works on one message at a time; ``work_ms`` 0 never finishes any."""

    def __init__(self, play: Play, name: str, session: Session, work_ms: int) -> None:
        self.play = play
        self.name = name
        self.session = session
        self.work_ms = work_ms
        self.next_done_ms = 0
        self.hand: list[tuple[Delivery, tuple[int, int]]] = []

    def say(self, message: Message) -> None:
        self.play.feed(self.session, encode(message))

    def ask(self, permits: int) -> None:
        """The worker has room for more messages."""
        if permits:
            self.say(pb.CommandFlow(consumer_id=1, messagePermits=permits))

    def got(self, delivery: Delivery, place: tuple[int, int]) -> None:
        if not self.hand:
            self.next_done_ms = self.play.now_ms + self.work_ms
        self.hand.append((delivery, place))

    def work(self) -> None:
        """Acknowledge the message that is done by now, if there is one."""
        if self.hand and self.work_ms and self.play.now_ms >= self.next_done_ms:
            delivery, (ledger, entry) = self.hand.pop(0)
            delivery.until_ms, delivery.acknowledged = self.play.now_ms, True
            self.next_done_ms = self.play.now_ms + self.work_ms
            ack = pb.CommandAck(consumer_id=1, ack_type=pb.CommandAck.AckType.Individual)
            ack.message_id.add(ledgerId=ledger, entryId=entry)
            self.say(ack)
            self.ask(1)

    def leave(self) -> None:
        """The connection is gone; what it held is given back."""
        for delivery, _ in self.hand:
            delivery.until_ms = self.play.now_ms
        del self.play.workers[self.name]
        self.play.core.disconnected(self.session)
        self.play.turn()


class Play:
    """One topic, one Key_Shared subscription; ``now_ms`` counts from 0."""

    def __init__(self, **options: Any) -> None:
        filled = Options()
        for name, value in options.items():
            assert hasattr(filled, name), name
            setattr(filled, name, value)
        self.core = Broker(filled, START_MS)
        self.core.catalog.apply(TENANTS + "public", encode_row({}))
        self.core.catalog.apply(NAMESPACES + "public/default", encode_row({}))
        self.log = MemoryLog(auto=True)
        self.core.restore(self.log.recover())
        self.workers: dict[str, Worker] = {}
        self.deliveries: list[Delivery] = []
        self.published: dict[tuple[str, int], int] = {}
        self.numbers: dict[str, int] = {}
        self.drains: dict[str, list[list[int]]] = {}
        """Per key the times during which it drained, as [from, until], the end not included."""
        self.watched: list[str] = []
        self.producer = self._connect()
        self.feed(self.producer, encode(pb.CommandProducer(topic=TOPIC, producer_id=1, request_id=1)))

    @property
    def now_ms(self) -> int:
        return self.core.now_ms - START_MS

    @property
    def subscription(self) -> Subscription:
        return self.core.topics[TOPIC].subscriptions[SUBSCRIPTION]

    @property
    def dispatcher(self) -> Any:
        return self.subscription.dispatcher

    def owner(self, key: str) -> str:
        """Who the key belongs to now."""
        selector = self.dispatcher.selector
        found = selector.select(selector.slot_of(murmur3(key.encode())))
        return str(found.name) if found is not None else ""

    # -- what is done ------------------------------------------------------------------------------------------------

    def join(self, name: str, work_ms: int, permits: int = 100) -> Worker:
        """A worker joins; ``permits`` is the size of its receiver queue."""
        worker = self.workers[name] = Worker(self, name, self._connect(), work_ms)
        subscribe = pb.CommandSubscribe(topic=TOPIC, subscription=SUBSCRIPTION, consumer_id=1, consumer_name=name)
        subscribe.subType = pb.CommandSubscribe.SubType.Key_Shared
        subscribe.initialPosition = pb.CommandSubscribe.InitialPosition.Earliest
        subscribe.request_id = 1
        worker.say(subscribe)
        worker.ask(permits)
        return worker

    def publish(self, *keys: str) -> None:
        """One message for each key; the messages of a key are numbered from 1 on."""
        for key in keys:
            number = self.numbers[key] = self.numbers.get(key, 0) + 1
            self.published[key, number] = self.now_ms
            sequence = len(self.published)
            metadata = pb.MessageMetadata(producer_name="p", sequence_id=sequence, publish_time=self.core.now_ms)
            metadata.partition_key = key
            command = pb.BaseCommand(type=pb.BaseCommand.Type.SEND)
            command.send.producer_id, command.send.sequence_id = 1, sequence
            entry = seal(metadata.SerializeToString(), b"%d" % number)
            self.feed(self.producer, payload_frame(command.SerializeToString(), entry))

    def until(self, end_ms: int, at: dict[int, Callable[[], object]] | None = None) -> None:
        """Time goes by, one millisecond after another; ``at`` says what else happens when."""
        while self.now_ms < end_ms:
            self.core.now_ms += 1
            self.core.tick()
            self.turn()
            for worker in list(self.workers.values()):
                worker.work()
            if at is not None and self.now_ms in at:
                at[self.now_ms]()
            self._note_drains()

    # -- the shell's part --------------------------------------------------------------------------------------------

    def _connect(self) -> Session:
        session = self.core.connect("/play")
        self.feed(session, encode(pb.CommandConnect(client_version="play", protocol_version=21)))
        return session

    def feed(self, session: Session, data: bytes) -> None:
        """Bytes arrive, and a turn of the loop follows."""
        session.receive(data)
        self.turn()

    def turn(self) -> None:
        """Do what the shell does at the end of a turn, until nothing moves."""
        core, moved = self.core, True
        while moved:
            core.end_turn()
            commit = core.take_commit()
            if commit is not None:
                self.log.submit(commit.records)
            for request in core.read_requests:
                self.log.read(*request)
            core.read_requests = []
            writes, core.meta_writes = core.meta_writes, []
            for write in writes:
                core.meta_done(write, None)
            events = self.log.poll()
            for event in events:
                if isinstance(event, ReadDone):
                    core.read_done(event)
                else:
                    assert isinstance(event, Committed), event
                    core.committed()
            moved = bool(events or writes) | self._deliver()

    def _deliver(self) -> bool:
        unflushed, self.core.unflushed = self.core.unflushed, []
        for session in unflushed:
            data = b"".join(session.take_out())
            worker = next((one for one in self.workers.values() if one.session is session), None)
            at = 0
            while at < len(data):
                start, stop, after = next_frame(data, at, len(data), FRAME_BYTES_MAX)
                kind, message = decode(data, start, stop)
                if kind == pb.BaseCommand.Type.MESSAGE and worker is not None:
                    self._delivered(worker, message, data[stop:after])
                at = after
        return bool(unflushed)

    def _delivered(self, worker: Worker, message: Any, entry: bytes) -> None:
        start, stop = metadata_bounds(entry)
        key = pb.MessageMetadata.FromString(entry[start:stop]).partition_key
        delivery = Delivery(worker.name, key, int(entry[stop:]), self.now_ms)
        for other in self.workers.values():
            if other is not worker and any(held.key == key for held, _ in other.hand):
                delivery.together_with = other.name
        self.deliveries.append(delivery)
        worker.got(delivery, (message.message_id.ledgerId, message.message_id.entryId))

    def _note_drains(self) -> None:
        dispatcher = self.dispatcher
        for key in self.watched if isinstance(dispatcher, KeyShared) else []:
            key_hash = murmur3(key.encode())
            if dispatcher.drains.blocks(key_hash, dispatcher.selector.slot_of(key_hash)):
                spans = self.drains.setdefault(key, [])
                if spans and spans[-1][1] == self.now_ms:
                    spans[-1][1] = self.now_ms + 1
                else:
                    spans.append([self.now_ms, self.now_ms + 1])
