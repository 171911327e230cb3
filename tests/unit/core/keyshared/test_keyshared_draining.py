"""Draining: when it begins, what it holds up, and what ends it."""

from __future__ import annotations

import pytest

from magnetar.core.dispatch.draining import Drains
from magnetar.wire.commands import pb
from magnetar.wire.hashing import murmur3
from tests.unit.core.keyshared.scene import Joined, Scene, keys_of

LOOSE = pb.KeySharedMeta(keySharedMode=0, allowOutOfOrderDelivery=True)
KEYS = [f"k{number}" for number in range(40)]


def slot(scene: Scene, key: str) -> int:
    return scene.dispatcher.selector.slot_of(murmur3(key.encode()))


def taken_over(scene: Scene, name: str) -> list[str]:
    return [key for key in KEYS if scene.owner(key) == name]


def held_and_moved(**options: object) -> tuple[Scene, Joined, Joined, list[str]]:
    """``first`` holds one message of each of 40 keys, then ``second`` joins; the keys that are its own now."""
    scene = Scene(**options)
    first = scene.join("first")
    scene.publish(*KEYS)
    assert len(first.new()) == 40
    second = scene.join("second")
    moved = taken_over(scene, "second")
    assert 5 < len(moved) < 35
    return scene, first, second, moved


@pytest.mark.parametrize("ring", [True, False])
def test_a_join_drains_what_the_former_owner_holds(ring: bool) -> None:
    scene, first, second, moved = held_and_moved(key_shared_ring=ring)
    drains = scene.dispatcher.drains
    assert drains.active == len({slot(scene, key) for key in moved})
    assert all(drains.count(slot(scene, key)) >= 1 for key in moved)
    scene.publish(*KEYS)
    assert second.new() == []
    assert first.new() == [(key, 2) for key in KEYS if key not in moved]
    assert scene.dispatcher.waiting() == len(moved)


@pytest.mark.parametrize("interval", [0, 10])
def test_the_last_acknowledgement_frees_the_key(interval: int) -> None:
    scene, first, second, moved = held_and_moved(key_shared_unblocking_ms=interval)
    scene.publish(*moved)
    one, other = moved[:2]
    first.ack((one, 1))
    if interval:
        assert second.new() == []
        scene.broker.advance(interval - 1)
        assert second.new() == []
        first.ack((other, 1))
        scene.broker.advance(1)
        assert second.new() == [(one, 2), (other, 2)]
    else:
        assert second.new() == [(one, 2)]
        first.ack((other, 1))
        assert second.new() == [(other, 2)]
    assert scene.dispatcher.drains.cleared_total == scene.held("first").drained_total == 2


def test_several_entries_of_a_key_drain_until_the_last() -> None:
    scene = Scene(key_shared_unblocking_ms=0)
    first = scene.join("first")
    scene.publish(*["k0"] * 3, *KEYS)
    second = scene.join("second")
    key = taken_over(scene, "second")[0]
    scene.publish(key)
    mine = [one for one in first.new() if one[0] == key]
    for one in mine[:-1]:
        first.ack(one)
        assert second.new() == []
    first.ack(mine[-1])
    assert second.new() == [(key, mine[-1][1] + 1)]


def test_part_of_a_batch_does_not_end_a_drain() -> None:
    scene = Scene(key_shared_unblocking_ms=0)
    first = scene.join("first")
    second = scene.join("second")
    (key,) = keys_of(scene, "second")
    second.close()
    scene.producer.publish(f"{key}:1".encode(), key=key, batch=4)
    second = scene.join("second")
    scene.producer.publish(f"{key}:2".encode(), key=key)
    first.new_ids()
    place = first.ids[key, 1]
    first.client.ack(place, ack_set=[0b1100])
    assert second.new() == []
    first.client.ack(place, ack_set=[0b0011])
    assert second.new() == [(key, 2)]


