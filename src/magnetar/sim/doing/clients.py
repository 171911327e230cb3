"""What clients do: come and go, publish, ask for messages, acknowledge them or give them back, set the cursor."""

from __future__ import annotations

from magnetar.sim.acking import ack, ack_part, ack_to, give_back
from magnetar.sim.book import Author, Sent
from magnetar.sim.consuming import close_consumer, flow, seek, subscribe, unsubscribe
from magnetar.sim.doing.pick import Act, pick_handy, pick_holder, pick_peer
from magnetar.sim.publishing import close_producer, make_entry, open_producer, publish
from magnetar.sim.world import World

__all__ = ["CLIENTS", "QUARTER"]

CONSUMERS_MAX = 6
NAMES = 4
QUARTER = 16_384


def _join(world: World, a: int, b: int, c: int) -> None:
    places = world.scenario.places
    place = places[a % len(places)]
    peer = pick_peer(world, b)
    there = sum(place.name == name for one in world.peers for name in one.opening.values())
    sub = world.sub_of(place)
    if there + (len(sub.holders) if sub is not None else 0) >= CONSUMERS_MAX:
        return
    ranges = None
    if place.sticky:
        first = c % 4 * QUARTER
        ranges = [(first, first + QUARTER - 1)]
    subscribe(peer, place, f"c{c % NAMES}", ranges, latest=c % 11 == 0)


def _publish(world: World, a: int, b: int, c: int) -> None:
    topics = sorted({place.topic for place in world.scenario.places})
    topic = topics[a % len(topics)]
    author = world.author(f"p{b % 3}-{topic}", topic)
    for peer in world.peers:
        if author.name in peer.producing and not peer.ghost:
            if peer.producing[author.name] in peer.producers:
                publish(peer, author, [_new(world, author, c >> n) for n in range(1 + c % 5)])
            return
    open_producer(pick_peer(world, c), author)


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
    found = pick_holder(world, a)
    if found is not None:
        flow(*found, 1 + b % world.scenario.flow_max)


def _ack(world: World, a: int, b: int, c: int) -> None:
    found = pick_handy(world, a)
    if found is None:
        return
    peer, holder = found
    held = list(holder.held)
    # Mostly the oldest, as clients do; sometimes any.
    first = b % len(held) if b % 4 == 0 else 0
    receipt = c % 3 == 0
    if holder.sub.place.kind in ("Exclusive", "Failover") and c % 5 < 2:
        ack_to(peer, holder, max(held[: first + 1]), receipt)
    elif holder.sub.topic.log[held[first]].count > 1 and c % 2:
        # A client's mask only loses bits, down to zero.
        left = holder.sub.parts.get(held[first], (1 << holder.sub.topic.log[held[first]].count) - 1)
        left &= holder.said.get(held[first], -1) & (b >> 4)
        holder.said[held[first]] = left
        ack_part(peer, holder, held[first], left)
    else:
        ack(peer, holder, held[first : first + 1 + c % 4], receipt)


def _nack(world: World, a: int, b: int, c: int) -> None:
    found = pick_handy(world, a)
    if found is not None:
        held = list(found[1].held)
        first = b % len(held)
        give_back(*found, held[first : first + 1 + c % 3])


def _redeliver_all(world: World, a: int, b: int, c: int) -> None:
    found = pick_holder(world, a)
    if found is not None:
        give_back(*found, None)


def _close_consumer(world: World, a: int, b: int, c: int) -> None:
    found = pick_holder(world, a)
    if found is not None:
        close_consumer(*found)


def _close_producer(world: World, a: int, b: int, c: int) -> None:
    found = [(peer, author) for peer in world.peers if not peer.ghost for author in peer.producers.values()]
    if found:
        peer, author = found[a % len(found)]
        close_producer(peer, author)


def _unsubscribe(world: World, a: int, b: int, c: int) -> None:
    found = pick_holder(world, a)
    if found is not None:
        unsubscribe(*found)


def _seek(world: World, a: int, b: int, c: int) -> None:
    found = pick_holder(world, a)
    if found is None or found[1].sub.moving:
        return
    peer, holder = found
    topic = holder.sub.topic
    known = [offset for offset in topic.ids if offset >= topic.first]
    if c % 2 and known:
        seek(peer, holder, known[b % len(known)], 0)
    else:
        seek(peer, holder, -1, world.now_ms - b % 2_000)


def _stall(world: World, a: int, b: int, c: int) -> None:
    """A consumer acknowledges nothing for a while, or goes on."""
    found = pick_holder(world, a)
    if found is not None:
        found[1].stalled = not found[1].stalled


CLIENTS: dict[str, Act] = {
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
}
