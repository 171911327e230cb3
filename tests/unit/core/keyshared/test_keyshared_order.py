"""Beyond Pulsar: drains outlive skips and expiry, nacked keys stay in order, a lease ends a drain nobody works on."""

from __future__ import annotations

import pytest

from magnetar.core.dispatch.lease import LEASE_CHECKS
from magnetar.core.upkeep import expire
from tests.unit.core.keyshared.scene import Joined, Scene, keys_of


def key_that_moves(**options: object) -> tuple[Scene, Joined, str]:
    """A key that belongs to ``first`` alone, and to ``second`` once that joins."""
    scene = Scene(keep_alive_ms=1 << 40, **options)
    first = scene.join("first")
    second = scene.join("second")
    (key,) = keys_of(scene, "second")
    second.close()
    return scene, first, key


# What the cursor does.


@pytest.mark.parametrize("how", ["skip", "clear", "expire"])
@pytest.mark.parametrize("end", ["ack", "close", "cut", "nack"])
def test_a_drain_outlives_the_cursor_moving_past_it(how: str, end: str) -> None:
    scene, first, key = key_that_moves(key_shared_unblocking_ms=0)
    scene.publish(key, key)
    assert first.new() == [(key, 1), (key, 2)]
    second = scene.join("second")
    scene.publish(key)
    if how == "expire":
        scene.broker.advance(10_000)
        scene.publish("other")
        expire(scene.sub, scene.broker.now_ms - 5_000)
    else:
        scene.sub.move_floor(3 if how == "clear" else 2)
    scene.broker.turn()
    scene.publish(key)
    assert [one for one in second.new() if one[0] == key] == []
    assert scene.held("first").unacked == 2
    waiting = [(key, 4)] if how != "skip" else [(key, 3), (key, 4)]
    if end == "ack":
        first.ack((key, 1))
        assert [one for one in second.new() if one[0] == key] == []
        first.ack((key, 2))
    elif end == "nack":
        first.nack((key, 1), (key, 2))
    else:
        getattr(first, end)()
    assert [one for one in second.new() if one[0] == key] == waiting
    assert scene.dispatcher.drains.active == 0
    assert scene.dispatcher.unacked() == scene.held("second").unacked


def test_unacked_counts_return_to_zero_when_what_was_skipped_is_acknowledged() -> None:
    scene, first, key = key_that_moves(max_unacked_per_consumer=4)
    scene.publish(*[key] * 6)
    assert len(first.new()) == 4
    assert scene.held("first").blocked
    scene.sub.move_floor(6)
    scene.broker.turn()
    assert scene.held("first").blocked
    first.ack((key, 1), (key, 2))
    assert not scene.held("first").blocked
    first.ack((key, 3), (key, 4))
    assert scene.held("first").unacked == scene.dispatcher.unacked() == 0
    assert scene.held("first").pending == {}


def test_redelivery_counts_of_what_is_held_survive_a_skip_and_the_rest_is_forgotten() -> None:
    scene, first, key = key_that_moves()
    scene.publish(key, "x", "y")
    first.new()
    first.nack((key, 1), ("x", 1))
    first.new()
    first.ack(("x", 1))
    scene.sub.move_floor(3)
    assert scene.dispatcher.redelivered == {0: 1}
    first.nack((key, 1))
    assert first.new() == []
    scene.publish("z")
    scene.sub.move_floor(4)
    assert scene.dispatcher.redelivered == {}


# Nack order.


def test_without_nack_order_later_messages_overtake() -> None:
    scene, first, key = key_that_moves()
    scene.publish(key, key)
    first.new()
    first.nack((key, 1))
    scene.publish(key)
    assert first.new() == [(key, 1), (key, 3)]


def test_after_a_nack_a_key_goes_one_by_one_until_the_nacked_ones_are_done() -> None:
    scene, first, key = key_that_moves(key_shared_nack_order=True)
    scene.publish(key, key, key)
    first.new()
    first.nack((key, 2), (key, 1))
    scene.publish(key, key, "other")
    assert first.new() == [(key, 1), ("other", 1)]
    first.ack((key, 3))
    assert first.new() == []
    first.ack((key, 1))
    assert first.new() == [(key, 2)]
    first.nack((key, 2))
    assert first.new() == [(key, 2)]
    first.ack((key, 2))
    assert first.new() == [(key, 4), (key, 5)]
    assert (scene.dispatcher.nacked, scene.dispatcher.holding) == ({}, {})


def test_with_nack_order_a_key_that_moves_goes_on_in_order_at_its_new_owner() -> None:
    scene, first, key = key_that_moves(key_shared_nack_order=True, key_shared_unblocking_ms=0)
    scene.publish(key, key, key)
    first.new()
    first.nack((key, 1))
    assert first.new() == [(key, 1)]
    second = scene.join("second")
    scene.publish(key)
    first.nack((key, 1))
    assert second.new() == []
    first.ack((key, 2), (key, 3))
    assert second.new() == [(key, 1)]
    second.ack((key, 1))
    assert second.new() == [(key, 4)]