def test_a_negative_acknowledgement_hands_the_key_over() -> None:
    scene, first, second, moved = held_and_moved(key_shared_unblocking_ms=0)
    key = moved[0]
    scene.publish(key)
    first.nack((key, 1))
    assert second.new() == [(key, 1), (key, 2)]
    assert second.redeliveries[key, 1] == 1


@pytest.mark.parametrize("how", ["close", "cut"])
def test_the_end_of_the_holder_hands_over_all_it_held_in_order(how: str) -> None:
    scene, first, second, moved = held_and_moved()
    scene.publish(*moved)
    getattr(first, how)()
    assert second.new() == sorted(
        [(key, 1) for key in KEYS] + [(key, 2) for key in moved], key=lambda one: (one[1], KEYS.index(one[0]))
    )
    drains = scene.dispatcher.drains
    assert (drains.active, drains.cleared_total) == (0, len({slot(scene, key) for key in moved}))
    assert drains.counts is None


def test_a_slot_that_returns_to_its_holder_drains_no_more() -> None:
    scene, first, second, moved = held_and_moved()
    scene.publish(*moved)
    assert second.new() == []
    second.close()
    assert first.new() == [(key, 2) for key in moved]
    assert scene.dispatcher.drains.active == 0


def one_slot(scene: Scene, low: int, high: int) -> tuple[str, str]:
    """Two keys of one slot in this range."""
    by_slot: dict[int, str] = {}
    for number in range(100_000):
        at = slot(scene, f"k{number}")
        if low <= at <= high:
            if at in by_slot:
                return by_slot[at], f"k{number}"
            by_slot[at] = f"k{number}"
    raise AssertionError("no two keys share a slot")


def test_who_leaves_takes_nothing_off_the_drains_of_others() -> None:
    """Of a slot that drains the owner has another key; its leaving is no acknowledgement by the holder."""
    scene = Scene(key_shared_ring=False, key_shared_unblocking_ms=0)
    first = scene.join("first")
    held, other = one_slot(scene, 16385, 32768)
    scene.publish(held)
    second = scene.join("second")
    scene.publish(other)
    assert (first.new(), second.new()) == ([(held, 1)], [(other, 1)])
    scene.join("third")
    fourth = scene.join("fourth")
    second.close()
    assert scene.owner(held) == "fourth"
    scene.publish(held, other)
    assert fourth.new() == [(other, 1), (other, 2)]
    drains = scene.dispatcher.drains
    assert (drains.active, drains.count(slot(scene, held)), drains.cleared_total) == (1, 1, 0)
    first.ack((held, 1))
    assert fourth.new() == [(held, 2)]
    assert (drains.active, drains.cleared_total) == (0, 1)


def test_a_slot_may_be_drained_by_two_former_owners() -> None:
    scene = Scene(key_shared_ring=False, key_shared_unblocking_ms=0)
    first = scene.join("first")
    old = KEYS[:20]
    scene.publish(*old)
    second = scene.join("second")
    fresh = [key for key in KEYS[20:] if scene.owner(key) == "second"]
    scene.publish(*fresh)
    assert second.new() == [(key, 1) for key in fresh]
    third = scene.join("third")
    theirs = [key for key in KEYS if scene.owner(key) == "third" and scene.numbers.get(key)]
    assert {key in old for key in theirs} == {True, False}
    scene.publish(*theirs)
    assert third.new() == []
    first.new_ids()
    for key in theirs:
        (first if key in old else second).ack((key, 1))
    assert sorted(third.new()) == sorted((key, 2) for key in theirs)


def test_other_keys_of_a_draining_slot_flow() -> None:
    scene = Scene(ring_points=1)
    first = scene.join("first")
    second = scene.join("second")
    held, other = one_slot(
        scene, *next(row[:2] for row in scene.dispatcher.selector.ranges() if row[2].name == "second")
    )
    second.close()
    scene.publish(held)
    assert first.new() == [(held, 1)]
    second = scene.join("second")
    scene.publish(held, other)
    assert second.new() == [(other, 1)]
    first.ack((held, 1))
    scene.settle(10)
    assert second.new() == [(held, 2)]


