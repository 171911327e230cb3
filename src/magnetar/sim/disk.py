"""The log and the store: what becomes durable goes into the book, and what a crash leaves is compared with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from magnetar.core.catalog import MetaWrite
from magnetar.errors import LogFailed, MetadataFailed
from magnetar.ports.log import Append, Committed, DropStream, Failed, Record, Trim
from magnetar.sim.book import Sent, TopicBook, Violation
from magnetar.sim.subbook import SubBook

if TYPE_CHECKING:
    from magnetar.core.ackset import AckSet
    from magnetar.sim.world import World

__all__ = ["commit", "crash", "fail_commit", "read", "store"]


def commit(world: World) -> bool:
    """The commit under way becomes durable; false when there is none."""
    if world.flight is None:
        return False
    world.log.step()
    _events(world)
    world.turn()
    return True


def fail_commit(world: World) -> None:
    """The commit under way fails, and nothing of it is ever seen."""
    if world.flight is not None:
        world.log.fail_next(1, LogFailed("the simulated disk is full"))
        commit(world)


def read(world: World) -> bool:
    """The oldest read is answered; false when there is none."""
    if not world.log.step_read():
        return False
    _events(world)
    world.turn()
    return True


def _events(world: World) -> None:
    core = world.core
    for event in world.log.poll():
        if isinstance(event, Committed):
            records, world.flight = world.flight, None
            assert records is not None
            _durable(world, records)
            core.committed()
        elif isinstance(event, Failed):
            world.flight = None
            for sub in world.subs():
                sub.unsure = sub.in_flight + sub.unsure
                sub.in_flight = []
                sub.moved_in_flight = False
            core.failed(event.error)
        else:
            core.read_done(event)


def _durable(world: World, records: Iterable[Record]) -> None:
    """Write into the book what is durable now."""
    for record in records:
        if isinstance(record, Append):
            topic = world.topic_of(record.stream)
            assert record.offset == len(topic.log), "the log in memory takes nothing else"
            for entry in record.entries:
                sent = world.by_entry.get(entry)
                if sent is None:
                    raise Violation("verbatim", f"{topic.name} stores bytes that nobody published")
                _stored(world, topic, sent)
        elif isinstance(record, Trim):
            _trimmed(world, world.topic_of(record.stream), record.offset)
        elif isinstance(record, DropStream):
            for name in [name for name, topic in world.topics.items() if topic.stream == record.stream]:
                del world.topics[name], world.streams[record.stream]
    for sub in world.subs():
        sub.sure.update(sub.in_flight)
        sub.in_flight = []
        sub.floor_sure = sub.floor_in_flight
        sub.moved = sub.moved and not sub.moved_in_flight


def _stored(world: World, topic: TopicBook, sent: Sent) -> None:
    author = sent.author
    if topic.ended:
        raise Violation("end", f"{sent} was stored after the end of {topic.name}")
    if sent.sequence < author.stored and world.options.deduplication:
        raise Violation("dedup", f"{sent} was stored again")
    if sent.sequence > max(author.stored, author.given_up):
        raise Violation("publish_order", f"{sent} was stored before {author.name}:{author.stored}")
    author.stored = max(author.stored, sent.sequence + sent.count)
    for sub in topic.subs.values():
        sub.append(len(topic.log), sent.key)
    topic.log.append(sent)


def _trimmed(world: World, topic: TopicBook, offset: int) -> None:
    for sub in topic.subs.values():
        if sub.place.durable and not sub.leaving:
            for needed in range(max(topic.first, sub.start), offset):
                if sub.is_open(needed):
                    raise Violation("retention", f"{topic.name} dropped {needed}, which {sub.place.name} needs")
    topic.first = max(topic.first, offset)


def store(world: World, error: str = "") -> bool:
    """The oldest metadata write is durable, or refused; false when there is none."""
    if not world.writes:
        return False
    write = world.writes.popleft()
    failure: Exception | None = MetadataFailed(error) if error else None
    if failure is None and write.create and write.path in world.rows:
        failure = MetadataFailed("it is there already")
    if failure is None:
        _put(world, write)
    world.core.meta_done(write, failure)
    world.turn()
    return True


def _put(world: World, write: MetaWrite) -> None:
    if write.value is None:
        world.rows.pop(write.path, None)
    else:
        world.rows[write.path] = write.value


def crash(world: World, keep: bool, stored: int) -> None:
    """The process is killed; the commit under way made it or not, and so did each metadata write."""
    if keep and world.flight is not None:
        _durable(world, world.flight)
    world.log = world.log.crash(int(keep))
    world.flight = None
    world.checkpoint = None
    for at, write in enumerate(world.writes):
        if stored >> at & 1 and not (write.create and write.path in world.rows):
            _put(world, write)
    world.writes.clear()
    for peer in world.peers:
        peer.lost()
    world.peers.clear()
    world.by_session.clear()
    world.deferred.clear()
    world.broken.clear()
    world.core = world.start()
    for topic in world.topics.values():
        _after_crash(world, topic)
    world.turn()


def _after_crash(world: World, topic: TopicBook) -> None:
    """Compare what came back with what must have, and take over what was open."""
    found = world.core.topics.get(topic.name)
    if found is None:
        raise Violation("durable", f"{topic.name} is gone after a crash")
    if topic.ended and not found.terminated:
        raise Violation("durable", f"a crash has undone the end of {topic.name}")
    topic.ended = found.terminated
    if found.tail.end != len(topic.log):
        raise Violation(
            "durable", f"{topic.name} had {len(topic.log)} durable entries and came back with {found.tail.end}"
        )
    for sub in list(topic.subs.values()):
        if sub.leaving or not sub.place.durable:
            # What is there may be another of the same name, of which nobody has heard yet.
            world.drop_sub(sub)
            continue
        core_sub = found.subscriptions.get(sub.place.name)
        if core_sub is None:
            raise Violation("durable", f"subscription {sub.place.name} of {topic.name} is gone after a crash")
        if not sub.moving and not sub.moved:
            _same_cursor(sub, core_sub.acks)
        sub.take_over(core_sub.acks)
        sub.floor_in_flight = sub.floor_sure = core_sub.acks.floor
        sub.moved = sub.moved_in_flight = False


def _same_cursor(sub: SubBook, acks: AckSet) -> None:
    """What is durable of a cursor has come back, and nothing that nobody has said."""
    name = sub.place.name
    if acks.floor < sub.floor_sure:
        raise Violation("acked_stays", f"{name} was durable up to {sub.floor_sure}, now {acks.floor}")
    lost = [offset for offset in sorted(sub.sure) if not acks.contains(offset)]
    if lost:
        raise Violation("acked_stays", f"durable acknowledgements of {lost} on {name} did not survive a crash")
    everything = range(sub.start, len(sub.topic.log))
    gained = [offset for offset in everything if sub.is_open(offset) and acks.contains(offset)]
    if gained:
        raise Violation("cursor", f"a crash has acknowledged {gained} on {name}, and nobody said so")