@pytest.mark.parametrize("how", ["other consumer", "skip", "end of the holder"])
def test_a_nacked_key_is_never_held_for_ever(how: str) -> None:
    scene, first, _ = key_that_moves(key_shared_nack_order=True)
    other = scene.join("other")
    (key,) = keys_of(scene, "first")
    scene.publish(key)
    first.new()
    first.nack((key, 1))
    assert first.new() == [(key, 1)]
    scene.publish(key, key)
    assert first.new() == []
    if how == "other consumer":
        other.client.ack(first.ids[key, 1])
        assert first.new() == [(key, 2), (key, 3)]
    elif how == "skip":
        scene.sub.move_floor(1)
        scene.broker.turn()
        assert first.new() == [(key, 2), (key, 3)]
    else:
        first.close()
        assert other.new() == [(key, 1)]
        other.ack((key, 1))
        assert other.new() == [(key, 2), (key, 3)]
    assert scene.dispatcher.nacked == {}


def test_a_nacked_message_that_is_acknowledged_while_it_waits_frees_the_key() -> None:
    scene, first, key = key_that_moves(key_shared_nack_order=True)
    scene.publish(key)
    first.new()
    scene.held("first").permits = 0
    first.nack((key, 1))
    scene.publish(key)
    assert first.new() == []
    first.ack((key, 1))
    first.flow(10)
    assert first.new() == [(key, 2)]
    assert (scene.dispatcher.nacked, scene.dispatcher.waiting()) == ({}, 0)


def test_a_long_wait_behind_a_nack_is_served_in_order() -> None:
    scene, first, key = key_that_moves(key_shared_nack_order=True)
    scene.publish(key)
    first.new()
    first.nack((key, 1))
    scene.publish(*[key] * 50)
    assert first.new() == [(key, 1)]
    assert len(scene.held("first").line) <= 51
    first.ack((key, 1))
    assert first.new() == [(key, number) for number in range(2, 52)]


# The lease of a drain.


def leased(lease_ms: int = 1_000) -> tuple[Scene, Joined, Joined, str]:
    scene, first, key = key_that_moves(key_shared_drain_lease_ms=lease_ms)
    scene.publish(key)
    first.new()
    return scene, first, scene.join("second"), key


def test_a_holder_that_acknowledges_nothing_is_disconnected_and_its_messages_go_on_in_order() -> None:
    scene, first, second, key = leased()
    scene.publish(key)
    scene.broker.advance(900)
    assert first.client.names() == []
    assert second.new() == []
    scene.broker.advance(100 + 1_000 // LEASE_CHECKS)
    assert first.client.names() == ["CLOSE_CONSUMER"]
    assert second.new() == [(key, 1), (key, 2)]
    assert scene.dispatcher.lease.ended == 1


def test_a_holder_that_acknowledges_something_keeps_its_lease() -> None:
    scene, first, second, key = leased()
    scene.publish(key)
    for number in range(10):
        other = keys_of(scene, "first", 1, f"n{number}-")[0]
        scene.publish(other)
        first.ack((other, scene.numbers[other]))
        scene.broker.advance(900)
    assert "CLOSE_CONSUMER" not in first.client.names()
    scene.broker.advance(2_000)
    assert "CLOSE_CONSUMER" in first.client.names()
    assert second.new() == [(key, 1), (key, 2)]


def test_a_drain_that_holds_up_nobody_costs_nobody_the_connection() -> None:
    scene, first, _second, _key = leased()
    scene.broker.advance(60_000)
    assert first.client.names() == []
    assert scene.dispatcher.lease.ended == 0


def test_without_a_lease_a_drain_lasts_and_one_given_later_counts() -> None:
    scene, first, second, key = leased(0)
    scene.publish(key)
    scene.broker.advance(3_600_000)
    assert second.new() == []
    scene.broker.options.key_shared_drain_lease_ms = 1_000
    scene.publish(key)
    scene.broker.advance(1_300)
    assert first.client.names() == ["CLOSE_CONSUMER"]
    assert second.new() == [(key, 1), (key, 2), (key, 3)]


def test_the_lease_sees_what_a_coarse_slot_holds_up() -> None:
    scene, first, second, key = leased()
    scene.dispatcher.drains.keys_max = 0
    scene.join("third").close()
    assert scene.dispatcher.drains.keys == {}
    scene.publish(key)
    scene.broker.advance(2_500)
    assert first.client.names() == ["CLOSE_CONSUMER"]
    assert second.new() == [(key, 1), (key, 2)]