def test_a_key_is_one_31_bit_hash() -> None:
    drains = Drains()
    drains.add(7, 5, 1, drains)
    assert drains.blocks(7, 5)
    assert not drains.blocks(8, 5)


def test_too_many_keys_fall_back_to_whole_slots() -> None:
    drains = Drains(keys_max=2)
    slots = {10: 1, 11: 2, 12: 3, 13: 3, 14: 1}
    for key, at in slots.items():
        drains.add(key, at, 1, drains)
    assert drains.keys_left_out
    drains.coarsen({key: slots[key] for key in drains.keys})
    assert [drains.is_coarse(at) for at in (1, 2, 3)] == [True, False, True]
    assert drains.blocks(99, 1)
    assert drains.blocks(11, 2)
    assert not drains.blocks(98, 2)
    assert (drains.release(12, 3), drains.release(13, 3)) == (0, 2)
    assert not drains.blocks(99, 3)
    assert (drains.release(10, 1), drains.release(14, 1), drains.release(11, 2)) == (0, 2, 2)
    assert (drains.counts, drains.keys, drains.active, drains.cleared_total) == (None, {}, 0, 3)


def test_a_coarse_slot_serves_all_its_keys_when_it_is_free() -> None:
    scene = Scene(key_shared_unblocking_ms=0)
    scene.join("other").close()
    first = scene.join("first")
    scene.dispatcher.drains.keys_max = 3
    scene.publish(*KEYS)
    second = scene.join("second")
    moved = taken_over(scene, "second")
    scene.publish(*moved)
    assert second.new() == []
    first.new_ids()
    first.ack(*[(key, 1) for key in moved])
    assert sorted(second.new()) == sorted((key, 2) for key in moved)
    assert scene.dispatcher.drains.active == 0


def test_since_when_and_how_often_survive_another_join() -> None:
    scene, _first, _second, moved = held_and_moved()
    at = slot(scene, moved[0])
    since = scene.dispatcher.drains.since_ms(at)
    scene.publish(moved[0], moved[0])
    blocked = scene.dispatcher.drains.blocked(at)
    assert blocked >= 2
    scene.broker.advance(5_000)
    scene.join("third")
    drains = scene.dispatcher.drains
    assert (drains.since_ms(at), drains.blocked(at), drains.oldest_ms()) == (since, blocked, since)
    assert drains.blocked_total == 2


def test_nothing_drains_where_order_is_not_asked_for() -> None:
    scene = Scene()
    first = scene.join("first", keySharedMeta=LOOSE)
    scene.publish(*KEYS)
    second = scene.join("second", keySharedMeta=LOOSE)
    moved = taken_over(scene, "second")
    scene.publish(*moved)
    assert second.new() == [(key, 2) for key in moved]
    assert scene.dispatcher.drains.active == 0
    assert len(first.new()) == 40


def test_when_all_have_left_nothing_is_held_and_all_comes_again() -> None:
    scene, first, second, moved = held_and_moved()
    scene.publish(*moved)
    first.ack((KEYS[0], 1))
    first.close()
    second.cut()
    dispatcher = scene.dispatcher
    assert (dispatcher.waiting(), dispatcher.unacked(), dispatcher.drains.active) == (0, 0, 0)
    assert dispatcher.drains.cleared_total > 0
    third = scene.join("third")
    assert len(third.new()) == 39 + len(moved)


def test_sticky_ranges_that_change_hands_while_their_holder_stays() -> None:
    """A consumer leaves and its range is named by two others: what it held goes to them, in order."""
    scene = Scene()
    first = scene.join_sticky("first", (0, 65535))
    scene.publish(*KEYS)
    assert len(first.new()) == 40
    first.cut()
    low, high = scene.join_sticky("low", (0, 32767)), scene.join_sticky("high", (32768, 65535))
    got = low.new() + high.new()
    assert sorted(got) == sorted((key, 1) for key in KEYS)
    assert all(murmur3(key.encode()) % 65536 <= 32767 for key, _ in low.new())
