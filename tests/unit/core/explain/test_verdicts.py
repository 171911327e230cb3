"""Every verdict, brought about on the real core; a new code without a case here fails the last test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.explain import codes
from magnetar.core.explain.key import explain_key
from magnetar.core.explain.report import Finding
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.subscription import Subscription
from magnetar.core.topic_ops import delete_subscription, terminate
from magnetar.errors import LogFailed
from magnetar.ports.log import ReadDone
from tests.support.corebroker import EXCLUSIVE, FAILOVER, SHARED, START_MS, Client, CoreBroker, entry_of
from tests.unit.core.keyshared.scene import Joined, Scene, Still, keys_of

GUIDE = Path(__file__).parents[4] / "docs/guides/explain.md"
Case = Callable[[], Finding]
CASES: dict[str, Case] = {}


def case(code: str) -> Callable[[Case], Case]:
    def keep(function: Case) -> Case:
        CASES[code] = function
        return function

    return keep


def verdict(sub: Subscription) -> Finding:
    return explain_subscription(sub).findings[0]


def one(kind: int = SHARED, permits: int = 100, **options: object) -> tuple[CoreBroker, Client]:
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=permits, consumer_name="one")
    return broker, client


def drain(**options: object) -> tuple[Scene, Joined, Joined, str]:
    """``first`` holds a key that belongs to ``second`` by now; two more of the key wait."""
    scene = Still(key_shared_unblocking_ms=10, **options)
    first = scene.join("first")
    keys = [f"k{number}" for number in range(20)]
    scene.publish(*keys)
    first.new()
    scene.broker.advance(5_000)
    second = scene.join("second")
    key = next(key for key in keys if scene.owner(key) == "second")
    scene.broker.advance(1_000)
    scene.publish(key, key)
    return scene, first, second, key


@pytest.mark.parametrize("code", codes.FREED_BY)
def test_every_verdict_is_reached(code: str) -> None:
    assert CASES[code]().code == code


def test_every_verdict_is_in_the_guide() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert [code for code in codes.FREED_BY if f"| `{code}` |" not in text] == []


# -- nothing is in the way ------------------------------------------------------------------------------------------


@case(codes.NOTHING_TO_DELIVER)
def nothing_to_deliver() -> Finding:
    broker, client = one()
    client.publish(b"x")
    client.ack(client.messages()[0].id)
    return verdict(broker.sub())


@case(codes.TERMINATED)
def terminated() -> Finding:
    broker, _ = one()
    terminate(broker.topic(), lambda error: None)
    broker.turn()
    return verdict(broker.sub())


@case(codes.WAITING_FOR_ACKS)
def waiting_for_acks() -> Finding:
    for kind, count in ((SHARED, 2), (EXCLUSIVE, 2), (FAILOVER, 2)):
        broker, client = one(kind)
        client.publish(b"x", b"y")
        found = verdict(broker.sub())
        assert (found.code, found.consumers, found.message_count) == (codes.WAITING_FOR_ACKS, ["one"], count)
    return found


@case(codes.ACK_STATE_PAUSE)
def ack_state_pause() -> Finding:
    broker, client = one(permits=0, pause_on_ack_state=True)
    client.publish(b"x")
    broker.log.fail_next(2, LogFailed("the disk is full"))
    client.publish(b"y")
    client.flow(10)
    findings = explain_subscription(broker.sub()).findings
    assert findings[0].code == codes.LOG_FAILING
    return findings[1]


@case(codes.DISPATCH_RATE)
def dispatch_rate() -> Finding:
    broker, client = one(subscription_dispatch_rate_messages=2)
    client.publish(b"x", b"y", b"z")
    found = verdict(broker.sub())
    assert "2 messages a second" in found.text
    assert found.until_ms == START_MS + 500
    return found


@case(codes.BACKLOG_QUOTA)
def backlog_quota() -> Finding:
    broker, client = one(quota_bytes=1)
    client.consumer("t", "other", consumer_id=2)
    client.publish(b"x")
    client.ack(client.messages()[0].id)
    return verdict(broker.sub())


@case(codes.PUBLISH_RATE)
def publish_rate() -> Finding:
    broker, client = one(publish_rate_messages=1)
    other = broker.client()
    other.producer("t")
    frame = other.send_frame(entry_of(b"x"), 0)
    assert other.session.receive(frame + frame) == len(frame)
    broker.turn()
    client.ack(client.messages()[0].id)
    found = verdict(broker.sub())
    assert found.until_ms == START_MS + 1_000
    return found


@case(codes.READY)
def ready() -> Finding:
    broker, client = one(permits=0)
    client.publish(b"x")
    broker.sub().consumers[0].permits = 1
    return verdict(broker.sub())


@case(codes.NOT_KEYED)
def not_keyed() -> Finding:
    broker, _ = one()
    return explain_key(broker.sub(), b"k").findings[0]


# -- the subscription ------------------------------------------------------------------------------------------------


@case(codes.DELETED)
def deleted() -> Finding:
    broker, _ = one()
    sub = broker.sub()
    delete_subscription(sub, lambda error: None)
    return verdict(sub)


@case(codes.CURSOR_MOVING)
def cursor_moving() -> Finding:
    broker, client = one()
    client.publish(b"x")
    broker.auto = False
    client.seek(client.messages()[0].id)
    return verdict(broker.sub())


@case(codes.NO_CONSUMER)
def no_consumer() -> Finding:
    broker, client = one()
    client.publish(b"x", b"y")
    client.close_consumer()
    found = verdict(broker.sub())
    assert found.waiting == 2
    return found


@case(codes.HANDOVER_DELAY)
def handover_delay() -> Finding:
    broker, client = one(FAILOVER)
    client.publish(b"x")
    other = broker.client()
    other.consumer("t", kind=FAILOVER, permits=10, consumer_name="better", priority_level=-1)
    found = verdict(broker.sub())
    assert (found.consumers, found.until_ms, found.waiting) == (["better"], broker.now_ms + 1_000, 1)
    broker.advance(1_000)
    assert verdict(broker.sub()).code == codes.WAITING_FOR_ACKS
    return found


@case(codes.HANDOVER_DRAIN)
def handover_drain() -> Finding:
    broker, client = one(FAILOVER, failover_drain_ms=5_000)
    client.publish(b"x")
    (place,) = [frame.id for frame in client.messages()]
    other = broker.client()
    other.consumer("t", kind=FAILOVER, permits=10, consumer_name="better", priority_level=-1)
    client.publish(b"y")
    found = verdict(broker.sub())
    assert (found.text, found.until_ms, found.waiting) == ("better", broker.now_ms + 5_000, 1)
    assert (found.consumers, found.message_count) == ([broker.sub().consumers[0].name], 1)
    client.ack(place)
    assert verdict(broker.sub()).code == codes.WAITING_FOR_ACKS
    assert other.bodies() == [b"y"]
    return found


@case(codes.SUBSCRIPTION_UNACKED_LIMIT)
def subscription_unacked_limit() -> Finding:
    broker, client = one(max_unacked_per_subscription=3)
    client.publish(*[b"x"] * 5)
    found = verdict(broker.sub())
    assert (found.limit, found.message_count) == (3, 3)
    return found


# -- consumers -------------------------------------------------------------------------------------------------------


@case(codes.CONSUMER_UNACKED_LIMIT)
def consumer_unacked_limit() -> Finding:
    broker, client = one(max_unacked_per_consumer=3)
    client.publish(*[b"x"] * 5)
    found = verdict(broker.sub())
    assert (found.consumers, found.consumer_count, found.limit, found.message_count) == (["one"], 1, 3, 3)
    return found


@case(codes.CONNECTION_SLOW)
def connection_slow() -> Finding:
    broker, client = one()
    client.session.pause()
    other = broker.client()
    other.producer("t", 2)
    other.publish(b"x", producer_id=2)
    return verdict(broker.sub())


@case(codes.NO_PERMITS)
def no_permits() -> Finding:
    for kind in (SHARED, EXCLUSIVE, FAILOVER):
        broker, client = one(kind, permits=1)
        client.publish(b"x", b"y")
        found = verdict(broker.sub())
        assert (found.code, found.consumers, found.since_ms) == (codes.NO_PERMITS, ["one"], START_MS)
    return found


def test_a_consumer_that_can_take_more_stands_before_one_that_cannot() -> None:
    broker, client = one(permits=1)
    client.consumer("t", kind=SHARED, consumer_id=2, consumer_name="two")
    client.publish(b"x", b"y")
    broker.sub().consumers[1].permits = 5
    assert [finding.code for finding in explain_subscription(broker.sub()).findings] == [codes.NO_PERMITS]
    assert verdict(broker.sub()).consumers == ["one"]


@case(codes.CHUNKS_PARKED)
def chunks_parked() -> Finding:
    broker, client = one(permits=1)
    client.consumer("t", kind=SHARED, consumer_id=2, consumer_name="two")

    def chunk(number: int) -> bytes:
        entry = entry_of(b"c", sequence=9, uuid="u", num_chunks_from_msg=3, chunk_id=number, total_chunk_msg_size=3)
        return client.send_frame(entry, 9, chunk=True)

    client.feed(chunk(0))
    client.flow(10, 2)
    client.feed(chunk(1))
    found = verdict(broker.sub())
    assert (found.consumers, found.messages) == (["one"], [1])
    return found


# -- the log ---------------------------------------------------------------------------------------------------------


@case(codes.LOG_FAILING)
def log_failing() -> Finding:
    broker, client = one()
    broker.auto = False
    client.publish(b"x")
    broker.fail("the disk is full")
    found = verdict(broker.sub())
    assert "the disk is full" in found.text
    return found


@case(codes.LOG_WRITE)
def log_write() -> Finding:
    broker, client = one()
    broker.auto = False
    client.publish(b"x", b"y")
    found = verdict(broker.sub())
    assert found.message_count == 2
    broker.commit()
    assert verdict(broker.sub()).code == codes.WAITING_FOR_ACKS
    return found


@case(codes.DELAYED)
def delayed() -> Finding:
    broker, client = one()
    client.publish(b"a", b"b", deliver_at_time=START_MS + 5_000)
    found = verdict(broker.sub())
    assert (found.message_count, found.until_ms) == (2, START_MS + 5_000)
    return found


@case(codes.LOG_READ)
def log_read() -> Finding:
    broker, client = one(permits=0, tail_cache_bytes=1)
    client.publish(b"x")
    broker.auto = False
    client.flow(1)
    found = verdict(broker.sub())
    assert found.messages == [0]
    broker.read()
    assert verdict(broker.sub()).code == codes.WAITING_FOR_ACKS
    return found


@case(codes.LOG_READ_FAILING)
def log_read_failing() -> Finding:
    broker, client = one(permits=0, tail_cache_bytes=1)
    client.publish(b"x")
    broker.auto = False
    client.flow(1)
    (ticket,) = broker.core.reads
    broker.core.read_done(ReadDone(ticket, 0, [], LogFailed("a bad sector")))
    found = verdict(broker.sub())
    assert (found.messages, found.text) == ([0], "a bad sector")
    return found


# -- keys ------------------------------------------------------------------------------------------------------------


@case(codes.DRAINING)
def draining() -> Finding:
    scene, first, _, key = drain()
    found = verdict(scene.sub)
    assert (found.consumers, found.waiting) == (["first"], 2)
    assert (found.sent_ms, found.since_ms) == (START_MS, START_MS + 5_000)
    assert found.message_count == scene.dispatcher.draining() == found.slots == found.keys
    report = explain_key(scene.sub, key.encode())
    assert (report.owner, report.owner_after, report.held_by) == ("first", "second", "first")
    (held,) = report.held
    assert scene.broker.topic().ledgers.position(held) == first.ids[key, 1]
    assert (report.held_count, report.waiting, report.waiting_count) == (1, [20, 21], 2)
    (one_key,) = report.findings
    assert (one_key.code, one_key.consumers, one_key.messages) == (codes.DRAINING, ["first"], [held])
    assert (one_key.since_ms, one_key.sent_ms, one_key.waiting) == (START_MS + 5_000, START_MS, 2)
    return found


@case(codes.UNBLOCKING)
def unblocking() -> Finding:
    scene, first, second, key = drain()
    first.ack((key, 1))
    report = explain_key(scene.sub, key.encode())
    found = report.findings[0]
    assert (found.until_ms, found.keys) == (scene.broker.now_ms + 10, 1)
    assert (report.owner, report.owner_after, report.held_by) == ("second", "second", "")
    assert codes.UNBLOCKING in [finding.code for finding in explain_subscription(scene.sub).findings]
    scene.broker.advance(10)
    assert second.new() == [(key, 2), (key, 3)]
    assert explain_key(scene.sub, key.encode()).findings[0].code == codes.WAITING_FOR_ACKS
    return found


@case(codes.SLOT_DRAINING)
def slot_draining() -> Finding:
    scene = Scene()
    first = scene.join("first")
    scene.dispatcher.drains.keys_max = 0
    scene.publish(*[f"k{number}" for number in range(20)])
    first.new()
    scene.join("second")
    assert scene.dispatcher.drains.keys_left_out
    key = next(key for key in (f"k{n}" for n in range(20)) if scene.owner(key) == "second")
    slot = explain_key(scene.sub, key.encode()).slot
    other = next(text for text in map(str, range(1_000_000)) if explain_key(scene.sub, text.encode()).slot == slot)
    scene.publish(other)
    assert explain_key(scene.sub, key.encode()).findings[0].code == codes.DRAINING
    assert verdict(scene.sub).consumers == ["first"]
    found = explain_key(scene.sub, other.encode()).findings[0]
    assert found.waiting == 1
    return found


@case(codes.NACK_ORDER)
def nack_order() -> Finding:
    scene = Scene(key_shared_nack_order=True)
    first = scene.join("first")
    scene.publish("a", "b", "a", "a")
    first.nack(("a", 1), ("a", 2))
    scene.publish("a")
    found = explain_key(scene.sub, b"a").findings[0]
    assert (found.messages, found.waiting) == ([0, 2], 2)
    assert explain_key(scene.sub, b"b").findings[0].code == codes.WAITING_FOR_ACKS
    assert verdict(scene.sub).code == codes.NACK_ORDER
    return found


@case(codes.SLOT_UNCOVERED)
def slot_uncovered() -> Finding:
    scene = Scene()
    scene.join_sticky("low", (0, 32_767))
    keys = [f"k{number}" for number in range(20)]
    scene.publish(*keys)
    lost = [key for key in keys if not scene.owner(key)]
    found = verdict(scene.sub)
    assert found.waiting == found.keys == len(lost) > 0
    assert explain_key(scene.sub, lost[0].encode()).findings[0].code == codes.SLOT_UNCOVERED
    return found


@case(codes.LOOK_AHEAD_FULL)
def look_ahead_full() -> Finding:
    scene = Scene(look_ahead_per_subscription=5, look_ahead_per_consumer=0)
    scene.join("first", permits=0)
    scene.join("second")
    key = keys_of(scene, "first")[0]
    scene.publish(*[key] * 8)
    found = verdict(scene.sub)
    assert (found.waiting, found.limit) == (5, 5)
    behind = [finding.code for finding in explain_key(scene.sub, key.encode()).findings]
    assert behind == [codes.NO_PERMITS, codes.LOOK_AHEAD_FULL]
    return found


@case(codes.RECENTLY_JOINED)
def recently_joined() -> Finding:
    scene = Scene(key_shared_classic=True)
    scene.join("first", permits=1)
    scene.publish("a", "b")
    scene.join("second")
    scene.publish(keys_of(scene, "second")[0])
    found = verdict(scene.sub)
    assert found.consumers == ["second"]
    return found


def test_a_key_of_a_blocked_owner_and_a_key_of_nobody() -> None:
    scene = Scene(max_unacked_per_consumer=1)
    scene.join("first")
    scene.publish("a", "b")
    report = explain_key(scene.sub, b"b")
    assert [finding.code for finding in report.findings] == [codes.CONSUMER_UNACKED_LIMIT]
    assert (report.owner, report.waiting_count, report.held_count) == ("first", 0, 0)
    assert explain_subscription(scene.sub).unread == 1
    scene.sub.consumers[0].session.drop_consumer(scene.sub.consumers[0])
    scene.broker.turn()
    assert explain_key(scene.sub, b"b").findings[0].code == codes.NO_CONSUMER
    assert isinstance(scene.sub.dispatcher, KeyShared)
