"""Follows the cursors: what of them the log has got, which were set, and what skipping takes from consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.sim.world import World

__all__ = ["follow_cursors", "follow_floor", "handed_over"]


def handed_over(world: World) -> None:
    """Every acknowledgement said until now is in the commit that the log has got."""
    for sub in world.subs():
        sub.in_flight += sub.unsure
        sub.unsure = []
        sub.moved_in_flight = sub.moved
        if sub.acks is not None:
            sub.floor_in_flight = sub.acks.floor


def follow_cursors(world: World) -> None:
    """Was a cursor set, or taken away? The broker is asked, since whoever wanted it may be gone by now."""
    if not world.cursors_move:
        return
    world.cursors_move = False
    for sub in world.subs():
        if not sub.moving and not sub.leaving:
            continue
        found = world.core_sub(sub)
        if sub.moving and found is not None and found.acks is not sub.acks:
            sub.take_over(found.acks)
            sub.moved = True
        sub.moving = found is not None and found.fenced
        sub.leaving = sub.leaving and (found is None or found.acks is not sub.acks)
        world.cursors_move = world.cursors_move or sub.moving or sub.leaving


def follow_floor(world: World) -> None:
    """What was skipped or expired on a Shared subscription is nobody's; Key_Shared consumers keep theirs."""
    for sub in world.subs():
        if sub.excused > sub.start and sub.place.kind == "Shared" and sub.acks is not None:
            for holder in sub.holders:
                for offset in [o for o in holder.held if o < sub.acks.floor and o not in sub.acked]:
                    sub.release(holder, offset)
