"""Quiet: faults stop, everybody reads, acknowledges and asks for more, until there is nothing left to do.

What can be delivered must be delivered then. Afterwards nothing is held, nothing is owed, and every counter is zero.
"""

from __future__ import annotations

from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.subscription import Subscription
from magnetar.sim.acking import ack
from magnetar.sim.audit import audit
from magnetar.sim.book import Violation
from magnetar.sim.consuming import flow, subscribe
from magnetar.sim.disk import commit, read, store
from magnetar.sim.doing.clients import QUARTER
from magnetar.sim.peer import Peer
from magnetar.sim.publishing import open_producer
from magnetar.sim.scenario import Place
from magnetar.sim.subbook import SubBook
from magnetar.sim.world import World, full

__all__ = ["quiet"]

ROUNDS_MAX = 400
PATIENCE = 60
"""Rounds without any delivery, on average 200 ms each, after which nothing more can be expected."""


def quiet(world: World) -> None:
    """See the module's text."""
    _mend(world)
    _settle(world)
    for author in list(world.authors.values()):
        if author.unanswered and not any(author.name in peer.producing for peer in world.peers):
            open_producer(Peer(world), author)
    _settle(world)
    for place in world.scenario.places:
        _attend(world, place)
    idle, seen = 0, -1
    for turn in range(ROUNDS_MAX):
        _settle(world)
        _serve(world)
        _settle(world)
        done = all(_done(world, place) for place in world.scenario.places)
        if done or idle >= PATIENCE:
            break
        idle = idle + 1 if world.deliveries == seen else 0
        seen = world.deliveries
        if idle % 20 == 19:
            for place in world.scenario.places:
                _attend(world, place)
        world.advance(20 if turn % 10 else 1_500)
    world.advance(200)
    _settle(world)
    audit(world)
    for place in world.scenario.places:
        _judge(world, place)
    for peer in world.peers:
        if peer.requests:
            raise Violation("answers", f"peer {peer.number} has {len(peer.requests)} requests without an answer")
    for author in world.authors.values():
        if author.unanswered:
            raise Violation("answers", f"{author.name} has no receipt for {author.unanswered[0]}")


def _mend(world: World) -> None:
    """Nobody is away, late or slow any more."""
    for peer in list(world.peers):
        if peer.ghost:
            world.cut(peer)
    for peer in list(world.peers):
        peer.lagging = False
        while peer.outbox and peer in world.peers:
            peer.deliver(1)
        if peer.slow:
            peer.slow = False
            peer.session.resume()
        for holder in peer.consumers.values():
            holder.stalled = False
    world.turn()
    _settle(world)


def _settle(world: World) -> None:
    """Whatever is under way comes to its end."""
    for _ in range(10_000):
        if not (commit(world) or read(world) or store(world)):
            if world.core.commit.empty() or world.core.may_commit():
                return
            world.advance(max(world.core.hold_until_ms - world.now_ms, 1))
    raise Violation("turns", "the log and the store are never done")


def _attend(world: World, place: Place) -> None:
    """Somebody must be there to take what waits."""
    topic = world.core.topics.get(full(place.topic))
    if topic is None or (place.durable and place.name not in topic.subscriptions):
        return
    core_sub = topic.subscriptions.get(place.name)
    there = list(core_sub.consumers) if core_sub is not None else []
    if place.sticky:
        covered = [first // QUARTER for consumer in there for first, _ in consumer.key_ranges]
        for quarter in range(4):
            if quarter not in covered:
                first = quarter * QUARTER
                subscribe(Peer(world), place, f"q{quarter}", [(first, first + QUARTER - 1)], latest=False)
                _settle(world)
    elif not there:
        subscribe(Peer(world), place, "last", None, latest=False)
        _settle(world)


def _serve(world: World) -> None:
    """Everybody acknowledges all that it holds and asks for more."""
    for peer in list(world.peers):
        for holder in list(peer.consumers.values()):
            if holder.held:
                ack(peer, holder, list(holder.held), receipt=False)
            if not holder.closed and holder.permits < 20:
                flow(peer, holder, 50)


def _core_sub(world: World, place: Place) -> Subscription | None:
    topic = world.core.topics.get(full(place.topic))
    return topic.subscriptions.get(place.name) if topic is not None else None


def _done(world: World, place: Place) -> bool:
    core_sub = _core_sub(world, place)
    if core_sub is None or not core_sub.durable:
        return True
    return core_sub.backlog() == 0 and all(not consumer.pending for consumer in core_sub.consumers)


def _judge(world: World, place: Place) -> None:
    core_sub = _core_sub(world, place)
    if core_sub is None:
        return
    sub: SubBook | None = world.sub_of(place)
    if core_sub.durable and core_sub.backlog():
        floor = core_sub.acks.floor
        raise Violation(
            "liveness", f"{place.name} ({place.kind}) is stuck with {core_sub.backlog()} entries from {floor} on"
        )
    if sub is not None:
        for holder in sub.holders:
            if sub.topic.ended and place.durable and not holder.end_told:
                raise Violation("end", f"{holder} was never told of the end of {sub.topic.name}")
        held = [holder for holder in sub.holders if holder.held and place.kind in ("Shared", "Key_Shared")]
        if held:
            raise Violation("at_rest", f"{held[0]} still holds {held[0].held}")
    dispatcher = core_sub.dispatcher
    if isinstance(dispatcher, PendingDispatcher):
        left = {"unacked": dispatcher.unacked(), "waiting": dispatcher.waiting(), "draining": dispatcher.draining()}
        if any(left.values()):
            raise Violation("at_rest", f"{place.name} has nothing to do and counts {left}")
        if dispatcher.redelivered:
            raise Violation("at_rest", f"{place.name} keeps redelivery counts of {dispatcher.redelivered}")
    if isinstance(dispatcher, KeyShared) and (dispatcher.nacked or dispatcher.holding or dispatcher.freed):
        raise Violation("at_rest", f"{place.name} keeps {dispatcher.nacked}, {dispatcher.holding}, {dispatcher.freed}")
