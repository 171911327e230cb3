"""What operators do: skip, expire, disconnect, and change policies and options while everything runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from magnetar.core.catalog import NAMESPACES, Row
from magnetar.core.policies.follow import options_changed
from magnetar.core.topic_ops import disconnect, expire_before, skip, terminate
from magnetar.errors import MagnetarError
from magnetar.sim.book import Violation
from magnetar.sim.doing.clients import NAMES
from magnetar.sim.doing.pick import Act, pick_sub
from magnetar.sim.subbook import SubBook
from magnetar.sim.world import World

__all__ = ["OPERATORS"]

_POLICIES = ("max_unacked_messages_per_consumer", "max_unacked_messages_per_subscription", "message_ttl_in_seconds")

_OPTIONS: tuple[tuple[str, tuple[int | str, ...]], ...] = (
    ("key_shared_unblocking_ms", (0, 10, 100)),
    ("key_shared_drain_lease_ms", (0, 100)),
    ("look_ahead_per_consumer", (1, 4, 100)),
    ("look_ahead_per_subscription", (2, 10, 1_000)),
    ("round_robin_entries", (1, 20)),
    ("key_shared_selector", ("consistentHashing", "autoSplit", "rateAware")),
    ("failover_selector", ("modulo", "balanced", "first")),
)


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
        nonlocal floor
        while floor - 1 in sub.topic.damaged:
            floor -= 1  # How old these are cannot be known any more.
        if (
            error is None
            and sub.acks is acks
            and not (sub.moving or sub.leaving)
            and sub.floor_sure < floor > sub.start
        ):
            raise Violation("durable_first", f"{sub.place.name} was moved to {floor}, durable is {sub.floor_sure}")

    return answered


def _skip(world: World, a: int, b: int, c: int) -> None:
    found = pick_sub(world, a)
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
    found = pick_sub(world, a)
    if found is None:
        return
    sub, core_sub = found
    before_ms = world.now_ms - b % 300
    sub.excuse_older(before_ms)
    log, floor = sub.topic.log, core_sub.acks.floor
    while floor < len(log) and log[floor].published_ms < before_ms:
        floor += 1
    _operate(world, partial(expire_before, core_sub, before_ms, _lasting(sub, floor)))


def _terminate(world: World, a: int, b: int, c: int) -> None:
    """Nothing can be published to a topic any more."""
    topics = list(world.topics.values())
    if not topics:
        return
    topic = topics[a % len(topics)]

    def answered(error: Exception | None) -> None:
        topic.ended = topic.ended or error is None

    _operate(world, partial(terminate, world.core.topics[topic.name], answered))


def _disconnect(world: World, a: int, b: int, c: int) -> None:
    found = pick_sub(world, a)
    if found is not None:
        disconnect(found[1], f"c{b % NAMES}")
        world.turn()


def _policy(world: World, a: int, b: int, c: int) -> None:
    name, value = _POLICIES[a % len(_POLICIES)], (None, 0, 3, 10)[b % 4]
    if name == "message_ttl_in_seconds" and value:
        world.shortest_ttl_ms = min(world.shortest_ttl_ms or value * 1000, value * 1000)

    def change(row: Row | None) -> Row | None:
        changed = {**(row or {}), name: value}
        return {key: found for key, found in changed.items() if found is not None}

    _operate(world, partial(world.core.rows.change, NAMESPACES + "public/default", change, False, _ignore))


def _option(world: World, a: int, b: int, c: int) -> None:
    name, values = _OPTIONS[a % len(_OPTIONS)]
    setattr(world.options, name, values[b % len(values)])
    options_changed(world.core)
    world.turn()


OPERATORS: dict[str, Act] = {
    "skip": _skip,
    "expire": _expire,
    "terminate": _terminate,
    "disconnect": _disconnect,
    "policy": _policy,
    "option": _option,
}
