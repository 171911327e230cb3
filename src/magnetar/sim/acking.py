"""Acknowledgements of simulated clients: single, cumulative, in part, with a receipt or without; and giving back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from magnetar.sim.book import Holder, Violation
from magnetar.wire.commands import encode, pb

if TYPE_CHECKING:
    from magnetar.sim.peer import Peer

__all__ = ["ack", "ack_part", "ack_to", "give_back"]


def ack(peer: Peer, holder: Holder, offsets: list[int], receipt: bool) -> None:
    """Acknowledge whole entries."""
    message = pb.CommandAck(consumer_id=holder.id, ack_type=0)  # type: ignore[arg-type]
    for offset in offsets:
        holder.sub.topic.write_id(message.message_id.add(), offset)

    def before() -> None:
        if not holder.closed:
            for offset in offsets:
                holder.sub.ack(offset)

    _say_ack(peer, message, holder, offsets, receipt, before)


def ack_to(peer: Peer, holder: Holder, last: int, receipt: bool) -> None:
    """Acknowledge everything up to ``last``."""
    message = pb.CommandAck(consumer_id=holder.id, ack_type=1)  # type: ignore[arg-type]
    holder.sub.topic.write_id(message.message_id.add(), last)
    sub = holder.sub

    def before() -> None:
        if not holder.closed:
            for offset in range(sub.start, last + 1):
                sub.ack(offset)

    _say_ack(peer, message, holder, [last], receipt, before)


def ack_part(peer: Peer, holder: Holder, offset: int, mask: int) -> None:
    """Acknowledge those messages of a batch whose bits are not in the mask."""
    message = pb.CommandAck(consumer_id=holder.id, ack_type=0)  # type: ignore[arg-type]
    place = message.message_id.add()
    holder.sub.topic.write_id(place, offset)
    place.ack_set.append(mask)
    sub = holder.sub

    def before() -> None:
        if holder.closed or (mask and not peer.world.options.batch_index_ack):
            return
        if offset in sub.acked:
            return
        left = sub.parts.get(offset, (1 << sub.topic.log[offset].count) - 1) & mask
        if left:
            sub.parts[offset] = left
            for other in sub.holders:
                if offset in other.held:
                    sub.hold(other, offset, left.bit_count())
        else:
            sub.ack(offset)

    peer.say(encode(message), before)


def _say_ack(
    peer: Peer, message: Any, holder: Holder, offsets: list[int], receipt: bool, before: Callable[[], None]
) -> None:
    if not receipt:
        peer.say(encode(message), before)
        return
    sub = holder.sub

    def durable(reply: Any) -> None:
        if reply.HasField("error") or not sub.place.durable or sub.moving:
            return
        unsure = [offset for offset in offsets if offset in sub.acked and offset not in sub.sure]
        early = [offset for offset in unsure if offset >= sub.floor_sure]
        if early:
            raise Violation("durable_first", f"acknowledgements of {early} have a receipt and are not durable")

    peer.ask(message, durable, before)


def give_back(peer: Peer, holder: Holder, offsets: list[int] | None) -> None:
    """Ask for entries again, or for everything."""
    message = pb.CommandRedeliverUnacknowledgedMessages(consumer_id=holder.id)
    if offsets is None and holder.sub.place.kind in ("Exclusive", "Failover"):
        holder.asked += 1
        message.consumer_epoch = holder.asked
    for offset in offsets or ():
        holder.sub.topic.write_id(message.message_ids.add(), offset)

    def before() -> None:
        if holder.closed:
            return
        if holder.sub.place.kind in ("Shared", "Key_Shared"):
            for offset in list(holder.held) if offsets is None else offsets:
                holder.sub.give_back(holder, offset)
        else:
            holder.last = -1
            holder.epoch += offsets is None

    peer.say(encode(message), before)
