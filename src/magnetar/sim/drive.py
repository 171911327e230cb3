"""What each action does. The table at the end has them all; a number that finds nothing to act on does nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from magnetar.core.broker import BROKER_STREAM
from magnetar.core.catalog import NAMESPACES, Row
from magnetar.core.policies.follow import options_changed
from magnetar.core.subscription import Subscription
from magnetar.core.topic_ops import disconnect, expire_before, skip
from magnetar.errors import MagnetarError
from magnetar.sim.actions import Action
from magnetar.sim.book import Author, Holder, Sent, SubBook, Violation
from magnetar.sim.peer import Peer, make_entry
from magnetar.sim.world import World

__all__ = ["apply"]

PEERS_MAX = 8
CONSUMERS_MAX = 6
NAMES = 4
QUARTER = 16_384


def apply(world: World, action: Action) -> None:
    """Carry the action out, and let a little time go by."""
    name, a, b, c = action
    _TABLE[name](world, a, b, c)
    if a & 3 == 0:
        world.advance(1 + (b & 3))


# -- choosing ----------------------------------------------------------------------------------------------------------


def _peer(world: World, pick: int) -> Peer:
    """A living peer, or a new one; one number in three asks for a new one, while there are few."""
    living = [peer for peer in world.peers if not peer.ghost]
    if not living or (pick % 3 == 0 and len(living) < PEERS_MAX):
        return Peer(world)
    return living[pick % len(living)]


def _holders(world: World) -> list[tuple[Peer, Holder]]:
    return [
        (peer, holder)
        for peer in world.peers
        if not peer.ghost
        for holder in peer.consumers.values()
        if not holder.leaving
    ]


def _holder(world: World, pick: int) -> tuple[Peer, Holder] | None:
    found = _holders(world)
    return found[pick % len(found)] if found else None


def _handy(world: World, pick: int) -> tuple[Peer, Holder] | None:
    """A consumer that has something in its hands and is not stalled."""
    found = [(peer, holder) for peer, holder in _holders(world) if holder.held and not holder.stalled]
    return found[pick % len(found)] if found else None


def _sub(world: World, pick: int) -> tuple[SubBook, Subscription] | None:
    found = [sub for sub in world.subs() if sub.place.durable]
    if not found:
        return None
    sub = found[pick % len(found)]
    core_sub = world.core_sub(sub)
    return (sub, core_sub) if core_sub is not None and core_sub.acks is sub.acks else None


# -- clients -----------------------------------------------------------------------------------------------------------


def _join(world: World, a: int, b: int, c: int) -> None:
    places = world.scenario.places
    place = places[a % len(places)]
    peer = _peer(world, b)
    there = sum(place.name == name for one in world.peers for name in one.opening.values())
    sub = world.sub_of(place)
    if there + (len(sub.holders) if sub is not None else 0) >= CONSUMERS_MAX:
        return
    ranges = None
    if place.sticky:
        first = c % 4 * QUARTER
        ranges = [(first, first + QUARTER - 1)]
    peer.subscribe(place, f"c{c % NAMES}", ranges, latest=c % 11 == 0)


def _publish(world: World, a: int, b: int, c: int) -> None:
    topics = sorted({place.topic for place in world.scenario.places})
    topic = topics[a % len(topics)]
    author = world.author(f"p{b % 3}-{topic}", topic)
    for peer in world.peers:
        if author.name in peer.producing and not peer.ghost:
            if peer.producing[author.name] in peer.producers:
                peer.publish(author, [_new(world, author, c >> n) for n in range(1 + c % 5)])
            return
    _peer(world, c).open_producer(author)


def _new(world: World, author: Author, pick: int) -> Sent:
    key = f"k{pick % world.scenario.keys}"
    count = 1 + pick % world.scenario.batch_max
    world.messages += 1
    sent = Sent(author, world.messages, author.sequence, key, count, world.now_ms)
    author.sequence += count
    sent.entry = make_entry(sent)
    world.by_entry[sent.entry] = sent
    return sent


def _flow(world: World, a: int, b: int, c: int) -> None:
    found = _holder(world, a)
    if found is not None:
        found[0].flow(found[1], 1 + b % world.scenario.flow_max)


def _ack(world: World, a: int, b: int, c: int) -> None:
    found = _handy(world, a)
    if found is None:
        return
    peer, holder = found
    held = list(holder.held)
    # Mostly the oldest, as clients do; sometimes any.
    first = b % len(held) if b % 4 == 0 else 0
    receipt = c % 3 == 0
    if holder.sub.place.kind in ("Exclusive", "Failover") and c % 5 < 2:
        peer.ack_to(holder, max(held[: first + 1]), receipt)
    elif holder.sub.topic.log[held[first]].count > 1 and c % 2:
        # A client's mask only loses bits, down to zero.
        left = holder.sub.parts.get(held[first], (1 << holder.sub.topic.log[held[first]].count) - 1)
        left &= holder.said.get(held[first], -1) & (b >> 4)
        holder.said[held[first]] = left
        peer.ack_part(holder, held[first], left)
    else:
        peer.ack(holder, held[first : first + 1 + c % 4], receipt)


def _nack(world: World, a: int, b: int, c: int) -> None:
    found = _handy(world, a)
    if found is not None:
        held = list(found[1].held)
        first = b % len(held)
        found[0].give_back(found[1], held[first : first + 1 + c % 3])


def _redeliver_all(world: World, a: int, b: int, c: int) -> None:
    found = _holder(world, a)
    if found is not None:
        found[0].give_back(found[1], None)


def _close_consumer(world: World, a: int, b: int, c: int) -> None:
    found = _holder(world, a)
    if found is not None:
        found[0].close_consumer(found[1])


def _close_producer(world: World, a: int, b: int, c: int) -> None:
    found = [(peer, author) for peer in world.peers if not peer.ghost for author in peer.producers.values()]
    if found:
        peer, author = found[a % len(found)]
        peer.close_producer(author)


def _unsubscribe(world: World, a: int, b: int, c: int) -> None:
    found = _holder(world, a)
    if found is not None:
        found[0].unsubscribe(found[1])


def _seek(world: World, a: int, b: int, c: int) -> None:
    found = _holder(world, a)
    if found is None or found[1].sub.moving:
        return
    peer, holder = found
    topic = holder.sub.topic
    known = [offset for offset in topic.ids if offset >= topic.first]
    if c % 2 and known:
        peer.seek(holder, known[b % len(known)], 0)
    else:
        peer.seek(holder, -1, world.now_ms - b % 2_000)


def _stall(world: World, a: int, b: int, c: int) -> None:
    """A consumer acknowledges nothing for a while, or goes on."""
    found = _holder(world, a)
    if found is not None:
        found[1].stalled = not found[1].stalled


# -- connections -------------------------------------------------------------------------------------------------------


def _cut(world: World, a: int, b: int, c: int) -> None:
    if world.peers:
        world.cut(world.peers[a % len(world.peers)])
        world.turn()


def _ghost(world: World, a: int, b: int, c: int) -> None:
    """The peer is gone, and the broker does not know."""
    if world.peers:
        peer = world.peers[a % len(world.peers)]
        peer.ghost = peer.may_be_closed = True


def _lag(world: World, a: int, b: int, c: int) -> None:
    if world.peers:
        peer = world.peers[a % len(world.peers)]
        peer.lagging = not peer.lagging
        # What arrives late may be too late: silence ends a connection, and so does a SEND for a producer long gone.
        peer.may_be_closed = True


def _deliver(world: World, a: int, b: int, c: int) -> None:
    late = [peer for peer in world.peers if peer.outbox]
    if late:
        late[a % len(late)].deliver(1 + b % 8)


def _slow(world: World, a: int, b: int, c: int) -> None:
    """A peer does not read for a while, or reads again."""
    if world.peers:
        peer = world.peers[a % len(world.peers)]
        peer.slow = not peer.slow
        if peer.slow:
            peer.session.pause()
        else:
            peer.session.resume()
        world.turn()


# -- operators ---------------------------------------------------------------------------------------------------------


def _operate(world: World, operation: Callable[[], object]) -> None:
    """What the admin interface does: a refusal is an answer."""
    with contextlib.suppress(MagnetarError):
        operation()
    world.turn()


def _ignore(error: Exception | None) -> None:
    """Nobody waits for this."""


def _lasting(sub: SubBook, floor: int) -> Callable[[Exception | None], None]:
    """An answer that comes only when it is durable that nothing below ``floor`` will be delivered again."""
    acks = sub.acks

    def answered(error: Exception | None) -> None:
        if (
            error is None
            and sub.acks is acks
            and not (sub.moving or sub.leaving)
            and sub.floor_sure < floor > sub.start
        ):
            raise Violation("durable_first", f"{sub.place.name} was moved to {floor}, durable is {sub.floor_sure}")

    return answered


def _skip(world: World, a: int, b: int, c: int) -> None:
    found = _sub(world, a)
    if found is None:
        return
    sub, core_sub = found
    opens = [offset for offset in range(core_sub.acks.floor, len(sub.topic.log)) if not core_sub.acks.contains(offset)]
    count = b % 6
    if c % 8 == 0 or count >= len(opens):
        count, floor = -1, len(sub.topic.log)
    else:
        floor = opens[count]
    sub.excused = max(sub.excused, floor)
    _operate(world, partial(skip, core_sub, count, _lasting(sub, floor)))


def _expire(world: World, a: int, b: int, c: int) -> None:
    found = _sub(world, a)
    if found is None:
        return
    sub, core_sub = found
    before_ms = world.now_ms - b % 300
    sub.excuse_older(before_ms)
    log, floor = sub.topic.log, core_sub.acks.floor
    while floor < len(log) and log[floor].published_ms < before_ms:
        floor += 1
    _operate(world, partial(expire_before, core_sub, before_ms, _lasting(sub, floor)))


def _disconnect(world: World, a: int, b: int, c: int) -> None:
    found = _sub(world, a)
    if found is not None:
        disconnect(found[1], f"c{b % NAMES}")
        world.turn()


_POLICIES = ("max_unacked_messages_per_consumer", "max_unacked_messages_per_subscription", "message_ttl_in_seconds")


def _policy(world: World, a: int, b: int, c: int) -> None:
    name, value = _POLICIES[a % len(_POLICIES)], (None, 0, 3, 10)[b % 4]
    if name == "message_ttl_in_seconds" and value:
        world.shortest_ttl_ms = min(world.shortest_ttl_ms or value * 1000, value * 1000)

    def change(row: Row | None) -> Row | None:
        changed = {**(row or {}), name: value}
        return {key: found for key, found in changed.items() if found is not None}

    _operate(world, partial(world.core.rows.change, NAMESPACES + "public/default", change, False, _ignore))


_OPTIONS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("key_shared_unblocking_ms", (0, 10, 100)),
    ("key_shared_drain_lease_ms", (0, 100)),
    ("look_ahead_per_consumer", (1, 4, 100)),
    ("look_ahead_per_subscription", (2, 10, 1_000)),
    ("round_robin_entries", (1, 20)),
)


def _option(world: World, a: int, b: int, c: int) -> None:
    name, values = _OPTIONS[a % len(_OPTIONS)]
    setattr(world.options, name, values[b % len(values)])
    options_changed(world.core)
    world.turn()


# -- the world ---------------------------------------------------------------------------------------------------------


def _commit(world: World, a: int, b: int, c: int) -> None:
    for _ in range(1 + a % 3):
        world.commit()


def _read(world: World, a: int, b: int, c: int) -> None:
    for _ in range(1 + a % 3):
        world.read()


def _store(world: World, a: int, b: int, c: int) -> None:
    world.store()


def _time(world: World, a: int, b: int, c: int) -> None:
    world.advance((5, 20, 20, 100, 1_000, 20_000)[min(a % 24, 5)] + b % 10)


def _checkpoint(world: World, a: int, b: int, c: int) -> None:
    """Begin a checkpoint, collect another topic's state for it, or write it down."""
    core = world.core
    if world.checkpoint is None:
        world.checkpoint = (world.log.begin_checkpoint(), list(core.topics), list(core.states()))
        return
    token, names, state = world.checkpoint
    if not names:
        world.log.finish_checkpoint(token, state)
        world.checkpoint = None
        return
    topic = core.topics.get(names.pop(0))
    if topic is not None and topic.stream != BROKER_STREAM:
        state.extend(topic.states())


def _fail_log(world: World, a: int, b: int, c: int) -> None:
    world.fail_commit()


def _fail_store(world: World, a: int, b: int, c: int) -> None:
    world.store("the simulated store is away")


def _crash(world: World, a: int, b: int, c: int) -> None:
    world.crash(bool(a & 1), b)


_TABLE: dict[str, Callable[[World, int, int, int], None]] = {
    "join": _join,
    "publish": _publish,
    "flow": _flow,
    "ack": _ack,
    "nack": _nack,
    "redeliver_all": _redeliver_all,
    "close_consumer": _close_consumer,
    "close_producer": _close_producer,
    "unsubscribe": _unsubscribe,
    "seek": _seek,
    "stall": _stall,
    "cut": _cut,
    "ghost": _ghost,
    "lag": _lag,
    "deliver": _deliver,
    "slow": _slow,
    "skip": _skip,
    "expire": _expire,
    "disconnect": _disconnect,
    "policy": _policy,
    "option": _option,
    "commit": _commit,
    "read": _read,
    "store": _store,
    "time": _time,
    "checkpoint": _checkpoint,
    "fail_log": _fail_log,
    "fail_store": _fail_store,
    "crash": _crash,
}
