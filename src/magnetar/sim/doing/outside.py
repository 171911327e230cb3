"""What happens around the broker: time goes by, the log and the store do their work or fail, the process is killed."""

from __future__ import annotations

from magnetar.core.broker import BROKER_STREAM
from magnetar.sim.disk import commit, crash, fail_commit, read, store
from magnetar.sim.doing.pick import Act
from magnetar.sim.world import World

__all__ = ["OUTSIDE"]


def _commit(world: World, a: int, b: int, c: int) -> None:
    for _ in range(1 + a % 3):
        commit(world)


def _read(world: World, a: int, b: int, c: int) -> None:
    for _ in range(1 + a % 3):
        read(world)


def _store(world: World, a: int, b: int, c: int) -> None:
    store(world)


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
    fail_commit(world)


def _fail_store(world: World, a: int, b: int, c: int) -> None:
    store(world, "the simulated store is away")


def _damage(world: World, a: int, b: int, c: int) -> None:
    """An entry on the disk can no longer be read."""
    topics = [topic for topic in world.topics.values() if topic.first < len(topic.log)]
    if topics:
        topic = topics[a % len(topics)]
        offset = topic.first + b % (len(topic.log) - topic.first)
        if offset not in topic.damaged:
            topic.damaged.add(offset)
            world.log.damage(topic.stream, offset)


def _crash(world: World, a: int, b: int, c: int) -> None:
    crash(world, bool(a & 1), b)


OUTSIDE: dict[str, Act] = {
    "commit": _commit,
    "read": _read,
    "store": _store,
    "time": _time,
    "checkpoint": _checkpoint,
    "fail_log": _fail_log,
    "fail_store": _fail_store,
    "damage": _damage,
    "crash": _crash,
}
