"""Non-persistent topics in the core: who gets a message, what is dropped, and that nothing of it is ever stored."""

from __future__ import annotations

from typing import Any

import pytest

from magnetar.core.catalog import NAMESPACES, encode_row
from magnetar.core.creating import create_partitioned, delete_partitioned, delete_topic
from magnetar.core.explain.subscription import explain_subscription
from magnetar.core.names import TopicName
from magnetar.core.nonpersistent.opening import IDLE_CHECK_MS
from magnetar.core.nonpersistent.subscription import NonPersistentSubscription
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.core.policies.follow import options_changed
from magnetar.core.topic_ops import unload
from magnetar.wire.commands import pb
from tests.support.corebroker import (
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    Client,
    CoreBroker,
    answered,
    entry_of,
)

TOPIC = "non-persistent://public/default/t"


def topic_of(broker: CoreBroker, name: str = TOPIC) -> NonPersistentTopic:
    found = broker.core.topics[name]
    assert isinstance(found, NonPersistentTopic)
    return found


def sub_of(broker: CoreBroker, name: str = "s") -> NonPersistentSubscription:
    found = topic_of(broker).subscriptions[name]
    assert isinstance(found, NonPersistentSubscription)
    return found


def _nothing(*answer: object) -> None:
    """Nobody asked."""


def opened(**options: Any) -> tuple[CoreBroker, Client]:
    """A broker and a client with a producer on the topic."""
    broker = CoreBroker(**options)
    client = broker.client()
    assert answered(client.producer(TOPIC)).name == "PRODUCER_SUCCESS"
    return broker, client


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_a_message_goes_to_who_is_there_and_has_the_place_that_all_have(kind: int) -> None:
    broker, client = opened()
    client.publish(b"before")
    client.consumer(TOPIC, "s", kind, permits=10)
    client.publish(b"one", b"two")
    messages = client.messages()
    assert [(frame.body, frame.id) for frame in messages] == [(b"one", (0, 0)), (b"two", (0, 0))]
    assert client.receipts() == [(0, (0, 0)), (1, (0, 0)), (2, (0, 0))]
    assert (topic_of(broker).messages_in, topic_of(broker).dropped) == (3, 0)


def test_the_receipt_does_not_wait_for_the_log_and_nothing_is_written_to_it() -> None:
    broker, client = opened()
    client.consumer(TOPIC, permits=5)
    broker.auto = False
    client.publish(b"now")
    assert client.receipts() == [(0, (0, 0))]
    assert client.bodies() == [b"now"]
    client.ack((0, 0))
    assert broker.core.in_flight is None
    assert broker.core.commit.empty()
    assert topic_of(broker).states() == []


def test_every_subscription_gets_its_own_copy() -> None:
    _, client = opened()
    for number, name in enumerate(("a", "b", "c")):
        client.consumer(TOPIC, name, SHARED, number, permits=1)
    client.publish(b"x")
    assert client.bodies() == [b"x"] * 3


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_without_permits_a_message_is_dropped_and_counted(kind: int) -> None:
    broker, client = opened()
    client.consumer(TOPIC, "s", kind, permits=2)
    client.publish(b"1", b"2", b"3", b"4")
    assert client.bodies() == [b"1", b"2"]
    assert len(client.receipts()) == 4
    assert (sub_of(broker).dropped, topic_of(broker).dropped, topic_of(broker).messages_in) == (2, 2, 4)
    client.flow(5)
    assert client.bodies() == [], "what was dropped does not come back"
    client.publish(b"5")
    assert client.bodies() == [b"5"]


def test_a_batch_counts_as_its_messages() -> None:
    broker, client = opened()
    client.consumer(TOPIC, permits=1)
    client.publish(b"batch", batch=5)
    client.publish(b"again", batch=5)
    assert client.bodies() == [b"batch"]
    assert (topic_of(broker).messages_in, topic_of(broker).dropped) == (10, 5)


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_a_consumer_whose_connection_takes_nothing_is_passed_over(kind: int) -> None:
    broker, client = opened()
    slow = broker.client()
    slow.consumer(TOPIC, "s", kind, permits=100)
    slow.session.pause()
    client.publish(b"lost")
    slow.session.resume()
    client.publish(b"kept")
    assert slow.bodies() == [b"kept"]
    assert sub_of(broker).dropped == 1


