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
from magnetar.errors import LogFailed, MetadataFailed
from magnetar.log.memory import MemoryLog
from magnetar.ports.log import Append, Committed, DropStream, Failed, Record, Trim
from magnetar.sim.book import Author, Sent, SubBook, TopicBook, Violation
from magnetar.sim.peer import Peer
from magnetar.sim.scenario import Place, Scenario

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
        self.peer_count = 0
        self.topics: dict[str, TopicBook] = {}
        self.by_entry: dict[bytes, Sent] = {}
        self.authors: dict[str, Author] = {}
        self.messages = 0
        self.shortest_ttl_ms: int = self.options.message_ttl_ms
        """The shortest time to live that was ever asked for, 0 while none was."""
        self.deliveries = 0
        self.broken: list[Peer] = []
        """Peers that will not go on with their connection."""
        self.flushes = 0
        self.flushing = False
        self.deferred: deque[tuple[Peer, bytes, Callable[[], None] | None]] = deque()
        self.watch: Callable[[bytes], None] | None = None
        """Hears every byte that leaves the broker."""
        self.core = self._start()

    # -- the shell's part --------------------------------------------------------------------------------------------

    def _start(self) -> Broker:
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
            self._follow_cursors()
            if self.flight is None:
                commit = core.take_commit()
                if commit is not None:
                    self._follow_cursors()
                    self.flight = commit.records
                    self.log.submit(commit.records)
                    self._handed_over()
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

    def _handed_over(self) -> None:
        """Every acknowledgement said until now is in the commit that the log has got."""
        for sub in self.subs():
            sub.in_flight += sub.unsure
            sub.unsure = []
            sub.moved_in_flight = sub.moved
            if sub.acks is not None:
                sub.floor_in_flight = sub.acks.floor

    def _follow_cursors(self) -> None:
        """Was a cursor set, or taken away? The broker is asked, since whoever wanted it may be gone by now."""
        for sub in self.subs():
            if not sub.moving and not sub.leaving:
                continue
            found = self.core_sub(sub)
            if sub.moving and found is not None and found.acks is not sub.acks:
                sub.take_over(found.acks)
                sub.moved = True
            sub.moving = found is not None and found.fenced
            sub.leaving = sub.leaving and (found is None or found.acks is not sub.acks)

    def follow_floor(self) -> None:
        """What was skipped or expired on a Shared subscription is nobody's; Key_Shared consumers keep theirs."""
        for sub in self.subs():
            if sub.excused > sub.start and sub.place.kind == "Shared" and sub.acks is not None:
                for holder in sub.holders:
                    for offset in [o for o in holder.held if o < sub.acks.floor and o not in sub.acked]:
                        sub.release(holder, offset)

    def flush(self) -> None:
        """Hand everybody the frames that the broker has for them, and hang up on whom it has given up."""
        core = self.core
        self.follow_floor()
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
                for peer in self.peers:
                    if peer.session is session:
                        peer.heard(data)
            closing, core.closing = core.closing, []
            for session in closing:
                for peer in list(self.peers):
                    if peer.session is session:
                        if not peer.may_be_closed:
                            raise Violation(
                                "hung_up", f"the broker closed the connection of peer {peer.number}: {session.closing}"
                            )
                        self.cut(peer)
                core.disconnected(session)

    def cut(self, peer: Peer) -> None:
        """The connection is gone."""
        self.peers.remove(peer)
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

    def commit(self) -> bool:
        """The commit under way becomes durable; false when there is none."""
        if self.flight is None:
            return False
        self.log.step()
        self._events()
        self.turn()
        return True

    def fail_commit(self) -> None:
        """The commit under way fails, and nothing of it is ever seen."""
        if self.flight is not None:
            self.log.fail_next(1, LogFailed("the simulated disk is full"))
            self.commit()

    def read(self) -> bool:
        """The oldest read is answered; false when there is none."""
        if not self.log.step_read():
            return False
        self._events()
        self.turn()
        return True

    def _events(self) -> None:
        core = self.core
        for event in self.log.poll():
            if isinstance(event, Committed):
                records, self.flight = self.flight, None
                assert records is not None
                self._durable(records)
                core.committed()
            elif isinstance(event, Failed):
                self.flight = None
                for sub in self.subs():
                    sub.unsure = sub.in_flight + sub.unsure
                    sub.in_flight = []
                    sub.moved_in_flight = False
                core.failed(event.error)
            else:
                core.read_done(event)

    def _durable(self, records: Iterable[Record]) -> None:
        """Write into the book what is durable now."""
        for record in records:
            if isinstance(record, Append):
                topic = self.topic_of(record.stream)
                assert record.offset == len(topic.log), "the log in memory takes nothing else"
                for entry in record.entries:
                    sent = self.by_entry.get(entry)
                    if sent is None:
                        raise Violation("verbatim", f"{topic.name} stores bytes that nobody published")
                    self._stored(topic, sent)
            elif isinstance(record, Trim):
                self._trimmed(self.topic_of(record.stream), record.offset)
            elif isinstance(record, DropStream):
                for name in [name for name, topic in self.topics.items() if topic.stream == record.stream]:
                    del self.topics[name]
        for sub in self.subs():
            sub.sure.update(sub.in_flight)
            sub.in_flight = []
            sub.floor_sure = sub.floor_in_flight
            sub.moved = sub.moved and not sub.moved_in_flight

    def _stored(self, topic: TopicBook, sent: Sent) -> None:
        author = sent.author
        if sent.sequence < author.stored and self.options.deduplication:
            raise Violation("dedup", f"{sent} was stored again")
        if sent.sequence > author.stored:
            raise Violation("publish_order", f"{sent} was stored before {author.name}:{author.stored}")
        author.stored = max(author.stored, sent.sequence + sent.count)
        for sub in topic.subs.values():
            sub.append(len(topic.log), sent.key)
        topic.log.append(sent)

    def _trimmed(self, topic: TopicBook, offset: int) -> None:
        for sub in topic.subs.values():
            if sub.place.durable and not sub.leaving:
                for needed in range(max(topic.first, sub.start), offset):
                    if sub.is_open(needed):
                        raise Violation("retention", f"{topic.name} dropped {needed}, which {sub.place.name} needs")
        topic.first = max(topic.first, offset)

    def store(self, error: str = "") -> bool:
        """The oldest metadata write is durable, or refused; false when there is none."""
        if not self.writes:
            return False
        write = self.writes.popleft()
        failure: Exception | None = MetadataFailed(error) if error else None
        if failure is None and write.create and write.path in self.rows:
            failure = MetadataFailed("it is there already")
        if failure is None:
            self._put(write)
        self.core.meta_done(write, failure)
        self.turn()
        return True

    def _put(self, write: MetaWrite) -> None:
        if write.value is None:
            self.rows.pop(write.path, None)
        else:
            self.rows[write.path] = write.value

    def crash(self, keep: bool, stored: int) -> None:
        """The process is killed; the commit under way made it or not, and so did each metadata write."""
        if keep and self.flight is not None:
            self._durable(self.flight)
        self.log = self.log.crash(int(keep))
        self.flight = None
        self.checkpoint = None
        for at, write in enumerate(self.writes):
            if stored >> at & 1 and not (write.create and write.path in self.rows):
                self._put(write)
        self.writes.clear()
        for peer in self.peers:
            peer.lost()
        self.peers.clear()
        self.deferred.clear()
        self.broken.clear()
        self.core = self._start()
        for topic in self.topics.values():
            self._after_crash(topic)
        self.turn()

    def _after_crash(self, topic: TopicBook) -> None:
        """Compare what came back with what must have, and take over what was open."""
        found = self.core.topics.get(topic.name)
        if found is None:
            raise Violation("durable", f"{topic.name} is gone after a crash")
        if found.tail.end != len(topic.log):
            raise Violation(
                "durable", f"{topic.name} had {len(topic.log)} durable entries and came back with {found.tail.end}"
            )
        for name in [name for name, sub in topic.subs.items() if not sub.place.durable]:
            del topic.subs[name]
        gone: list[SubBook] = []
        for name, sub in topic.subs.items():
            core_sub = found.subscriptions.get(name)
            if sub.leaving:
                gone.append(sub)  # What is there may be another of the same name, of which nobody has heard yet.
                continue
            if core_sub is None:
                raise Violation("durable", f"subscription {name} of {topic.name} is gone after a crash")
            settled = not sub.moving and not sub.moved
            lost = [offset for offset in sub.sure if not core_sub.acks.contains(offset)]
            if core_sub.acks.floor < sub.floor_sure and settled:
                raise Violation("acked_stays", f"{name} was durable up to {sub.floor_sure}, now {core_sub.acks.floor}")
            if lost and settled:
                raise Violation("acked_stays", f"durable acknowledgements of {lost} on {name} did not survive a crash")
            gained = [
                offset
                for offset in range(sub.start, len(topic.log))
                if sub.is_open(offset) and core_sub.acks.contains(offset)
            ]
            if gained and settled:
                raise Violation("cursor", f"a crash has acknowledged {gained} on {name}, and nobody said so")
            sub.take_over(core_sub.acks)
            sub.floor_in_flight = sub.floor_sure = core_sub.acks.floor
            sub.moved = sub.moved_in_flight = False
        for sub in gone:
            self.drop_sub(sub)

    # -- what is there -----------------------------------------------------------------------------------------------

    def subs(self) -> Iterable[SubBook]:
        return [sub for topic in self.topics.values() for sub in topic.subs.values()]

    def topic_of(self, stream: int) -> TopicBook:
        """The book of a topic, by its stream in the log."""
        for topic in self.topics.values():
            if topic.stream == stream:
                return topic
        for found in self.core.topics.values():
            if found.stream == stream:
                topic = self.topics[str(found.name)] = TopicBook(str(found.name), stream)
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
