"""Consumers of simulated clients: they come, ask for messages, get them, set the cursor, and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magnetar.sim.book import Holder, Violation
from magnetar.sim.rules import DELIVERY_RULES
from magnetar.sim.subbook import Delivery, SubBook
from magnetar.wire.commands import encode, pb

if TYPE_CHECKING:
    from magnetar.sim.peer import Peer
    from magnetar.sim.scenario import Place

__all__ = ["active_changed", "close_consumer", "end_told", "flow", "message_came", "seek", "subscribe", "unsubscribe"]

KINDS = ("Exclusive", "Shared", "Failover", "Key_Shared")


def subscribe(peer: Peer, place: Place, name: str, ranges: list[tuple[int, int]] | None, latest: bool) -> None:
    """Ask to be let in. The answer makes the consumer a holder."""
    peer.ids += 1
    ident = peer.ids
    message = pb.CommandSubscribe(
        topic=f"persistent://public/default/{place.topic}",
        subscription=place.name,
        subType=KINDS.index(place.kind),  # type: ignore[arg-type]
        consumer_id=ident,
        consumer_name=name,
        initialPosition=0 if latest else 1,  # type: ignore[arg-type]
        durable=place.durable,
    )
    if place.kind == "Key_Shared":
        message.keySharedMeta.keySharedMode = 1 if place.sticky else 0  # type: ignore[assignment]
        message.keySharedMeta.allowOutOfOrderDelivery = place.out_of_order
        for first, last in ranges or ():
            message.keySharedMeta.hashRanges.add(start=first, end=last)
    peer.opening[ident] = place.name

    def answered(reply: Any) -> None:
        del peer.opening[ident]
        if isinstance(reply, pb.CommandSuccess):
            sub = peer.world.new_sub(place)
            holder = Holder(sub, peer.number, ident, name)
            holder.active = peer.told_active.get(ident, False)
            peer.consumers[ident] = holder
            sub.holders.append(holder)

    peer.ask(message, answered)


def flow(peer: Peer, holder: Holder, permits: int) -> None:
    """Ask for more messages."""

    def before() -> None:
        if not holder.closed:
            holder.permits += permits

    peer.say(encode(pb.CommandFlow(consumer_id=holder.id, messagePermits=permits)), before)


def close_consumer(peer: Peer, holder: Holder) -> None:
    """Leave; what is held goes to others."""
    holder.leaving = True

    def before() -> None:
        peer.consumers.pop(holder.id, None)
        holder.sub.gone(holder)

    peer.ask(pb.CommandCloseConsumer(consumer_id=holder.id), lambda reply: None, before)


def unsubscribe(peer: Peer, holder: Holder) -> None:
    """Take the subscription away."""
    world, sub = peer.world, holder.sub

    def answered(reply: Any) -> None:
        if isinstance(reply, pb.CommandSuccess):
            world.drop_sub(sub)

    def before() -> None:
        sub.leaving = world.cursors_move = True

    peer.ask(pb.CommandUnsubscribe(consumer_id=holder.id), answered, before)


def seek(peer: Peer, holder: Holder, offset: int, published_ms: int) -> None:
    """Set the cursor to an entry, or to a time when ``offset`` is below zero."""
    sub = holder.sub
    message = pb.CommandSeek(consumer_id=holder.id)
    if offset >= 0:
        holder.sub.topic.write_id(message.message_id, offset)
    else:
        message.message_publish_time = published_ms

    def before() -> None:
        if not holder.closed and not sub.leaving:
            sub.moving = peer.world.cursors_move = True

    def answered(reply: Any) -> None:
        if isinstance(reply, pb.CommandSuccess) and sub.place.durable and sub.moved:
            raise Violation("durable_first", f"the cursor of {sub.place.name} is set, and that is not durable")

    peer.ask(message, answered, before)


def message_came(peer: Peer, message: Any, entry: bytes) -> None:
    """A MESSAGE has left the broker: the rules judge it, then it stands in the book."""
    world = peer.world
    holder = peer.consumers.get(message.consumer_id)
    if holder is None:
        raise Violation(
            "deliveries", f"peer {peer.number} got a message for consumer {message.consumer_id}, which it has not"
        )
    sub = holder.sub
    place = (message.message_id.ledgerId, message.message_id.entryId)
    core_topic = world.core.topics[sub.topic.name]
    offset = core_topic.ledgers.offset(*place)
    mask = -1
    for at, word in enumerate(message.ack_set):
        mask = (0 if mask < 0 else mask) | (word & ((1 << 64) - 1)) << 64 * at
    delivery = Delivery(
        holder, place, offset, world.by_entry.get(entry), mask, message.redelivery_count, message.consumer_epoch
    )
    policies = core_topic.policies
    limits = {
        "max_unacked_per_consumer": policies.max_unacked_per_consumer,
        "max_unacked_per_subscription": policies.max_unacked_per_subscription,
        "nack_order": world.options.key_shared_nack_order,
        "batch_max": world.scenario.batch_max,
    }
    _excuse_reader(peer, sub)
    if sub.turn != world.flushes:
        sub.turn = world.flushes
        sub.unacked_before = sum(one.unacked for one in sub.holders)
    for rule in DELIVERY_RULES[sub.place.kind]:
        rule(delivery, limits)
    holder.permits -= delivery.count
    holder.last = offset
    holder.said.pop(offset, None)
    sub.hold(holder, offset, delivery.count)
    world.deliveries += 1


def _excuse_reader(peer: Peer, sub: SubBook) -> None:
    """Retention asks no reader: what it has dropped need not be delivered."""
    if not sub.place.durable:
        sub.excused = max(sub.excused, peer.world.core.topics[sub.topic.name].first_offset)


def active_changed(peer: Peer, ident: int, active: bool) -> None:
    """The consumer is told whether it is the active one."""
    peer.told_active[ident] = active
    holder = peer.consumers.get(ident)
    if holder is not None:
        holder.active = active
        holder.last = -1


def end_told(peer: Peer, ident: int) -> None:
    """The consumer hears that nothing more will come: once, and when nothing is left for it."""
    holder = peer.consumers.get(ident)
    if holder is None:
        raise Violation("deliveries", f"peer {peer.number} hears of an end for consumer {ident}, which it has not")
    sub = holder.sub
    if holder.end_told or not sub.topic.ended:
        raise Violation("end", f"{holder} hears of the end {'twice' if holder.end_told else 'before it is durable'}")
    _excuse_reader(peer, sub)
    left = [offset for offset in range(max(sub.start, sub.topic.first), len(sub.topic.log)) if sub.is_open(offset)]
    if left:
        raise Violation("end", f"{holder} hears of the end, and {left} are open")
    holder.end_told = True