def test_shared_consumers_take_turns_and_better_priorities_go_first() -> None:
    _, client = opened()
    client.consumer(TOPIC, "s", SHARED, 1, permits=3)
    client.consumer(TOPIC, "s", SHARED, 2, permits=3)
    client.consumer(TOPIC, "s", SHARED, 3, permits=10, priority_level=1)
    client.publish(*(b"%d" % number for number in range(8)))
    got = [frame.message.consumer_id for frame in client.messages()]
    assert got == [1, 2, 1, 2, 1, 2, 3, 3]


def test_a_key_goes_to_one_consumer_and_nowhere_else_while_it_has_no_permits() -> None:
    broker, client = opened()
    for number in (1, 2, 3):
        client.consumer(TOPIC, "s", KEY_SHARED, number, permits=1_000)
    keys = [f"key-{number % 20}" for number in range(200)]
    for key in keys:
        client.publish(key.encode(), key=key)
    owners: dict[bytes, set[int]] = {}
    for frame in client.messages():
        owners.setdefault(frame.body, set()).add(frame.message.consumer_id)
    assert len(owners) == 20
    assert all(len(who) == 1 for who in owners.values())
    assert {number for who in owners.values() for number in who} == {1, 2, 3}
    (gone,) = owners[b"key-0"]
    client.close_consumer(gone)
    client.publish(b"key-0", key="key-0")
    assert [frame.message.consumer_id != gone for frame in client.messages()] == [True]
    assert sub_of(broker).dropped == 0


def test_sticky_ranges_are_kept_to() -> None:
    broker, client = opened()
    meta = pb.KeySharedMeta(keySharedMode=pb.KeySharedMode.STICKY)
    meta.hashRanges.add(start=0, end=32767)
    client.consumer(TOPIC, "s", KEY_SHARED, 1, permits=1_000, keySharedMeta=meta)
    for number in range(100):
        client.publish(b"%d" % number, key=f"key-{number}")
    received = len(client.messages())
    assert 0 < received < 100
    assert sub_of(broker).dropped == 100 - received


def test_one_failover_consumer_is_active_and_all_hear_who() -> None:
    _, client = opened(failover_delay_ms=1_000)
    for number, name in ((1, "a"), (2, "b")):
        client.consumer(TOPIC, "s", FAILOVER, number, permits=10, consumer_name=name)
    heard = {f.message.consumer_id: f.message.is_active for f in client.take("ACTIVE_CONSUMER_CHANGE")}
    assert sorted(heard.values()) == [False, True]
    active = next(number for number, is_active in heard.items() if is_active)
    client.publish(b"1")
    assert [frame.message.consumer_id for frame in client.messages()] == [active]
    client.close_consumer(active)
    other = 3 - active
    changes = [(f.message.consumer_id, f.message.is_active) for f in client.take("ACTIVE_CONSUMER_CHANGE")]
    assert changes == [(other, True)]
    client.publish(b"2")
    assert [frame.message.consumer_id for frame in client.messages()] == [other]


def test_a_hand_over_to_a_better_consumer_drops_nothing() -> None:
    broker, client = opened(failover_delay_ms=1_000)
    client.consumer(TOPIC, "s", FAILOVER, 1, permits=10, priority_level=1)
    client.consumer(TOPIC, "s", FAILOVER, 2, permits=10, priority_level=0)
    client.publish(b"at once")
    assert [frame.message.consumer_id for frame in client.messages()] == [2]
    assert sub_of(broker).dropped == 0


def test_an_exclusive_subscription_takes_one_consumer() -> None:
    broker, client = opened()
    client.consumer(TOPIC, "s", EXCLUSIVE, 1)
    assert answered(client.subscribe(TOPIC, "s", EXCLUSIVE, 2)).message.error == pb.ServerError.ConsumerBusy
    assert answered(client.subscribe(TOPIC, "s", SHARED, 2)).message.error == pb.ServerError.ConsumerBusy
    client.close_consumer(1)
    client.consumer(TOPIC, "s", SHARED, 2)
    assert sub_of(broker).kind == "Shared"


def test_too_many_of_one_connection_in_one_go_are_dropped_and_answered_without_a_place() -> None:
    broker, client = opened(non_persistent_pending_max=3)
    client.producer("non-persistent://public/default/u", 2)
    client.consumer(TOPIC, permits=100)
    frames = [client.send_frame(entry_of(b"%d" % number, sequence=number), number) for number in range(5)]
    frames.append(client.send_frame(entry_of(b"other", sequence=9), 9, producer_id=2))
    client.feed(b"".join(frames))
    assert client.receipts() == [
        (0, (0, 0)),
        (1, (0, 0)),
        (2, (0, 0)),
        (3, (2**64 - 1, 2**64 - 1)),
        (4, (2**64 - 1, 2**64 - 1)),
        (9, (2**64 - 1, 2**64 - 1)),
    ]
    assert len(client.bodies()) == 3
    assert (topic_of(broker).dropped, topic_of(broker).messages_in) == (2, 3)
    assert client.session.producers[1].dropped == 2
    client.publish(b"later")
    assert client.bodies() == [b"later"], "the limit is for what is in progress"


