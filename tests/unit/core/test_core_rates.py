"""Rates in the core, with time moved by hand: publishing, dispatching, subscribing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.core.explain import codes
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.policies.follow import options_changed
from magnetar.core.policies.values import Rate
from magnetar.core.throttle import DEBT_MAX_MS, Bucket, Throttle
from tests.support.corebroker import EXCLUSIVE, FAILOVER, KEY_SHARED, SHARED, Client, CoreBroker, answered, entry_of
from tests.unit.core.policies import set_namespace, set_topic

_SECOND_MS = 1_000
BY_CLUSTER = "standalone"


def dispatch_rate(messages: int = -1, size: int = -1, period: int = 1, relative: bool = False) -> dict[str, Any]:
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "relativeToPublishRate": relative,
        "ratePeriodInSecond": period,
    }


def publish_rate(messages: int = -1, size: int = -1) -> dict[str, Any]:
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": size}


# -- buckets -----------------------------------------------------------------------------------------------------------


def test_a_bucket_gives_its_rate_and_not_more_than_a_period_at_once() -> None:
    bucket = Bucket(10, _SECOND_MS, 0)
    assert bucket.left(5 * _SECOND_MS) == 10
    bucket.take(10)
    assert bucket.left(5 * _SECOND_MS) == 0
    assert bucket.ready_ms(5 * _SECOND_MS) == 5_100
    assert bucket.left(5_099) == 0
    assert bucket.left(5_100) == 1
    assert bucket.left(60 * _SECOND_MS) == 10


def test_debt_is_paid_back_but_never_for_longer_than_a_client_waits() -> None:
    bucket = Bucket(10, _SECOND_MS, 0)
    bucket.take(40)
    assert bucket.left(0) == -30
    assert bucket.ready_ms(0) == 3_100
    bucket.take(1_000_000)
    assert bucket.ready_ms(0) == DEBT_MAX_MS + 100


def test_a_relative_rate_follows_what_is_published() -> None:
    throttle = Throttle(Rate(10, 0, _SECOND_MS, True), 0)
    throttle.follow_publishing(0, 0, 0)
    throttle.take(10, 0)
    throttle.follow_publishing(200, 0, 2 * _SECOND_MS)
    throttle.take(throttle.messages_left(2 * _SECOND_MS), 0)
    assert throttle.messages_left(2_500) == 55


# -- publishing --------------------------------------------------------------------------------------------------------


def sends(client: Client, count: int, size: int = 10, ident: int = 1) -> bytes:
    frames = [client.send_frame(entry_of(bytes(size), sequence=k), k, ident) for k in range(count)]
    return b"".join(frames)


def arrive(broker: CoreBroker, client: Client, data: bytes) -> bytes:
    """Bytes arrive at a connection; what it does not take yet."""
    rest = data[client.session.receive(data) :]
    broker.turn()
    return rest


def test_a_producer_ahead_of_the_rate_is_held_and_goes_on_by_itself_exactly_at_the_rate() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    set_topic(broker, "publishMaxMessageRate", publish_rate(10))
    rest = arrive(broker, client, sends(client, 35))
    counts = [broker.topic().tail.end]
    while rest:
        assert client.session.full()
        assert broker.core.timers.next_due() <= client.session.held_until_ms
        broker.advance(client.session.held_until_ms - broker.now_ms)
        assert not client.session.full()
        rest = arrive(broker, client, rest)
        counts.append(broker.topic().tail.end)
    assert counts == list(range(10, 36))
    assert broker.now_ms - broker.topic().created_ms == 2_500
    assert [sequence for sequence, _ in client.receipts()] == list(range(35))


def test_bytes_count_as_well_and_a_large_entry_passes_on_credit() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    set_namespace(broker, "publishMaxMessageRate", {BY_CLUSTER: publish_rate(size=1_000)})
    rest = arrive(broker, client, sends(client, 2, 3_000))
    assert broker.topic().tail.end == 1
    assert 2_000 < client.session.held_until_ms - broker.now_ms < 2_200
    broker.advance(2_200)
    assert arrive(broker, client, rest) == b""
    assert broker.topic().tail.end == 2


def test_what_stands_before_a_held_publish_is_handled_and_what_stands_behind_it_is_not() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.producer("other", producer_id=2)
    set_topic(broker, "publishMaxMessageRate", publish_rate(1))
    free = sends(client, 1, ident=2)
    rest = arrive(broker, client, sends(client, 1) + free + sends(client, 1) + free)
    assert broker.topic("other").tail.end == 1
    assert rest == sends(client, 1) + free


def test_a_higher_rate_and_no_rate_let_a_held_producer_go_on_at_once() -> None:
    for after in (publish_rate(1_000), publish_rate()):
        broker = CoreBroker()
        client = broker.client()
        client.producer("t")
        set_topic(broker, "publishMaxMessageRate", publish_rate(1))
        rest = arrive(broker, client, sends(client, 20))
        assert client.session.full()
        set_topic(broker, "publishMaxMessageRate", after)
        assert not client.session.full()
        assert arrive(broker, client, rest) == b""
        assert broker.topic().tail.end == 20
    assert not client.session.metered


def test_the_broker_has_a_rate_for_topics_that_have_none_and_producers_share_it() -> None:
    broker = CoreBroker(publish_rate_messages=10)
    one, two = broker.client(), broker.client()
    one.producer("t")
    two.producer("t")
    assert arrive(broker, one, sends(one, 6)) == b""
    assert arrive(broker, two, sends(two, 6)) == sends(two, 6)[len(sends(two, 4)) :]
    assert broker.topic().tail.end == 10
    one.consumer("t", "s", permits=10)
    findings = explain_subscription(broker.sub()).findings
    assert codes.PUBLISH_RATE in [finding.code for finding in findings]


# -- dispatching -------------------------------------------------------------------------------------------------------


def with_backlog(kind: int, consumers: int = 1, entries: int = 100, **options: Any) -> CoreBroker:
    broker = CoreBroker(keep_alive_ms=1 << 40, **options)
    producer = broker.client()
    producer.producer("t")
    for _ in range(consumers):
        broker.client().consumer("t", kind=kind)
    for k in range(entries):
        producer.publish(b"%d" % k, key=f"k{k % 7}")
    return broker


def flow(broker: CoreBroker, permits: int = 1_000) -> None:
    for client in broker.clients[1:]:
        client.flow(permits)


def got(broker: CoreBroker) -> int:
    return sum(len(client.messages()) for client in broker.clients[1:])


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED])
@pytest.mark.parametrize("policy", ["subscriptionDispatchRate", "topicDispatchRate"])
def test_dispatching_keeps_to_the_rate_and_goes_on_by_a_timer(kind: int, policy: str) -> None:
    broker = with_backlog(kind, 1 if kind == EXCLUSIVE else 3)
    set_namespace(broker, policy, {BY_CLUSTER: dispatch_rate(10)})
    flow(broker)
    assert got(broker) == 10
    assert explain_subscription(broker.sub()).findings[0].code == codes.DISPATCH_RATE
    seen = 10
    for _ in range(5):
        broker.advance(_SECOND_MS)
        seen += got(broker)
        assert seen == 10 + 10 * (broker.now_ms - broker.topic().created_ms) // _SECOND_MS
    set_namespace(broker, policy, None)
    assert got(broker) == 100 - seen


def test_what_the_classic_dispatcher_hands_out_later_counts_as_well() -> None:
    broker = with_backlog(KEY_SHARED, 3, key_shared_classic=True)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(50))
    flow(broker, 20)
    broker.advance(10)
    seen = got(broker)
    assert 50 < seen <= 60
    flow(broker)
    assert got(broker) == 0
    assert explain_subscription(broker.sub()).findings[0].code == codes.DISPATCH_RATE
    broker.advance(_SECOND_MS)
    assert got(broker) == 100 - seen


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, KEY_SHARED])
def test_bytes_are_kept_to_as_well(kind: int) -> None:
    broker = with_backlog(kind)
    size = len(entry_of(b"10", key="k1"))
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(size=5 * size))
    flow(broker)
    seen = got(broker)
    assert 4 <= seen <= 6
    for _ in range(10):
        broker.advance(_SECOND_MS)
        seen += got(broker)
    assert 50 <= seen <= 60


def test_subscriptions_share_the_rate_of_the_topic_and_topics_that_of_the_broker() -> None:
    broker = with_backlog(SHARED, dispatch_rate_messages=30)
    other = broker.client()
    other.consumer("t", "second", permits=1_000)
    flow(broker)
    assert got(broker) == 30
    broker.options.dispatch_rate_messages = 0
    options_changed(broker.core)
    broker.turn()
    assert got(broker) == 170


def test_permits_are_what_they_were_and_priorities_and_limits_hold_while_a_rate_is_kept() -> None:
    broker = with_backlog(SHARED, max_unacked_per_subscription=25)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(10))
    flow(broker)
    consumer = broker.sub().consumers[0]
    assert (got(broker), consumer.permits) == (10, 990)
    broker.advance(10 * _SECOND_MS)
    assert got(broker) == 15
    assert broker.sub().dispatcher is not None
    assert broker.sub().dispatcher.unacked() == 25
    finding = explain_subscription(broker.sub()).findings[0]
    assert finding.code == codes.SUBSCRIPTION_UNACKED_LIMIT
    broker = with_backlog(EXCLUSIVE)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(10))
    flow(broker, 50)
    assert (got(broker), broker.sub().consumers[0].permits) == (10, 40)


def test_the_order_of_keys_is_kept_under_a_rate() -> None:
    broker = with_backlog(KEY_SHARED, 3)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(7))
    flow(broker)
    order: dict[str, list[int]] = {}
    for _ in range(20):
        for client in broker.clients[1:]:
            for message in client.messages():
                number = int(message.body)
                order.setdefault(f"k{number % 7}", []).append(number)
        broker.advance(_SECOND_MS)
    assert all(numbers == sorted(numbers) for numbers in order.values())
    assert sum(map(len, order.values())) == 100


def test_who_is_nearly_caught_up_is_held_to_the_rate_only_where_the_broker_says_so() -> None:
    broker = with_backlog(SHARED, throttle_caught_up=False)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(10))
    flow(broker)
    assert got(broker) == 100
    broker = with_backlog(SHARED, entries=1_200, throttle_caught_up=False)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(10))
    flow(broker, 10_000)
    assert got(broker) == 10


def test_a_relative_dispatch_rate_lets_what_is_published_through() -> None:
    broker = with_backlog(SHARED, entries=0)
    set_topic(broker, "subscriptionDispatchRate", dispatch_rate(10, relative=True))
    flow(broker, 100_000)
    seen = 0
    for _ in range(100):
        broker.clients[0].publish(*[b"m"] * 10)
        broker.advance(100)
        seen += got(broker)
    assert seen > 900
    strict = with_backlog(SHARED, entries=0)
    set_topic(strict, "subscriptionDispatchRate", dispatch_rate(10))
    flow(strict, 100_000)
    for _ in range(100):
        strict.clients[0].publish(*[b"m"] * 10)
        strict.advance(100)
    assert 100 <= got(strict) <= 120


# -- subscribing -------------------------------------------------------------------------------------------------------


def test_a_consumer_may_subscribe_so_often_in_a_period_and_others_are_counted_on_their_own() -> None:
    broker = CoreBroker(subscribe_rate=2, keep_alive_ms=1 << 40)
    client = broker.client()
    for _ in range(2):
        client.consumer("t")
        client.close_consumer()
    refused = answered(client.subscribe("t"))
    assert (refused.name, refused.message.error) == ("ERROR", 22)
    client.consumer("t", consumer_id=2)
    broker.advance(16 * _SECOND_MS)
    client.consumer("t")
    set_topic(broker, "clusterSubscribeRate", {"subscribeThrottlingRatePerConsumer": -1, "ratePeriodInSecond": 30})
    for _ in range(5):
        client.close_consumer()
        client.consumer("t")


# -- the pause ---------------------------------------------------------------------------------------------------------


def test_nothing_is_dispatched_while_acknowledgements_cannot_be_made_durable() -> None:
    broker = with_backlog(SHARED)
    set_topic(broker, "dispatcherPauseOnAckStatePersistentEnabled", True)
    flow(broker, 10)
    consumer = broker.clients[1]
    messages = consumer.messages()
    assert len(messages) == 10
    consumer.ack(messages[0].id)
    broker.fail("the disk is full")
    broker.log.fail_next(5, OSError("the disk is full"))
    consumer.ack(messages[1].id)
    broker.advance(1_000)
    consumer.flow(10)
    assert consumer.messages() == []
    assert explain_subscription(broker.sub()).findings[1].code == codes.ACK_STATE_PAUSE
    broker.advance(30 * _SECOND_MS)
    assert len(consumer.messages()) == 10


def test_without_the_policy_dispatching_goes_on_while_the_log_fails() -> None:
    broker = with_backlog(SHARED)
    consumer = broker.clients[1]
    flow(broker, 10)
    consumer.ack(consumer.messages()[0].id)
    broker.log.fail_next(5, OSError("the disk is full"))
    consumer.ack(*[(1, 1)])
    consumer.flow(10)
    assert len(consumer.messages()) == 10


@given(
    cuts=st.lists(st.integers(1, 400), min_size=1, max_size=20),
    rate=st.integers(1, 20),
    size=st.integers(0, 2_000),
    waits=st.lists(st.integers(0, 3_000), min_size=1, max_size=10),
)
def test_however_the_bytes_arrive_every_publish_is_taken_once_and_in_order(
    cuts: list[int], rate: int, size: int, waits: list[int]
) -> None:
    broker = CoreBroker(publish_rate_messages=rate, publish_rate_bytes=size, keep_alive_ms=1 << 40)
    client = broker.client()
    client.producer("t")
    client.producer("free", producer_id=2)
    one, two = sends(client, 10), sends(client, 5, ident=2)
    half = len(two) // 5 * 2
    coming = two[:half] + one + two[half:]
    rest, at, turn = b"", 0, 0
    while at < len(coming) or rest:
        if not client.session.full():
            step = cuts[turn % len(cuts)]
            rest = arrive(broker, client, rest + coming[at : at + step])
            at = min(at + step, len(coming))
        broker.advance(waits[turn % len(waits)] + 1)
        turn += 1
    receipts = client.take("SEND_RECEIPT")
    assert [each.message.sequence_id for each in receipts if each.message.producer_id == 1] == list(range(10))
    assert [each.message.sequence_id for each in receipts if each.message.producer_id == 2] == list(range(5))
