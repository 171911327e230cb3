"""The world: the core, its log, its metadata store, its clock and its peers, moved by one action at a time.

What the shell does in production is done here by hand and in small steps: frames are looked at after every stage of a
turn, so that the order in which the broker said things is the order in which the book hears of them. A commit is
durable when the action ``commit`` says so, a read is answered by ``read``, a metadata write by ``store``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from magnetar.core.broker import Broker
from magnetar.core.catalog import NAMESPACES, TENANTS, MetaWrite, encode_row
from magnetar.core.options import Options
from magnetar.core.subscription import Subscription
from magnetar.log.memory import MemoryLog
from magnetar.ports.log import Record
from magnetar.sim.book import Author, Sent, TopicBook, Violation
from magnetar.sim.cursors import follow_cursors, follow_floor, handed_over
from magnetar.sim.peer import Peer
from magnetar.sim.scenario import Place, Scenario
from magnetar.sim.subbook import SubBook

__all__ = ["START_MS", "World"]

START_MS = 1_700_000_000_000
TURNS_MAX = 10_000
"""So many stages without an end are an endless loop."""


class World:
    """See the module's text."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.options = Options()
        for name, value in scenario.options.items():
            setattr(self.options, name, value)
        self.now_ms = START_MS
        self.log = MemoryLog()
        self.rows: dict[str, bytes] = {
            TENANTS + "public": encode_row({}),
            NAMESPACES + "public/default": encode_row({}),
        }
        self.writes: deque[MetaWrite] = deque()
        self.flight: list[Record] | None = None
        self.checkpoint: tuple[int, list[str], list[tuple[int, bytes, bytes]]] | None = None
        self.peers: list[Peer] = []
        self.by_session: dict[int, Peer] = {}
        """The same, by the number of the session that the broker has for each."""
        self.peer_count = 0
        self.topics: dict[str, TopicBook] = {}
        self.streams: dict[int, TopicBook] = {}
        self.by_entry: dict[bytes, Sent] = {}
        self.authors: dict[str, Author] = {}
        self.messages = 0
        self.shortest_ttl_ms: int = self.options.message_ttl_ms
        """The shortest time to live that was ever asked for, 0 while none was."""
        self.deliveries = 0
        self.broken: list[Peer] = []
        """Peers that will not go on with their connection."""
        self.cursors_move = False
        """Somebody is setting a cursor, or taking it away."""
        self.flushes = 0
        self.flushing = False
        self.deferred: deque[tuple[Peer, bytes, Callable[[], None] | None]] = deque()
        self.watch: Callable[[bytes], None] | None = None
        """Hears every byte that leaves the broker."""
        self.core = self.start()

    # -- the shell's part --------------------------------------------------------------------------------------------

    def start(self) -> Broker:
        core = Broker(self.options, self.now_ms)
        for path, value in self.rows.items():
            core.catalog.apply(path, value)
        core.restore(self.log.recover())
        self.log.start(lambda: None)
        return core

    def turn(self) -> None:
        """What the shell does at the end of a pass of its loop, until nothing moves."""
        core = self.core
        for _ in range(TURNS_MAX):
            self.flush()
            core.end_turn()
            self.flush()
            if self.broken:
                peer = self.broken.pop()
                if peer in self.peers:
                    self.cut(peer)
                continue
            if self.deferred:
                peer, data, before = self.deferred.popleft()
                if peer in self.peers:
                    self.say(peer, data, before)
                continue
            follow_cursors(self)
            if self.flight is None:
                commit = core.take_commit()
                if commit is not None:
                    follow_cursors(self)
                    self.flight = commit.records
                    self.log.submit(commit.records)
                    handed_over(self)
            if core.read_requests:
                for request in core.read_requests:
                    self.log.read(*request)
                core.read_requests = []
            if core.meta_writes:
                self.writes.extend(core.meta_writes)
                core.meta_writes = []
            if not (core.unflushed or core.closing or core.woken or core.dirty):
                return
        raise Violation("turns", "the core goes on and on within one turn")

    def flush(self) -> None:
        """Hand everybody the frames that the broker has for them, and hang up on whom it has given up."""
        core = self.core
        if not (core.unflushed or core.closing):
            return
        follow_floor(self)
        self.flushing = True
        self.flushes += 1
        try:
            self._flush(core)
        finally:
            self.flushing = False

    def _flush(self, core: Broker) -> None:
        while core.unflushed or core.closing:
            waiting, core.unflushed = core.unflushed, []
            for session in waiting:
                data = b"".join(session.take_out())
                if self.watch is not None:
                    self.watch(data)
                peer = self.by_session.get(session.number)
                if peer is not None:
                    peer.heard(data)
            closing, core.closing = core.closing, []
            for session in closing:
                peer = self.by_session.get(session.number)
                if peer is not None:
                    if not peer.may_be_closed:
                        raise Violation("hung_up", f"the broker hung up on peer {peer.number}: {session.closing}")
                    self.cut(peer)
                core.disconnected(session)

    def cut(self, peer: Peer) -> None:
        """The connection is gone."""
        self.peers.remove(peer)
        del self.by_session[peer.session.number]
        peer.lost()
        self.core.disconnected(peer.session)

    def say(self, peer: Peer, data: bytes, before: Callable[[], None] | None = None) -> None:
        """Bytes of the peer arrive at the broker; ``before`` writes into the book what they mean."""
        if self.flushing:
            # What the broker said has to be heard to its end first.
            self.deferred.append((peer, data, before))
            return
        if before is not None:
            before()
        used = peer.session.receive(data)
        if used != len(data) and not peer.session.closing:
            raise Violation("frames", f"of {len(data)} bytes in whole frames only {used} were taken")
        self.turn()

    # -- time --------------------------------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """Time goes by; timers run when they are due, one after another."""
        end = self.now_ms + milliseconds
        for _ in range(TURNS_MAX):
            due = self.core.timers.next_due()
            if not 0 <= due <= end:
                break
            self._at(max(due, self.now_ms))
        else:
            raise Violation("turns", "timers are due without end")
        self._at(end)

    def _at(self, now_ms: int) -> None:
        self.now_ms = self.core.now_ms = now_ms
        if self.shortest_ttl_ms:
            for sub in self.subs():
                sub.excuse_older(now_ms - self.shortest_ttl_ms)
        self.core.tick()
        self.turn()

    # -- the log and the store ---------------------------------------------------------------------------------------

    # -- what is there -----------------------------------------------------------------------------------------------

    def subs(self) -> Iterable[SubBook]:
        return [sub for topic in self.topics.values() for sub in topic.subs.values()]

    def topic_of(self, stream: int) -> TopicBook:
        """The book of a topic, by its stream in the log."""
        known = self.streams.get(stream)
        if known is not None:
            return known
        for found in self.core.topics.values():
            if found.stream == stream:
                topic = self.topics[str(found.name)] = self.streams[stream] = TopicBook(str(found.name), stream)
                return topic
        raise LookupError(f"a commit names stream {stream}, which belongs to no topic")

    def core_sub(self, sub: SubBook) -> Subscription | None:
        topic = self.core.topics.get(sub.topic.name)
        return topic.subscriptions.get(sub.place.name) if topic is not None else None

    def sub_of(self, place: Place) -> SubBook | None:
        topic = self.topics.get(full(place.topic))
        return topic.subs.get(place.name) if topic is not None else None

    def new_sub(self, place: Place) -> SubBook:
        """The book of a subscription that a consumer has just been let into."""
        core_topic = self.core.topics[full(place.topic)]
        topic = self.topic_of(core_topic.stream)
        sub, core_sub = topic.subs.get(place.name), core_topic.subscriptions[place.name]
        if sub is not None and sub.acks is not core_sub.acks:
            # A reader's cursor ended with its connection, or another was taken away by a peer that has not heard of it.
            self.drop_sub(sub)
            sub = None
        if sub is None:
            sub = topic.subs[place.name] = SubBook(topic, place, core_sub.acks.floor)
            sub.older_ms = self.now_ms - self.shortest_ttl_ms if self.shortest_ttl_ms else 0
            sub.take_over(core_sub.acks)
        return sub

    def drop_sub(self, sub: SubBook) -> None:
        """The subscription was taken away."""
        for holder in list(sub.holders):
            sub.gone(holder)
        sub.end()

    def author(self, name: str, topic: str) -> Author:
        found = self.authors.get(name)
        if found is None:
            found = self.authors[name] = Author(name, topic)
        return found


def full(topic: str) -> str:
    """The full name of a topic."""
    return f"persistent://public/default/{topic}"