def test_a_persistent_topic_of_the_same_name_is_another_topic() -> None:
    broker, client = opened()
    client.producer("t", 2)
    client.consumer("t", "s", SHARED, 1, permits=10)
    client.consumer(TOPIC, "s", SHARED, 2, permits=10)
    client.publish(b"kept", producer_id=2)
    client.publish(b"passed on", producer_id=1)
    assert [(f.message.consumer_id, f.body) for f in client.messages()] == [(1, b"kept"), (2, b"passed on")]
    assert broker.topic("t").messages_in == 1


def test_after_a_restart_the_topic_is_gone_and_its_partitioned_form_is_not() -> None:
    broker, client = opened()
    client.consumer(TOPIC)
    create_partitioned(broker.core, TopicName(TOPIC + "p"), 2, True, _nothing)
    broker.turn()
    client.producer(TOPIC + "p-partition-1", 2)
    broker.restart()
    assert broker.core.topics == {}
    assert broker.core.catalog.topic_names("public/default", "non-persistent") == [
        TOPIC + "p-partition-0",
        TOPIC + "p-partition-1",
    ]
    client = broker.client()
    assert answered(client.producer(TOPIC + "p-partition-1")).name == "PRODUCER_SUCCESS"


def test_partitions_carry_their_number_and_go_with_their_topic() -> None:
    broker = CoreBroker()
    client = broker.client()
    create_partitioned(broker.core, TopicName(TOPIC), 2, True, _nothing)
    broker.turn()
    assert answered(client.producer(TOPIC)).message.error == pb.ServerError.NotAllowedError
    client.producer(TOPIC + "-partition-1")
    client.consumer(TOPIC + "-partition-1", permits=1)
    client.publish(b"x")
    assert [frame.message.message_id.partition for frame in client.messages()] == [1]
    delete_partitioned(broker.core, TopicName(TOPIC), _nothing)
    broker.turn()
    assert broker.core.topics == {}
    assert client.take("CLOSE_CONSUMER")


def test_a_topic_that_nobody_uses_is_closed_subscriptions_or_not() -> None:
    broker, client = opened(keep_alive_ms=10**9)
    client.consumer(TOPIC)
    client.close_producer()
    broker.advance(3 * IDLE_CHECK_MS)
    assert TOPIC in broker.core.topics, "a consumer is a use"
    client.close_consumer()
    assert list(topic_of(broker).subscriptions) == ["s"]
    broker.advance(2 * IDLE_CHECK_MS)
    assert broker.core.topics == {}
    assert broker.core.catalog.live == {}
    client.producer(TOPIC, 2)
    assert TOPIC in broker.core.topics


def test_a_namespace_may_say_that_unused_topics_stay() -> None:
    broker = CoreBroker(keep_alive_ms=10**9)
    row = {"inactive_topic_policies": {"deleteWhileInactive": False, "maxInactiveDurationSeconds": 1}}
    broker.rows[NAMESPACES + "public/default"] = encode_row(row)
    broker.restart()
    client = broker.client()
    client.producer(TOPIC)
    client.close_producer()
    broker.advance(5 * IDLE_CHECK_MS)
    assert TOPIC in broker.core.topics


def test_a_readers_subscription_goes_with_it_and_another_stays() -> None:
    broker, client = opened()
    client.consumer(TOPIC, "reader-1", EXCLUSIVE, 1, durable=False)
    client.consumer(TOPIC, "s", EXCLUSIVE, 2)
    for number in (1, 2):
        client.close_consumer(number)
    assert list(topic_of(broker).subscriptions) == ["s"]


def test_unsubscribe_takes_the_subscription_away() -> None:
    broker, client = opened()
    client.consumer(TOPIC)
    assert answered(client.ask(pb.CommandUnsubscribe(consumer_id=1))).name == "SUCCESS"
    assert topic_of(broker).subscriptions == {}


