"""The rules at every message and receipt: what holds at each moment, whatever happens.

Each rule is a function that takes what has just left the broker and raises a ``Violation`` when it may not have. A
delivery is judged before it is written into the book. Which rules apply to which type of subscription stands in the
table at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from magnetar.sim.book import Author, Sent, TopicBook, Violation
from magnetar.sim.subbook import Delivery

__all__ = ["DELIVERY_RULES", "judge_receipt"]

Rule = Callable[[Delivery, Mapping[str, int]], None]


def verbatim(d: Delivery, options: Mapping[str, int]) -> None:
    """Nothing is invented or altered, and an id names one message for ever."""
    if d.sent is None:
        raise Violation("verbatim", f"{d.place} was delivered with bytes that nobody published")
    d.sub.topic.named(d.place, d.offset)


def durable_first(d: Delivery, options: Mapping[str, int]) -> None:
    """Nothing is shown before it is durable."""
    log = d.sub.topic.log
    if not 0 <= d.offset < len(log):
        raise Violation("durable_first", f"offset {d.offset} was delivered, but the log ends at {len(log)}")
    if log[d.offset] is not d.sent:
        raise Violation("verbatim", f"{d.sent} was delivered as offset {d.offset}, where {log[d.offset]} stands")


def acked_stays(d: Delivery, options: Mapping[str, int]) -> None:
    """What was acknowledged is never delivered again, unless the cursor was set back."""
    if d.offset in d.sub.acked:
        raise Violation("acked_stays", f"{d.sent} at {d.offset} went to {d.holder} although it is acknowledged")


def parts_stay(d: Delivery, options: Mapping[str, int]) -> None:
    """Of a partly acknowledged batch exactly the open messages are delivered."""
    expected = d.sub.parts.get(d.offset, -1)
    if expected != d.mask:
        raise Violation("parts_stay", f"{d.sent} went out with mask {d.mask}, and {expected} is open")


def permits(d: Delivery, options: Mapping[str, int]) -> None:
    """Nobody gets an entry without a permit; an entry goes out whole, so the last one may take too many."""
    if d.holder.permits <= 0:
        raise Violation("permits", f"{d.sent} went to {d.holder}, which has {d.holder.permits} permits")


def unacked_limit(d: Delivery, options: Mapping[str, int]) -> None:
    """A consumer and a subscription hold no more unacknowledged messages than their limits say, but for one entry."""
    if not d.sub.place.durable:
        return
    most = options["max_unacked_per_consumer"]
    if most and d.holder.unacked >= most:
        raise Violation("unacked_limit", f"{d.holder} holds {d.holder.unacked} of {most} and got {d.sent}")
    most = options["max_unacked_per_subscription"]
    # What one turn sends to several consumers is heard consumer by consumer, so its end is what can be judged.
    before, now = d.sub.unacked_before, sum(holder.unacked for holder in d.sub.holders) + d.count
    if most and (before >= most or now >= most + options["batch_max"]):
        raise Violation(
            "unacked_limit", f"{d.sub.place.name} held {before}, now {now} of {most}, as {d.holder} got {d.sent}"
        )


def one_copy(d: Delivery, options: Mapping[str, int]) -> None:
    """An entry is in the hands of one consumer at a time."""
    for holder in d.sub.holders:
        if d.offset in holder.held:
            raise Violation("one_copy", f"{d.sent} went to {d.holder} while {holder} holds it")


def one_holder(d: Delivery, options: Mapping[str, int]) -> None:
    """A key is delivered, and may be unacknowledged, at one consumer at a time."""
    if d.sub.place.out_of_order or d.sent is None:
        return
    for holder in d.sub.key_holders.get(d.sent.key, ()):
        if holder is not d.holder:
            held = [offset for offset in holder.held if d.sub.topic.log[offset].key == d.sent.key]
            raise Violation("one_holder", f"{d.sent} at {d.offset} went to {d.holder} while {holder} holds {held}")


def key_order(d: Delivery, options: Mapping[str, int]) -> None:
    """When an entry goes out, whatever is open of its key before it is in the hands of the same consumer."""
    if d.sub.place.out_of_order or d.sent is None:
        return
    offsets = d.sub.open.get(d.sent.key, [])
    while offsets and not d.sub.is_open(offsets[0]):
        del offsets[0]
    for offset in offsets:
        if offset >= d.offset:
            break
        if d.sub.is_open(offset) and offset not in d.holder.held:
            earlier = d.sub.topic.log[offset]
            raise Violation("key_order", f"{d.sent} at {d.offset} went to {d.holder} before {earlier} at {offset}")


def nack_order(d: Delivery, options: Mapping[str, int]) -> None:
    """With keySharedNackOrder a key that had something given back goes out one entry at a time until that is done."""
    if not options["nack_order"] or d.sub.place.out_of_order or d.sent is None:
        return
    if not any(d.sub.is_open(offset) for offset in d.sub.nacked.get(d.sent.key, ())):
        return
    out = d.sub.single.get(d.sent.key, -1)
    if out >= d.sub.excused and any(out in holder.held for holder in d.sub.holders):
        raise Violation("nack_order", f"{d.sent} at {d.offset} went out while {out} of the same key is not done")
    d.sub.single[d.sent.key] = d.offset


def one_active(d: Delivery, options: Mapping[str, int]) -> None:
    """Only the active consumer is served, and it was told so."""
    if d.sub.place.kind == "Failover" and not d.holder.active:
        raise Violation("one_active", f"{d.sent} went to {d.holder}, which was not told that it is active")
    if d.sub.place.kind == "Exclusive" and len(d.sub.holders) > 1:
        raise Violation("one_active", f"{d.sub.place.name} is Exclusive and has {len(d.sub.holders)} consumers")


def active_order(d: Delivery, options: Mapping[str, int]) -> None:
    """The active consumer gets everything that is open, in order."""
    last = d.holder.last
    if d.offset <= last:
        raise Violation("active_order", f"{d.holder} got offset {d.offset} after {last}")
    for offset in range(max(last + 1, d.sub.start, d.sub.topic.first), d.offset):
        if d.sub.is_open(offset):
            raise Violation("active_order", f"{d.holder} got offset {d.offset} and never {offset}")


def epoch(d: Delivery, options: Mapping[str, int]) -> None:
    """After everything was given back, a message says that it was sent since: the client drops older ones."""
    if d.epoch != d.holder.epoch:
        raise Violation("epoch", f"{d.sent} went to {d.holder} in epoch {d.epoch}, and {d.holder.epoch} was asked for")


_ALL = (verbatim, durable_first, acked_stays, parts_stay, permits)

DELIVERY_RULES: dict[str, tuple[Rule, ...]] = {
    "Key_Shared": (*_ALL, unacked_limit, one_copy, one_holder, key_order, nack_order),
    "Shared": (*_ALL, unacked_limit, one_copy),
    "Failover": (*_ALL, epoch, one_active, active_order),
    "Exclusive": (*_ALL, epoch, one_active, active_order),
}


def judge_receipt(
    topic: TopicBook, author: Author, sent: Sent, place: tuple[int, int], offset: int, dedup: bool
) -> None:
    """A receipt says that the message is durable, under the id that it names."""
    if place == (-1, -1) or place == ((1 << 64) - 1, (1 << 64) - 1):
        if not dedup:
            raise Violation("receipts", f"{sent} was called a duplicate, and deduplication is off")
        if not any(other.author is author and other.sequence >= sent.sequence for other in topic.log):
            raise Violation("dedup", f"{sent} was called a duplicate, and nothing like it is durable")
        return
    if not 0 <= offset < len(topic.log) or topic.log[offset] is not sent:
        there = topic.log[offset] if 0 <= offset < len(topic.log) else "nothing"
        raise Violation("durable_first", f"{sent} has a receipt for {place}, offset {offset}, where {there} is durable")
    topic.named(place, offset)
