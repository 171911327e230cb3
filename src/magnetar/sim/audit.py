"""The audit: every few steps the broker's own books are compared with what its clients have seen."""

from __future__ import annotations

from magnetar.core.consumer import Consumer, pending_count, pending_hash
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.subscription import Subscription
from magnetar.sim.book import Holder, Violation
from magnetar.sim.cursors import follow_floor
from magnetar.sim.subbook import SubBook
from magnetar.sim.world import World

__all__ = ["audit"]


def audit(world: World) -> None:
    """Look at everything; the last rules that hold at every moment."""
    core = world.core
    follow_floor(world)
    for topic in world.topics.values():
        core_topic = core.topics.get(topic.name)
        if core_topic is None:
            continue
        if core_topic.tail.end != len(topic.log):
            raise Violation(
                "books", f"{topic.name} shows {core_topic.tail.end} entries of {len(topic.log)} durable ones"
            )
        for name, sub in topic.subs.items():
            core_sub = core_topic.subscriptions.get(name)
            if core_sub is None and sub.place.durable and not sub.leaving:
                raise Violation("books", f"{name} is gone, and nobody has taken it away")
            if core_sub is not None and core_sub.acks is sub.acks:
                _cursor(sub, core_sub)
                _consumers(world, sub, core_sub)
    for session in core.sessions.values():
        if session.pending < 0 or session.out_bytes < 0:
            raise Violation("counts", f"{session.address} counts {session.pending} pending publishes")
    if not 0 <= core.budget.used_bytes <= core.budget.limit_bytes:
        raise Violation(
            "counts", f"the tails are said to take {core.budget.used_bytes} bytes of {core.budget.limit_bytes}"
        )


def _cursor(sub: SubBook, core_sub: Subscription) -> None:
    """The cursor has what was acknowledged, and nothing else."""
    acks = core_sub.acks
    for offset in range(max(sub.start, 0 if sub.place.durable else acks.floor), len(sub.topic.log)):
        known = offset in sub.acked
        if acks.contains(offset):
            if sub.is_open(offset):
                raise Violation("cursor", f"{sub.place.name} counts {offset} as acknowledged, and nobody said so")
        elif known:
            raise Violation("cursor", f"{sub.place.name} has forgotten that {offset} is acknowledged")


def _consumers(world: World, sub: SubBook, core_sub: Subscription) -> None:
    dispatcher = core_sub.dispatcher
    active = [holder for holder in sub.holders if holder.active]
    if len(active) > 1:
        raise Violation("one_active", f"{active} all believe that they are active on {sub.place.name}")
    known = {(holder.peer, holder.id): holder for holder in sub.holders}
    numbers = [(_peer_number(world, consumer), consumer.id) for consumer in core_sub.consumers]
    for place, holder in known.items():
        if place not in numbers:
            raise Violation("books", f"{holder} believes that it is subscribed, and the broker knows nothing of it")
    for consumer in core_sub.consumers:
        found = known.get((_peer_number(world, consumer), consumer.id))
        if found is None:
            if consumer.pending or consumer.permits:
                raise Violation("books", f"{consumer.name} is served before it was let in")
            continue
        if consumer.permits != found.permits:
            raise Violation("permits", f"{found} has {found.permits} permits, and {consumer.permits} by the broker")
        if isinstance(dispatcher, PendingDispatcher):
            _pending(sub, consumer, found)
    if isinstance(dispatcher, PendingDispatcher):
        total = sum(consumer.unacked for consumer in core_sub.consumers)
        if dispatcher.unacked_total != total:
            raise Violation("counts", f"{sub.place.name} counts {dispatcher.unacked_total} unacknowledged, not {total}")
    if isinstance(dispatcher, KeyShared):
        _drains(sub, core_sub, dispatcher)


def _peer_number(world: World, consumer: Consumer) -> int:
    peer = world.by_session.get(consumer.session.number)
    return peer.number if peer is not None else -1


def _pending(sub: SubBook, consumer: Consumer, holder: Holder) -> None:
    """The broker's pending is what the consumer has in its hands."""
    pending = {offset: pending_count(word) for offset, word in consumer.pending.items()}
    if pending != holder.held:
        only = {offset: count for offset, count in pending.items() if holder.held.get(offset) != count}
        lost = {offset: count for offset, count in holder.held.items() if pending.get(offset) != count}
        raise Violation("books", f"{holder} holds {lost}, and by the broker {only}")
    if consumer.unacked != sum(pending.values()):
        raise Violation("counts", f"{holder} has {consumer.unacked} unacknowledged of {sum(pending.values())}")


def _drains(sub: SubBook, core_sub: Subscription, dispatcher: KeyShared) -> None:
    """What drains is what is held by consumers that do not own its slot, and no more."""
    if not dispatcher.ordered:
        return
    expected: dict[int, int] = {}
    for consumer in core_sub.consumers:
        for word in consumer.pending.values():
            slot = dispatcher.selector.slot_of(pending_hash(word))
            if dispatcher.owner(slot) is not consumer:
                expected[slot] = expected.get(slot, 0) + 1
    if dispatcher.drains.active != len(expected):
        raise Violation("drains", f"{dispatcher.drains.active} slots are said to drain, and {len(expected)} do")
    for slot, count in expected.items():
        if dispatcher.drains.count(slot) != count:
            raise Violation(
                "drains", f"slot {slot} counts {dispatcher.drains.count(slot)} entries that drain, not {count}"
            )
