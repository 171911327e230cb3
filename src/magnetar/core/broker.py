"""The broker core: everything between bytes in and bytes out, as one deterministic state machine.

Theory of operation
-------------------
The shell (or the simulator) owns sockets, clock, log and metadata store. It sets ``now_ms``, calls in with whatever
happened, and then calls ``end_turn()``; after that it carries out what the core has collected:

* ``unflushed``: sessions with frames to write; ``closing``: sessions to hang up once they are written;
* ``take_commit()``: the records to hand to the log, when none is under way;
* ``read_requests``: entries wanted from the log; ``meta_writes``: changes for the metadata store;
* ``works``: what is to be run outside of the loop and then reported to its ``done``;
* ``timers.next_due()``: when to call ``tick()`` next.

What comes back goes in as ``committed()``, ``failed()``, ``read_done()`` and ``meta_done()``. One commit is under way
at a time; everything that arrives meanwhile shares the next one. After a failed commit the next is held back a little,
so that a full disk is not hammered.

Within a turn nothing is sent to consumers directly: whatever might make a subscription move calls ``wake``, and each
woken subscription dispatches once at the end of the turn.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from magnetar.core.access import leave
from magnetar.core.balance import Balance
from magnetar.core.catalog import Catalog, MetaWrite, Row
from magnetar.core.commit import Commit, Run
from magnetar.core.compaction.runner import Compactions
from magnetar.core.compaction.scan import Work
from magnetar.core.liveness import KeepAlive
from magnetar.core.measure import Meter
from magnetar.core.names import TopicName
from magnetar.core.options import Options
from magnetar.core.policies.book import PolicyBook
from magnetar.core.producer import Producer
from magnetar.core.rates import Rates
from magnetar.core.requests.table import handle
from magnetar.core.rows import RowWrites
from magnetar.core.schemas.registry import SchemaBook
from magnetar.core.session import Session
from magnetar.core.subscription import Subscription
from magnetar.core.tail import TailBudget
from magnetar.core.timers import Timers
from magnetar.core.topic import Topic
from magnetar.core.topiclist.watcher import TopicLists
from magnetar.core.upkeep import Upkeep
from magnetar.ports.log import Drop, DropStream, Put, ReadDone, Recovered

__all__ = ["BROKER_STREAM", "Broker", "ReadRequest"]

BROKER_STREAM = 0
"""The stream of state that belongs to no topic."""

_COUNTER_KEY = b"n"
_COUNTER = struct.Struct("<Q")
_HOLD_FIRST_MS, _HOLD_MOST_MS = 100, 2_000

ReadRequest = tuple[int, int, int, int, int]
"""ticket, stream, offset, most entries, most bytes"""


class Broker:
    """See the module's text."""

    def __init__(self, options: Options, now_ms: int) -> None:
        self.options: Options = options
        self.now_ms: int = now_ms
        self.meter: Meter = Meter(now_ms)
        self.catalog: Catalog = Catalog()
        self.topics: dict[str, Topic] = {}
        self.timers: Timers = Timers()
        self.budget: TailBudget = TailBudget(options.tail_cache_bytes)
        self.sessions: dict[int, Session] = {}
        self.session_count: int = 0
        self.commit: Commit = Commit()
        self.in_flight: Commit | None = None
        self.hold_until_ms: int = 0
        self.hold_ms: int = _HOLD_FIRST_MS
        self.log_error: str = ""
        self.counter: int = 0
        self.counter_dirty: bool = False
        self.next_stream: int = 1
        self.instance: int = 0
        self.names_given: int = 0
        self.woken: list[Subscription] = []
        self.dirty: list[Subscription] = []
        self.unflushed: list[Session] = []
        self.closing: list[Session] = []
        self.read_requests: list[ReadRequest] = []
        self.reads: dict[int, tuple[Callable[[int, int, ReadDone], None], int]] = {}
        self.tickets: int = 0
        self.meta_writes: list[MetaWrite] = []
        self.works: list[Work] = []
        self.rows: RowWrites = RowWrites(self)
        self.policies: PolicyBook = PolicyBook(options, self.catalog)
        self.schemas: SchemaBook = SchemaBook(self)
        self.topic_lists: TopicLists = TopicLists(self)
        self.rates: Rates = Rates(self)
        self.keep_alive: KeepAlive = KeepAlive(self)
        self.upkeep: Upkeep = Upkeep(self)
        self.compactions: Compactions = Compactions(self)
        self.balance: Balance = Balance(self)

    # -- start -----------------------------------------------------------------------------------------------------

    def restore(self, recovered: Recovered) -> None:
        """Open every topic of the catalogue over what the log holds, and drop what no topic owns any more."""
        counter = recovered.streams.get(BROKER_STREAM)
        if counter is not None and _COUNTER_KEY in counter.state:
            value = counter.state[_COUNTER_KEY].value
            if value is not None:
                (self.counter,) = _COUNTER.unpack(value)
        self.instance = self.next_ledger()
        self.next_stream = max(recovered.next_stream, 1)
        owned: dict[int, bool] = {BROKER_STREAM: True}
        for name, row in self.catalog.topics.items():
            stream = int(row["stream"])
            owned[stream] = True
            self.next_stream = max(self.next_stream, stream + 1)
            topic = Topic(self, TopicName(name), stream)
            found = recovered.streams.get(stream)
            if found is not None:
                topic.restore(found)
                if topic.compaction.view is not None:
                    owned[topic.compaction.view.stream] = True
            self.topics[name] = topic
        for stream in recovered.streams:
            if stream not in owned:
                self.commit.records.append(DropStream(stream))
        self.schemas.start()
        self.keep_alive.start()
        self.upkeep.start()
        self.compactions.watch()

    def next_ledger(self) -> int:
        """A ledger id that was never used; durable with the commit that first uses it."""
        self.counter += 1
        self.counter_dirty = True
        return self.counter

    def states(self) -> list[tuple[int, bytes, bytes]]:
        """State of the broker itself, for a checkpoint."""
        return [(BROKER_STREAM, _COUNTER_KEY, _COUNTER.pack(self.counter))]

    # -- sessions --------------------------------------------------------------------------------------------------

    def connect(self, address: str) -> Session:
        """A new connection."""
        self.session_count += 1
        session = Session(self, self.session_count, address)
        self.sessions[session.number] = session
        return session

    def disconnected(self, session: Session) -> None:
        """The connection is gone, for whatever reason."""
        if self.sessions.pop(session.number, None) is not None:
            session.ended()

    def lost(self, session: Session, reason: str) -> None:
        """The peer is not there any more: free what it holds at once, hang up afterwards."""
        session.close(reason)
        self.disconnected(session)

    def handle(self, session: Session, kind: int, data: bytes, start: int, stop: int) -> None:
        """A command that is not on the hot path."""
        handle(self, session, kind, data, start, stop)

    def close_producer(self, producer: Producer) -> None:
        """The producer is gone; a waiting one may take its place."""
        if producer.closed:
            return
        producer.closed = True
        session = producer.session
        if session.producers.get(producer.id) is producer:
            del session.producers[producer.id]
            session.retire(producer.id)
        leave(producer)

    # -- turns -----------------------------------------------------------------------------------------------------

    def wake(self, subscription: Subscription) -> None:
        """Something may have become deliverable on the subscription."""
        if not subscription.awake:
            subscription.awake = True
            self.woken.append(subscription)

    def end_turn(self) -> None:
        """Dispatch what was woken and note what was acknowledged; afterwards the shell carries out what came of it."""
        while self.woken or self.dirty:
            woken = self.woken
            self.woken = []
            done = 0
            try:
                for sub in woken:
                    sub.awake = False
                    done += 1
                    sub.dispatch()
            finally:
                # A bug in one subscription's turn must not put the others to sleep for ever.
                self.woken[:0] = woken[done:]
            dirty = self.dirty
            self.dirty = []
            for sub in dirty:
                sub.write(self.commit.records)
                if sub.durable:
                    self.commit.cursors.append(sub)
        if self.topic_lists.stirred:
            self.topic_lists.flush()

    def may_commit(self) -> bool:
        """Whether the log can be given something now."""
        return self.in_flight is None and self.now_ms >= self.hold_until_ms

    def take_commit(self) -> Commit | None:
        """What to hand to the log now, or None. The caller reports back with ``committed`` or ``failed``."""
        if not self.may_commit():
            return None
        while not self.commit.records:
            if self.commit.empty():
                return None
            done = self.commit
            self.commit = Commit()
            for run in done.runs:
                run.topic.durable(run)
            done.tell(None)
            self.end_turn()
        commit = self.commit
        if self.counter_dirty:
            self.counter_dirty = False
            commit.records.append(Put(BROKER_STREAM, _COUNTER_KEY, _COUNTER.pack(self.counter)))
        self.commit = Commit()
        commit.began_us = self.meter.now_us
        self.in_flight = commit
        return commit

    def committed(self) -> None:
        """The commit under way is durable."""
        commit = self.in_flight
        assert commit is not None
        self.in_flight = None
        self.hold_ms = _HOLD_FIRST_MS
        self.log_error = ""
        self.meter.wrote(commit)
        last: Topic | None = None
        for run in commit.runs:
            topic = run.topic
            topic.durable(run)
            if topic is not last:
                if last is not None:
                    last.wake()
                last = topic
        if last is not None:
            last.wake()
        commit.tell(None)

    def failed(self, error: Exception) -> None:
        """The commit under way is void, and so is what has collected behind it."""
        flight = self.in_flight
        assert flight is not None
        self.in_flight = None
        behind = self.commit
        self.commit = Commit()
        self.log_error = str(error)
        self.hold_until_ms = self.now_ms + self.hold_ms
        self.hold_ms = min(self.hold_ms * 2, _HOLD_MOST_MS)
        self.timers.at(self.hold_until_ms, lambda: None)  # it only has to bring the shell's next turn about
        runs: dict[int, list[Run]] = {}
        topics: dict[int, Topic] = {}
        for commit in (flight, behind):
            for run in commit.runs:
                runs.setdefault(run.topic.stream, []).append(run)
                topics[run.topic.stream] = run.topic
            for topic in commit.topics:
                topics[topic.stream] = topic
            for sub in commit.cursors:
                sub.write_whole()
            self.commit.records += [record for record in commit.records if isinstance(record, DropStream | Drop)]
        for stream, topic in topics.items():
            topic.void(runs.get(stream, []), error)
            topic.rewrite()
        self.counter_dirty = True
        for commit in (flight, behind):
            commit.tell(error)

    def note_topic(self, topic: Topic) -> None:
        """State of the topic stands in the open commit."""
        self.commit.topics.append(topic)

    def when_durable(self, call: Callable[[Exception | None], None]) -> None:
        """Call back when everything that has happened so far is durable, or with the error when it is void."""
        self.commit.after.append(call)

    # -- log reads and metadata --------------------------------------------------------------------------------------

    def read(
        self, stream: int, offset: int, entries: int, size: int, call: Callable[[int, int, ReadDone], None]
    ) -> int:
        """Ask the log for entries; ``call`` gets the ticket, the offset wanted and the answer."""
        self.tickets += 1
        self.reads[self.tickets] = (call, offset)
        self.read_requests.append((self.tickets, stream, offset, entries, size))
        return self.tickets

    def read_done(self, answer: ReadDone) -> None:
        """The log has answered a read."""
        call, wanted = self.reads.pop(answer.ticket)
        call(answer.ticket, wanted, answer)

    def meta_write(self, path: str, value: Row | None, create: bool, call: Callable[[Exception | None], None]) -> None:
        """Ask for a row of the catalogue; when it is stored it is applied, then ``call`` hears of it."""
        self.rows.change(path, lambda before: value, create, call)

    def meta_done(self, write: MetaWrite, error: Exception | None) -> None:
        """The store has made the change, or not."""
        self.rows.stored(write, error)

    # -- time --------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Run what is due."""
        self.timers.run_due(self.now_ms)
