"""What happens to connections: they break, fall silent, lag, and fill up."""

from __future__ import annotations

from magnetar.sim.doing.pick import Act
from magnetar.sim.world import World

__all__ = ["CONNECTIONS"]


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


CONNECTIONS: dict[str, Act] = {
    "cut": _cut,
    "ghost": _ghost,
    "lag": _lag,
    "deliver": _deliver,
    "slow": _slow,
}