def test_what_makes_no_sense_here_is_answered_and_changes_nothing() -> None:
    broker, client = opened()
    client.consumer(TOPIC, permits=10)
    assert answered(client.seek((0, 0))).name == "SUCCESS"
    assert answered(client.last_id()).id == (2**64 - 1, 2**64 - 1)
    client.publish(b"x")
    client.nack((0, 0))
    client.redeliver_all()
    assert answered(client.ack((0, 0), receipt=True)).name == "ACK_RESPONSE"
    client.ack((0, 0), ack_type=1)
    assert client.bodies() == [b"x"]
    assert answered(client.ask(pb.CommandConsumerStats(consumer_id=1))).message.msgBacklog == 0
    assert explain_subscription(sub_of(broker)).findings


def test_producers_own_the_topic_by_the_same_rules() -> None:
    _, client = opened()
    client.close_producer()
    assert answered(client.producer(TOPIC, 2, producer_access_mode=1)).message.topic_epoch == 0
    assert answered(client.producer(TOPIC, 3)).message.error == pb.ServerError.ProducerBusy
    assert answered(client.producer(TOPIC, 4, producer_access_mode=3)).message.topic_epoch == 1
    assert [frame.message.producer_id for frame in client.take("CLOSE_PRODUCER")] == [2]


def test_deduplication_does_not_apply_whenever_it_is_switched_on() -> None:
    broker, client = opened(deduplication=True)
    client.consumer(TOPIC, permits=10)
    for switched in (False, True, False):
        for _ in range(2):
            client.feed(client.send_frame(entry_of(b"same", sequence=1), 1))
        broker.core.options.deduplication = switched
        options_changed(broker.core)
    assert len(client.bodies()) == 6
    assert broker.core.commit.empty()


def test_an_initial_subscription_is_there_for_whoever_comes() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer(TOPIC, initial_subscription_name="first")
    assert list(topic_of(broker).subscriptions) == ["first"]


def test_limits_of_the_topic_hold() -> None:
    _, client = opened(max_subscriptions_per_topic=1, max_producers_per_topic=1, max_consumers_per_topic=1)
    client.consumer(TOPIC)
    assert answered(client.subscribe(TOPIC, "other", consumer_id=2)).message.error == pb.ServerError.NotAllowedError
    assert answered(client.subscribe(TOPIC, "s", consumer_id=3)).message.error == pb.ServerError.ConsumerBusy
    assert answered(client.producer(TOPIC, 2)).message.error == pb.ServerError.ProducerBusy


def test_they_can_be_switched_off_and_are_created_by_use_only_where_that_is_allowed() -> None:
    client = CoreBroker(non_persistent_topics=False).client()
    assert answered(client.producer(TOPIC)).message.error == pb.ServerError.NotAllowedError
    client = CoreBroker(auto_create_topics=False).client()
    assert answered(client.producer(TOPIC)).message.error == pb.ServerError.TopicNotFound
    answer = client.producer("non-persistent://public/none/t")
    assert answered(answer).message.error == pb.ServerError.TopicNotFound


def test_delete_and_unload_send_everybody_away() -> None:
    broker, client = opened()
    client.consumer(TOPIC)
    unload(topic_of(broker))
    broker.turn()
    assert sorted(client.names()) == ["CLOSE_CONSUMER", "CLOSE_PRODUCER"]
    client.inbox.clear()
    client.producer(TOPIC)
    delete_topic(broker.core, topic_of(broker), _nothing)
    broker.turn()
    assert client.names() == ["CLOSE_PRODUCER"]
    assert broker.core.topics == {}


def test_a_commit_that_fails_is_nothing_to_it() -> None:
    broker, client = opened()
    client.producer("t", 2)
    client.consumer(TOPIC, permits=10)
    broker.auto = False
    client.publish(b"stored?", producer_id=2)
    broker.fail()
    assert [frame.message.producer_id for frame in client.take("CLOSE_PRODUCER")] == [2]
    client.publish(b"goes on")
    assert client.bodies() == [b"goes on"]


def test_lists_tell_the_domains_apart() -> None:
    _, client = opened()
    client.producer("t", 2)
    modes = pb.CommandGetTopicsOfNamespace.Mode
    found = {}
    for mode in (modes.PERSISTENT, modes.NON_PERSISTENT, modes.ALL):
        message = pb.CommandGetTopicsOfNamespace(namespace="public/default", mode=mode)
        found[mode] = sorted(answered(client.ask(message)).message.topics)
    assert found == {
        modes.PERSISTENT: ["persistent://public/default/t"],
        modes.NON_PERSISTENT: [TOPIC],
        modes.ALL: [TOPIC, "persistent://public/default/t"],
    }
