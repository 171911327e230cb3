"""Choosing among what there is: a number is taken modulo how many there are."""

from __future__ import annotations

from collections.abc import Callable

from magnetar.core.subscription import Subscription
from magnetar.sim.book import Holder
from magnetar.sim.peer import Peer
from magnetar.sim.subbook import SubBook
from magnetar.sim.world import World

__all__ = ["Act", "pick_handy", "pick_holder", "pick_peer", "pick_sub"]

Act = Callable[[World, int, int, int], None]
"""What an action does with its three numbers."""

PEERS_MAX = 8


def pick_peer(world: World, pick: int) -> Peer:
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


def pick_holder(world: World, pick: int) -> tuple[Peer, Holder] | None:
    found = _holders(world)
    return found[pick % len(found)] if found else None


def pick_handy(world: World, pick: int) -> tuple[Peer, Holder] | None:
    """A consumer that has something in its hands and is not stalled."""
    found = [(peer, holder) for peer, holder in _holders(world) if holder.held and not holder.stalled]
    return found[pick % len(found)] if found else None


def pick_sub(world: World, pick: int) -> tuple[SubBook, Subscription] | None:
    found = [sub for sub in world.subs() if sub.place.durable]
    if not found:
        return None
    sub = found[pick % len(found)]
    core_sub = world.core_sub(sub)
    return (sub, core_sub) if core_sub is not None and core_sub.acks is sub.acks else None
