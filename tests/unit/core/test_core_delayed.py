"""Delayed delivery on the core, with time moved by hand."""

from __future__ import annotations

from typing import Any

import pytest

from magnetar.core.dispatch.delaying import DUE_ENTRIES_MAX, DelayingDispatcher
from magnetar.core.explain import codes
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.policies.follow import options_changed
from magnetar.core.topic_ops import delete_subscription, expire_before, skip
from tests.support.corebroker import EXCLUSIVE, FAILOVER, KEY_SHARED, SHARED, START_MS, Client, CoreBroker, answered
from tests.unit.core.keyshared.scene import Scene, Still, keys_of

KINDS = pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
ALL = pytest.mark.parametrize(
    ("kind", "options"), [(SHARED, {}), (KEY_SHARED, {}), (KEY_SHARED, {"key_shared_classic": True})]
)


def opened(kind: int, permits: int = 1_000, **options: Any) -> tuple[CoreBroker, Client]:
    broker = CoreBroker(delay_tick_ms=1, **options)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=permits)
    return broker, client


def came(broker: CoreBroker, client: Client) -> list[bytes]:
    """What came; the classic dispatcher hands out what it has read a moment later."""
    broker.advance(2)
    return client.bodies()


def later(client: Client, *bodies: bytes, after: int, **fields: Any) -> None:
    broker = client.broker
    client.publish(*bodies, deliver_at_time=broker.now_ms + after, publish_time=broker.now_ms, **fields)


def delayed(broker: CoreBroker) -> int:
    dispatcher = broker.sub().dispatcher
    assert isinstance(dispatcher, DelayingDispatcher)
    return dispatcher.delayed_count()


def ignore(error: Exception | None) -> None:
    assert error is None


@ALL
def test_a_message_comes_at_its_time_and_not_before(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, b"late", after=5_000)
    later(client, b"soon", after=3_000)
    client.publish(b"now")
    assert came(broker, client) == [b"now"]
    assert delayed(broker) == 2
    broker.advance(START_MS + 2_999 - broker.now_ms)
    assert client.bodies() == []
    assert came(broker, client) == [b"soon"]
    broker.advance(START_MS + 4_999 - broker.now_ms)
    assert client.bodies() == []
    assert came(broker, client) == [b"late"]
    assert delayed(broker) == 0
    assert broker.core.timers.next_due() > broker.now_ms


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER])
def test_one_consumer_at_a_time_gets_it_at_once(kind: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=10)
    later(client, b"x", after=5_000)
    broker.advance(2_000)
    assert client.bodies() == [b"x"]


