"""Permits, limits on what is unacknowledged, how far reading goes ahead, skimming; policies that conflict."""

from __future__ import annotations

import pytest

from magnetar.core.dispatch.keyshared import READ_ON_MS
from magnetar.core.dispatch.skim import AGAIN_MS, AHEAD_MAX
from magnetar.wire.commands import pb
from tests.support.corebroker import KEY_SHARED, SHARED
from tests.unit.core.keyshared.scene import Joined, Scene, Still, keys_of


@pytest.mark.parametrize(
    ("per_consumer", "per_subscription", "unacked", "unacked_sub", "limit"),
    [
        (4000, 40000, 50000, 200000, 12000),
        (4000, 10000, 50000, 200000, 10000),
        (4000, 0, 50000, 200000, 12000),
        (0, 40000, 50000, 200000, 40000),
        (-1, 700, 50000, 200000, 700),
        (0, 0, 50000, 200000, 150000),
        (0, 0, 90000, 200000, 200000),
        (0, 0, 50000, 0, 150000),
        (0, 0, 0, 777, 777),
        (0, 0, 0, 0, 1 << 30),
    ],
)
def test_how_many_entries_may_wait(
    per_consumer: int, per_subscription: int, unacked: int, unacked_sub: int, limit: int
) -> None:
    scene = Scene(
        look_ahead_per_consumer=per_consumer,
        look_ahead_per_subscription=per_subscription,
        max_unacked_per_consumer=unacked,
        max_unacked_per_subscription=unacked_sub,
    )
    for name in "abc":
        scene.join(name)
    assert scene.dispatcher.look_ahead() == limit


def stalled(limit: int = 5, **options: object) -> tuple[Scene, Joined, Joined, list[str], list[str]]:
    """``slow`` has no permits, ``quick`` has; keys of both."""
    scene = Scene(look_ahead_per_consumer=0, look_ahead_per_subscription=limit, **options)
    slow = scene.join("slow", permits=0)
    quick = scene.join("quick")
    return scene, slow, quick, keys_of(scene, "slow", 5), keys_of(scene, "quick", 5)


def test_waiting_stops_at_the_look_ahead_limit_and_others_are_served_by_skimming() -> None:
    scene, slow, quick, slows, quicks = stalled()
    for round_of_five in range(40):
        scene.publish(*slows, quicks[round_of_five % 5])
    assert scene.dispatcher.waiting() <= 5
    assert len(quick.new()) == 40
    slow.flow(1000)
    scene.settle(1_000)
    got = slow.new()
    assert len(got) == 200
    for key in slows:
        assert [number for one, number in got if one == key] == list(range(1, 41))
    assert quick.new() == []
    assert scene.dispatcher.skim is None
    assert scene.sub.acks.floor == 0
    slow.ack(*got)
    quick.ack(*list(quick.ids))
    assert scene.sub.backlog() == scene.dispatcher.unacked() == 0


def test_skimming_never_lets_a_key_overtake_itself() -> None:
    """A consumer with few permits now and then: what was passed over comes before what lies behind it."""
    scene, slow, quick, slows, quicks = stalled()
    scene.publish(*(slows + quicks) * 30)
    got = {key: [] for key in slows}
    for _ in range(60):
        slow.flow(3)
        scene.settle(AGAIN_MS)
        for key, number in slow.new():
            got[key].append(number)
    assert sum(map(len, got.values())) == 150
    assert all(numbers == list(range(1, 31)) for numbers in got.values())
    assert len(quick.new()) == 150


