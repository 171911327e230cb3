"""The classic dispatcher: recently joined consumers, and the two ways in which it breaks the contract."""

from __future__ import annotations

from magnetar.core.dispatch.classic import ClassicKeyShared
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.wire.commands import pb
from tests.unit.core.keyshared.scene import Joined, Scene, keys_of


def moved(scene: Scene, keys: list[str], name: str) -> list[str]:
    """Which of the keys belong to the consumer now."""
    return [key for key in keys if scene.owner(key) == name]


def two_consumers(permits: int = 1000) -> tuple[Scene, Joined, Joined, list[str]]:
    """``first`` has one message of each of 20 keys when ``second`` joins; the keys that moved."""
    scene = Scene(key_shared_classic=True)
    first = scene.join("first", permits)
    keys = [f"k{number}" for number in range(20)]
    scene.publish(*keys)
    second = scene.join("second")
    changed = moved(scene, keys, "second")
    assert changed
    assert len(changed) < 20
    return scene, first, second, changed


def test_a_newcomer_waits_until_all_that_was_out_is_acknowledged() -> None:
    scene, first, second, changed = two_consumers()
    got = first.new()
    assert len(got) == 20
    scene.publish(*changed)
    assert second.new() == []
    first.ack(*got[:-1])
    assert second.new() == []
    first.ack(got[-1])
    assert second.new() == [(key, 2) for key in changed]


def test_one_unacknowledged_message_of_any_key_holds_up_every_newcomer() -> None:
    scene, first, second, changed = two_consumers()
    other = keys_of(scene, "first")[0]
    scene.publish(other)
    first.ack(*[one for one in first.new() if one[0] != "k0" and one[0] != other])
    scene.publish(*changed)
    assert second.new() == []


def test_who_joins_when_nothing_is_out_waits_for_nothing() -> None:
    scene = Scene(key_shared_classic=True)
    scene.join("first")
    second = scene.join("second")
    key = keys_of(scene, "second")[0]
    scene.publish(key)
    assert second.new() == [(key, 1)]


def test_a_message_that_waits_goes_to_the_newcomer_while_the_former_owner_holds_its_key() -> None:
    scene = Scene(key_shared_classic=True)
    first = scene.join("first", permits=1)
    scene.join("idle")
    later = scene.join("second")
    keys = keys_of(scene, "second", 10)
    later.close()
    key = next(key for key in keys if scene.owner(key) == "first")
    scene.publish(key, key)
    assert first.new() == [(key, 1)]
    assert scene.join("second").new() == [(key, 2)]


def test_a_key_that_goes_on_to_another_newcomer_is_at_two_consumers() -> None:
    scene, first, second, changed = two_consumers()
    first.ack(*first.new())
    scene.publish(*changed)
    assert len(second.new()) == len(changed)
    third = scene.join("third")
    second_keys = moved(scene, changed, "third")
    assert second_keys
    scene.publish(*second_keys)
    assert third.new() == []
    first.close()
    second.nack(*[one for one in second.ids if one[0] == second_keys[0]])
    assert (second_keys[0], 1) not in third.ids
    assert third.new() == [(second_keys[0], 2)]


def test_what_was_read_and_is_not_handed_out_goes_to_the_newcomer_too() -> None:
    scene = Scene(key_shared_classic=True)
    first = scene.join("first")
    later = scene.join("second")
    (key,) = keys_of(scene, "second")
    later.close()
    scene.publish(key)
    assert first.new() == [(key, 1)]
    scene.producer.publish(f"{key}:2".encode(), key=key)
    assert scene.join("second").new() == [(key, 2)]
    assert first.new() == []


def test_the_setting_counts_when_the_first_consumer_comes() -> None:
    scene = Scene()
    first = scene.join("first")
    assert isinstance(scene.sub.dispatcher, KeyShared)
    scene.broker.options.key_shared_classic = True
    second = scene.join("second")
    assert isinstance(scene.sub.dispatcher, KeyShared)
    first.close()
    second.close()
    third = scene.join("third")
    assert isinstance(scene.sub.dispatcher, ClassicKeyShared)
    scene.publish("a")
    third.close()
    scene.broker.options.key_shared_classic = False
    assert scene.join("fourth").new() == [("a", 1)]
    assert isinstance(scene.sub.dispatcher, KeyShared)


def test_waiting_messages_survive_nack_ack_by_others_and_the_end_of_all_consumers() -> None:
    scene, first, second, _ = two_consumers()
    got = first.new()
    first.nack(got[0])
    assert first.new() + second.new() == [got[0]]
    first.close()
    second.close()
    assert scene.sub.dispatcher is not None
    assert (scene.sub.dispatcher.waiting(), scene.sub.dispatcher.unacked()) == (0, 0)
    third = scene.join("third")
    assert sorted(third.new()) == sorted(got)


def test_out_of_order_mode_knows_no_newcomers() -> None:
    scene = Scene(key_shared_classic=True)
    loose = pb.KeySharedMeta(keySharedMode=0, allowOutOfOrderDelivery=True)
    scene.join("first", keySharedMeta=loose)
    scene.publish("a")
    second = scene.join("second", keySharedMeta=loose)
    key = keys_of(scene, "second")[0]
    scene.publish(key)
    assert (key, scene.numbers[key]) in second.new()


def test_moving_the_floor_frees_newcomers() -> None:
    scene, first, second, changed = two_consumers()
    assert len(first.new()) == 20
    scene.publish(*changed)
    assert second.new() == []
    scene.sub.move_floor(20)
    scene.broker.turn()
    assert second.new() == [(key, 2) for key in changed]