@ALL
def test_times_that_have_passed_or_make_no_sense_delay_nothing(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    for when in (broker.now_ms, broker.now_ms - 1, 0, -5, -(1 << 62)):
        client.publish(b"%d" % when, deliver_at_time=when)
    assert len(came(broker, client)) == 5


@KINDS
def test_messages_of_one_tick_are_served_together(kind: int) -> None:
    broker, client = opened(kind)
    broker.options.delay_tick_ms = 1_000
    options_changed(broker.core)
    for after in (2_000, 2_300, 2_900, 3_100):
        later(client, b"%d" % after, after=after)
    broker.advance(2_000)
    assert client.bodies() == [b"2000"]
    broker.advance(999)
    assert client.bodies() == []
    broker.advance(1)
    assert client.bodies() == [b"2300", b"2900"]
    broker.advance(1_000)
    assert client.bodies() == [b"3100"]


@ALL
def test_after_a_restart_nothing_is_lost_and_nothing_early(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, b"a", after=5_000)
    client.publish(b"b")
    later(client, b"c", after=9_000)
    broker.advance(10)
    client.ack(*[frame.id for frame in client.messages()])
    broker.restart()
    client = broker.client()
    client.consumer("t", kind=kind, permits=10)
    assert came(broker, client) == []
    assert delayed(broker) == 2
    broker.advance(START_MS + 4_999 - broker.now_ms)
    assert client.bodies() == []
    assert came(broker, client) == [b"a"]
    broker.restart()
    broker.advance(START_MS + 9_000 - broker.now_ms)
    client = broker.client()
    client.consumer("t", kind=kind, permits=10)
    assert sorted(came(broker, client)) == [b"a", b"c"]


@ALL
def test_consumers_that_leave_and_return(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, b"later", after=5_000)
    client.publish(b"held")
    assert came(broker, client) == [b"held"]
    client.close_consumer()
    later(client, b"meanwhile", after=5_000)
    broker.advance(1_000)
    client.consumer("t", kind=kind, permits=10)
    assert came(broker, client) == [b"held"]
    assert delayed(broker) == 2
    client.close_consumer()
    broker.advance(10_000)
    assert client.bodies() == []
    client.consumer("t", kind=kind, permits=10)
    assert sorted(came(broker, client)) == [b"held", b"later", b"meanwhile"]
    client.close_consumer()
    client.consumer("t", kind=kind, permits=10)
    assert sorted(came(broker, client)) == [b"held", b"later", b"meanwhile"]


@KINDS
def test_what_is_kept_is_not_read_again_for_the_next_consumer(kind: int) -> None:
    broker, client = opened(kind, tail_cache_bytes=0)
    later(client, *(b"%d" % number for number in range(50)), after=5_000)
    client.close_consumer()
    before = broker.core.tickets
    client.consumer("t", kind=kind, permits=100)
    assert broker.core.tickets == before
    broker.advance(5_000)
    assert len(client.bodies()) == 50


@ALL
def test_acknowledging_one_by_its_id_before_its_time(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, b"a", b"b", b"c", after=5_000)
    places = [place for _, place in client.receipts()]
    client.ack(places[1])
    client.ack(places[1])
    client.ack(places[1], places[1])
    assert delayed(broker) == 2
    broker.advance(5_000)
    assert came(broker, client) == [b"a", b"c"]
    client.ack(places[0], places[2])
    assert delayed(broker) == 0
    assert broker.sub().backlog() == 0


@ALL
def test_an_early_acknowledgement_of_what_waits_otherwise_is_no_early_one(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, permits=2, **options)
    later(client, b"later", after=5_000)
    client.publish(b"a", b"b", b"c")
    broker.advance(2)
    frames = client.messages()
    places = [place for _, place in client.receipts()]
    client.nack(frames[0].id)
    client.ack(frames[0].id, places[3])
    assert delayed(broker) == 1


@ALL
def test_skipping_clearing_and_expiring(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, *(b"%d" % number for number in range(10)), after=5_000)
    broker.advance(2)
    skip(broker.sub(), 3, ignore)
    broker.turn()
    assert delayed(broker) == 7
    broker.advance(100)
    later(client, b"young", after=5_000)
    broker.advance(2)
    expire_before(broker.sub(), broker.now_ms - 50, ignore)
    broker.turn()
    assert delayed(broker) == 1
    skip(broker.sub(), -1, ignore)
    broker.turn()
    assert delayed(broker) == 0
    later(client, b"fresh", after=5_000)
    broker.advance(10_000)
    assert client.bodies() == [b"fresh"]


@ALL
def test_seeking_back_and_forth(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, b"a", b"b", after=5_000)
    broker.advance(6_000)
    assert len(client.bodies()) == 2
    later(client, b"c", after=5_000)
    places = [place for _, place in client.receipts()]
    assert answered(client.seek(places[1])).name == "SUCCESS"
    client.consumer("t", kind=kind, permits=10)
    assert came(broker, client) == [b"b"]
    assert delayed(broker) == 1
    assert answered(client.seek(((1 << 63) - 1, (1 << 63) - 1))).name == "SUCCESS"
    client.consumer("t", kind=kind, permits=10)
    assert delayed(broker) == 0
    broker.advance(10_000)
    assert client.bodies() == []


@ALL
def test_a_deleted_subscription_leaves_nothing_behind(kind: int, options: dict[str, Any]) -> None:
    broker, client = opened(kind, **options)
    later(client, b"a", after=5_000)
    delete_subscription(broker.sub(), ignore)
    broker.turn()
    client.consumer("t", kind=kind, permits=10)
    broker.advance(10_000)
    assert client.bodies() == [b"a"], "a new subscription begins at the beginning"


@KINDS
def test_giving_back_counts_once_and_does_not_delay_again(kind: int) -> None:
    broker, client = opened(kind)
    later(client, b"a", after=5_000)
    broker.advance(5_000)
    (first,) = client.messages()
    assert first.message.redelivery_count == 0
    client.nack(first.id)
    (second,) = client.messages()
    assert second.message.redelivery_count == 1


@KINDS
def test_permits_and_limits_count_only_what_is_sent(kind: int) -> None:
    broker, client = opened(kind, permits=3, max_unacked_per_consumer=2)
    later(client, *(b"%d" % number for number in range(5)), after=5_000)
    assert broker.sub().consumers[0].permits == 3
    assert broker.sub().dispatcher.unacked() == 0  # type: ignore[union-attr]
    broker.advance(5_000)
    frames = client.messages()
    assert len(frames) == 2, "the limit holds"
    client.ack(*[frame.id for frame in frames])
    assert len(client.messages()) == 1, "the permits are used up"
    client.flow(10)
    frames = client.messages()
    assert len(frames) == 1, "the limit holds again"
    client.ack(*[frame.id for frame in frames])
    assert len(client.messages()) == 1


@KINDS
def test_more_than_a_turn_takes(kind: int) -> None:
    broker, client = opened(kind, permits=100_000)
    count = 2 * DUE_ENTRIES_MAX + 10
    later(client, *(b"%d" % number for number in range(count)), after=5_000)
    assert delayed(broker) < count, "one turn has done it all"
    broker.advance(0)
    broker.advance(0)
    broker.advance(0)
    assert delayed(broker) == count
    broker.advance(4_999)
    assert client.bodies() == []
    broker.advance(2)
    assert len(client.bodies()) == count


@KINDS
def test_turning_it_off_releases_everything(kind: int) -> None:
    broker, client = opened(kind)
    later(client, b"a", b"b", after=5_000)
    broker.options.delayed_delivery = False
    options_changed(broker.core)
    broker.turn()
    assert client.bodies() == [b"a", b"b"]
    later(client, b"c", after=5_000)
    assert client.bodies() == [b"c"]
    broker.options.delayed_delivery = True
    options_changed(broker.core)
    later(client, b"d", after=5_000)
    assert client.bodies() == []


def test_a_delay_above_the_maximum_is_refused() -> None:
    broker, client = opened(SHARED, max_delay_ms=60_000)
    later(client, b"long", after=60_001)
    (refused,) = client.take("SEND_ERROR")
    assert (refused.message.error, "60000 milliseconds" in refused.message.message) == (22, True)
    later(client, b"as long as may be", after=60_000)
    assert len(client.receipts()) == 1
    broker.options.delayed_delivery = False
    options_changed(broker.core)
    later(client, b"long", after=60_001)
    assert len(client.receipts()) == 1, "where nothing is delayed there is no limit"


@KINDS
def test_chunks_and_entries_from_the_log_are_delayed_too(kind: int) -> None:
    broker, client = opened(kind, permits=0, tail_cache_bytes=0)
    later(client, b"a", after=5_000)
    later(client, b"b", after=5_000, batch=3)
    client.flow(10)
    assert (client.bodies(), delayed(broker)) == ([], 2)
    broker.advance(5_000)
    assert client.bodies() == [b"a", b"b"]


@KINDS
def test_explain_names_delayed_messages(kind: int) -> None:
    broker, client = opened(kind)
    later(client, b"a", after=7_000)
    later(client, b"b", after=5_000)
    client.publish(b"c")
    findings = {finding.code: finding for finding in explain_subscription(broker.sub()).findings}
    assert findings[codes.DELAYED].message_count == 2
    assert findings[codes.DELAYED].until_ms == START_MS + 5_000
    assert findings[codes.WAITING_FOR_ACKS].message_count == 1


# -- the key's contract --------------------------------------------------------------------------------


def later_of(scene: Scene, key: str, after: int) -> None:
    scene.numbers[key] = scene.numbers.get(key, 0) + 1
    later(scene.producer, f"{key}:{scene.numbers[key]}".encode(), after=after, key=key)


def test_d1_09_delayed_messages_come_although_the_look_ahead_is_full_of_blocked_keys() -> None:
    scene = Still(delay_tick_ms=1, look_ahead_per_consumer=5, look_ahead_per_subscription=5)
    blocked, idle = scene.join("blocked", permits=0), scene.join("idle")
    theirs, mine = keys_of(scene, "blocked"), keys_of(scene, "idle", 3)
    for key in mine:
        later_of(scene, key, 1_000)
    scene.publish(*theirs * 8)
    assert scene.dispatcher.waiting() == 5, "reading on has stopped"
    # Nobody publishes, nobody asks for more: time alone brings them.
    scene.broker.advance(1_000)
    scene.broker.advance(100)
    assert sorted(idle.new()) == sorted((key, 1) for key in mine)
    for key in theirs:
        later_of(scene, key, 1_000)
    scene.broker.advance(2_000)
    assert (idle.new(), blocked.new()) == ([], [])
    blocked.flow(100)
    scene.broker.advance(100)
    assert sorted(blocked.new()) == [(theirs[0], number) for number in range(1, 10)]


def test_d1_09_many_that_are_due_at_once_pass_those_that_nobody_takes() -> None:
    scene = Still(delay_tick_ms=1, look_ahead_per_consumer=5, look_ahead_per_subscription=5)
    scene.join("blocked", permits=0)
    idle = scene.join("idle")
    theirs, mine = keys_of(scene, "blocked", 3), keys_of(scene, "idle", 3)
    for _ in range(10):
        for key in theirs + mine:
            later_of(scene, key, 1_000)
    scene.broker.advance(1_000)
    for _ in range(10):
        scene.broker.advance(50)
    assert sorted(idle.new()) == sorted((key, number) for key in mine for number in range(1, 11))


def test_d1_22_delayed_and_immediate_messages_of_a_key_mix_and_none_is_stuck() -> None:
    scene = Still(delay_tick_ms=1, key_shared_unblocking_ms=0)
    first = scene.join("first")
    keys = [f"k{number}" for number in range(20)]
    for key in keys:
        later_of(scene, key, 1_000)
    scene.publish(*keys)
    assert first.new() == [(key, 2) for key in keys]
    second = scene.join("second")
    moved = [key for key in keys if scene.owner(key) == "second"]
    assert moved
    # The time of all has come; those of moved keys wait, because the first consumer holds their keys.
    scene.broker.advance(1_000)
    assert sorted(first.new()) == sorted((key, 1) for key in keys if key not in moved)
    assert second.new() == []
    scene.publish(*keys)
    assert second.new() == []
    first.ack(*((key, 2) for key in moved))
    scene.broker.advance(10)
    assert sorted(second.new()) == sorted((key, number) for key in moved for number in (1, 3))
    assert scene.dispatcher.waiting() == scene.dispatcher.delayed_count() == 0


def test_a_delayed_message_never_goes_to_a_second_holder_of_its_key() -> None:
    scene = Still(delay_tick_ms=1, key_shared_unblocking_ms=0)
    first = scene.join("first")
    keys = [f"k{number}" for number in range(20)]
    for key in keys:
        later_of(scene, key, 1_000)
    scene.broker.advance(1_000)
    assert len(first.new()) == 20
    for key in keys:
        later_of(scene, key, 1_000)
    second = scene.join("second")
    moved = [key for key in keys if scene.owner(key) == "second"]
    scene.broker.advance(1_000)
    assert second.new() == []
    first.cut()
    scene.broker.advance(10)
    assert [what for what in second.new() if what[0] in moved] == sorted(
        ((key, number) for key in moved for number in (1, 2)), key=lambda what: (what[1], keys.index(what[0]))
    )


def test_skimming_keeps_delayed_messages_that_it_meets() -> None:
    scene = Still(delay_tick_ms=1, look_ahead_per_consumer=3, look_ahead_per_subscription=3)
    blocked, idle = scene.join("blocked", permits=0), scene.join("idle")
    (theirs,), (mine,) = keys_of(scene, "blocked"), keys_of(scene, "idle")
    scene.publish(*[theirs] * 6)
    later_of(scene, mine, 1_000)
    later_of(scene, theirs, 1_000)
    scene.publish(mine)
    scene.broker.advance(60)
    assert idle.new() == [(mine, 2)]
    assert scene.dispatcher.delayed_count() == 2
    places = [place for _, place in scene.producer.receipts()]
    scene.producer.consumer("t", kind=KEY_SHARED, consumer_id=9)
    scene.producer.ack(places[6], consumer_id=9)
    assert scene.dispatcher.delayed_count() == 1
    scene.producer.close_consumer(9)
    blocked.flow(100)
    scene.broker.advance(2_000)
    scene.broker.advance(100)
    assert blocked.new() == [(theirs, number) for number in range(1, 8)]
    assert idle.new() == []