def test_skimming_goes_only_so_far_ahead() -> None:
    scene, _slow, quick, slows, quicks = stalled(limit=1)
    slow_entries = [b"%s:1" % slows[0].encode()] * 1_000
    for _ in range(AHEAD_MAX // 1_000 + 2):
        scene.producer.publish(*slow_entries, key=slows[0])
    scene.publish(quicks[0])
    assert quick.new() == []
    assert scene.dispatcher.waiting() == 1
    skim = scene.dispatcher.skim
    assert skim is not None
    assert skim.next <= AHEAD_MAX + 2


def test_a_skim_that_waits_sets_one_timer() -> None:
    scene, slow, _quick, slows, _quicks = stalled()
    scene.publish(*slows * 10)
    slow.flow(1)
    before = scene.broker.core.timers
    for _ in range(50):
        slow.flow(1)
    due = [timer for _, _, timer in before._heap if timer.call is not None and "Skim" in str(timer.call)]
    assert len(due) <= 1


@pytest.mark.parametrize("batch", [1, 3, 10])
def test_permits_count_messages_and_at_most_one_entry_goes_over(batch: int) -> None:
    scene = Scene()
    one = scene.join("one", permits=10)
    for number in range(30):
        scene.producer.publish(f"a:{number}".encode(), key="a", batch=batch)
    got = one.new()
    sent = len(got) * batch
    assert 10 <= sent < 10 + batch
    assert one.permits == 10 - sent
    assert scene.held("one").unacked == sent


def test_permits_are_charged_only_for_what_is_sent() -> None:
    scene = Scene()
    first = scene.join("first")
    keys = [f"k{number}" for number in range(30)]
    scene.publish(*keys)
    second = scene.join("second", permits=20)
    moved = [key for key in keys if scene.owner(key) == "second"]
    scene.publish(*keys * 3)
    assert second.permits == 20
    assert scene.held("second").unacked == 0
    first.new_ids()
    first.ack(*[(key, 1) for key in moved])
    scene.settle(20)
    got = second.new()
    assert len(got) == 20
    assert (second.permits, scene.held("second").unacked) == (0, 20)


@pytest.mark.parametrize("limit", [4, 10])
def test_a_consumer_at_its_limit_goes_on_at_half(limit: int) -> None:
    scene = Scene(max_unacked_per_consumer=limit)
    one = scene.join("one")
    scene.publish(*["a"] * 3 * limit)
    got = one.new()
    assert len(got) == limit
    for what in got[: limit - limit // 2 - 1]:
        one.ack(what)
        assert one.new() == []
    one.ack(got[limit - limit // 2 - 1])
    assert len(one.new()) == limit - limit // 2


# Who may join whom.


STICKY = pb.KeySharedMeta(keySharedMode=1)
STICKY.hashRanges.add(start=0, end=9)
LOOSE = pb.KeySharedMeta(keySharedMode=0, allowOutOfOrderDelivery=True)
STRICT = pb.KeySharedMeta(keySharedMode=0)


@pytest.mark.parametrize(
    ("there", "late", "text"),
    [
        (STRICT, LOOSE, "different Key_Shared policy"),
        (LOOSE, STRICT, "different Key_Shared policy"),
        (STRICT, STICKY, "different Key_Shared policy"),
        (STICKY, STRICT, "different Key_Shared policy"),
    ],
)
def test_another_policy_waits_until_all_have_left(there: pb.KeySharedMeta, late: pb.KeySharedMeta, text: str) -> None:
    scene = Scene()
    one = scene.join("one", keySharedMeta=there)
    client = scene.broker.client()
    answer = client.subscribe("t", kind=KEY_SHARED, keySharedMeta=late)
    assert answer is not None
    assert (answer.name, answer.message.error) == ("ERROR", 5)
    assert text in answer.message.message
    one.close()
    assert scene.join("two", keySharedMeta=late).new() == []
    assert scene.sub.sticky == (late is STICKY)
    assert scene.sub.out_of_order == (late is LOOSE)


def test_another_type_waits_until_all_have_left() -> None:
    scene = Scene()
    one = scene.join("one")
    client = scene.broker.client()
    answer = client.subscribe("t", kind=SHARED)
    assert answer is not None
    assert (answer.message.error, answer.message.message.startswith("Subscription is of different type")) == (5, True)
    one.close()
    client.consumer("t", kind=SHARED)


def test_a_sticky_conflict_with_a_live_consumer_is_refused_and_the_others_go_on() -> None:
    scene = Scene()
    one = scene.join_sticky("one", (0, 100))
    client = scene.broker.client()
    meta = pb.KeySharedMeta(keySharedMode=1)
    meta.hashRanges.add(start=50, end=200)
    request = client.subscribe("t", kind=KEY_SHARED, keySharedMeta=meta)
    assert request is None, "the holder is asked for a sign of life first"
    one.client.say(pb.CommandPong())
    answer = client.answer(client.requests)
    assert answer is not None
    assert answer.message.error == 19
    assert "Range conflict with consumer one" in answer.message.message
    assert [consumer.name for consumer in scene.sub.consumers] == ["one"]


@pytest.mark.parametrize("ranges", [[], [(9, 5)], [(0, 10), (5, 20)]])
def test_ranges_that_make_no_sense_are_refused(ranges: list[tuple[int, int]]) -> None:
    scene = Scene()
    meta = pb.KeySharedMeta(keySharedMode=1)
    for first, last in ranges:
        meta.hashRanges.add(start=first, end=last)
    answer = scene.broker.client().subscribe("t", kind=KEY_SHARED, keySharedMeta=meta)
    assert answer is not None
    assert answer.message.error == 19
    assert scene.sub.consumers == []


def test_of_what_is_read_in_one_pass_only_so_much_may_wait() -> None:
    """So that consumers that ask for more in time are sent what is read, and not what has waited."""
    scene = Still()
    slow = scene.join("slow", permits=0)
    quick = scene.join("quick")
    (theirs,), (ours,) = keys_of(scene, "slow"), keys_of(scene, "quick")
    scene.producer.publish(*[b"%s:%d" % (theirs.encode(), number) for number in range(250)], key=theirs)
    scene.publish(ours)
    waiting = scene.dispatcher.waiting()
    assert waiting < 250
    assert quick.new() == []
    slow.flow(1000)
    assert slow.new() == [(theirs, number) for number in range(250)]
    assert quick.new() == [(ours, 1)]
    # Nobody has to do anything for reading to go on.
    scene.held("slow").permits = 0
    scene.producer.publish(*[b"%s:%d" % (theirs.encode(), number) for number in range(250, 750)], key=theirs)
    scene.publish(ours)
    assert quick.new() == []
    scene.broker.advance(5 * READ_ON_MS)
    assert quick.new() == [(ours, 2)]
    assert scene.dispatcher.waiting() == 500


def test_skimming_anew_that_ends_early_remembers_what_lies_ahead() -> None:
    scene = Scene(look_ahead_per_consumer=0, look_ahead_per_subscription=1)
    slow, middle, quick = scene.join("slow", 0), scene.join("middle", 0), scene.join("quick", 2)
    (first,), (second,), (third,) = (keys_of(scene, name) for name in ("slow", "middle", "quick"))
    scene.publish(first, second, third, third)
    assert quick.new() == [(third, 1), (third, 2)]
    middle.flow(1)
    scene.settle(AGAIN_MS)
    assert middle.new() == [(second, 1)]
    slow.flow(10)
    quick.flow(10)
    middle.flow(10)
    scene.settle(AGAIN_MS)
    assert (slow.new(), middle.new(), quick.new()) == ([(first, 1)], [], [])
    assert scene.dispatcher.unacked() == 4
