"""Topics and subscriptions that nobody uses, with time moved by hand; how many topics a namespace may have."""

from __future__ import annotations

from typing import Any

import pytest

from magnetar.core.catalog import PARTITIONED, TOPICS, encode_row
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.creating import create_partitioned, create_topic, delete_topic
from magnetar.core.names import TopicName
from magnetar.core.requests.lookups import partitions_of
from magnetar.core.topic_ops import create_subscription, grow_partitions
from magnetar.errors import NotAllowed
from tests.support.corebroker import SHARED, CoreBroker, answered, full
from tests.unit.core.policies import set_namespace, set_topic

_SECOND_MS = 1_000
_MINUTE_MS = 60_000


def inactive(mode: str = "delete_when_no_subscriptions", seconds: int = 60, deletes: bool = True) -> dict[str, Any]:
    return {"inactiveTopicDeleteMode": mode, "maxInactiveDurationSeconds": seconds, "deleteWhileInactive": deletes}


def ignored(error: Exception | None) -> None:
    assert error is None, error


def made(broker: CoreBroker, name: str = "t") -> None:
    create_topic(broker.core, TopicName(full(name)), lambda topic, error: ignored(error))
    broker.turn()


def there(broker: CoreBroker, name: str = "t") -> bool:
    return full(name) in broker.core.topics


# -- topics ------------------------------------------------------------------------------------------------------------


def test_a_topic_that_nobody_uses_goes_with_everything_that_it_had() -> None:
    broker = CoreBroker(inactive_check_ms=10 * _SECOND_MS, keep_alive_ms=1 << 40)
    client = broker.client()
    client.producer("t")
    client.publish(b"m")
    set_topic(broker, "max_producers_per_topic", 3)
    stream = broker.topic().stream
    broker.advance(10 * _MINUTE_MS)
    assert there(broker)
    client.close_producer()
    broker.advance(55 * _SECOND_MS)
    assert there(broker)
    broker.advance(20 * _SECOND_MS)
    assert not there(broker)
    assert TOPICS + TopicName(full("t")).path not in broker.rows
    assert stream not in broker.log.crash().recover().streams
    client.producer("t")
    assert broker.topic().tail.end == 0
    assert broker.topic().policies.max_producers == 0


def test_the_time_counts_from_when_the_last_one_left_and_anew_after_a_restart() -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40)
    client = broker.client()
    client.consumer("t", "reader", durable=False)
    broker.advance(119 * _SECOND_MS)
    client.close_consumer()
    broker.advance(10 * _SECOND_MS)
    assert there(broker)
    broker.restart()
    broker.advance(55 * _SECOND_MS)
    assert there(broker)
    broker.advance(6 * _SECOND_MS)
    assert not there(broker)


def test_what_keeps_a_topic() -> None:
    for mode, backlog, kept in (
        ("delete_when_no_subscriptions", False, True),
        ("delete_when_no_subscriptions", True, True),
        ("delete_when_subscriptions_caught_up", False, False),
        ("delete_when_subscriptions_caught_up", True, True),
    ):
        broker = CoreBroker(keep_alive_ms=1 << 40)
        set_namespace(broker, "inactive_topic_policies", inactive(mode))
        client = broker.client()
        client.producer("t")
        client.consumer("t", permits=10)
        client.publish(b"m")
        if not backlog:
            client.ack(*[message.id for message in client.messages()])
        client.close_producer()
        client.close_consumer()
        broker.advance(5 * _MINUTE_MS)
        assert there(broker) is kept, (mode, backlog)


@pytest.mark.parametrize("mode", ["delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"])
def test_the_subscription_of_compaction_keeps_no_topic(mode: str) -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40)
    set_namespace(broker, "inactive_topic_policies", inactive(mode))
    client = broker.client()
    client.producer("t")
    client.publish(b"m", key="k")
    broker.core.compactions.start(broker.topic())
    broker.turn()
    client.publish(b"m", key="k")
    stream, view = broker.topic().stream, broker.topic().compaction.view
    assert view is not None
    assert broker.sub(name=COMPACTION_CURSOR).backlog() == 1
    client.close_producer()
    broker.advance(5 * _MINUTE_MS)
    assert not there(broker)
    assert not {stream, view.stream} & set(broker.log.crash().recover().streams)


def test_retention_a_switch_and_a_name_of_the_brokers_own_keep_a_topic() -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40)
    for name in ("retained", "switched", "__change_events", "gone"):
        made(broker, name)
    retention = {"retentionTimeInMinutes": 30, "retentionSizeInMB": -1}
    set_topic(broker, "retention_policies", retention, "retained")
    set_topic(broker, "inactive_topic_policies", inactive(deletes=False), "switched")
    broker.advance(10 * _MINUTE_MS)
    assert [there(broker, name) for name in ("retained", "switched", "__change_events", "gone")] == [
        True, True, True, False,
    ]  # fmt: skip
    broker.advance(30 * _MINUTE_MS)
    assert not there(broker, "retained")
    set_topic(broker, "inactive_topic_policies", inactive(seconds=1), "switched")
    broker.advance(2 * _MINUTE_MS)
    assert not there(broker, "switched")


@pytest.mark.parametrize("who", ["producer", "consumer"])
def test_who_comes_while_a_topic_is_being_deleted_gets_a_new_one(who: str) -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40)
    made(broker)
    client = broker.client()
    broker.auto_store = False
    broker.advance(5 * _MINUTE_MS)
    assert [write.value for write in broker.writes] == [None]

    def come() -> Any:
        return answered(client.producer("t") if who == "producer" else client.subscribe("t"))

    refused = come()
    assert (refused.name, refused.message.error) == ("ERROR", 6)
    broker.store()
    broker.auto_store = True
    broker.turn()
    assert come().name in ("PRODUCER_SUCCESS", "SUCCESS")
    assert there(broker)
    assert TOPICS + TopicName(full("t")).path in broker.rows


def test_a_topic_whose_deletion_failed_is_served_on() -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40)
    made(broker)
    broker.auto_store = False
    broker.advance(5 * _MINUTE_MS)
    broker.store("the disk is full")
    assert answered(broker.client().producer("t")).name == "PRODUCER_SUCCESS"


@pytest.mark.parametrize("stored", [False, True])
def test_a_crash_in_the_middle_of_a_deletion_leaves_all_of_the_topic_or_nothing(stored: bool) -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40)
    client = broker.client()
    client.producer("t")
    client.publish(b"m")
    client.close_producer()
    stream = broker.topic().stream
    broker.auto = broker.auto_store = False
    broker.advance(5 * _MINUTE_MS)
    if stored:
        broker.store()
    broker.auto = broker.auto_store = True
    broker.restart()
    assert there(broker) is not stored
    assert (stream in broker.log.crash().recover().streams) is not stored
    broker.client().producer("t")
    assert broker.topic().tail.end == (0 if stored else 1)


@pytest.mark.parametrize("metadata", [False, True])
def test_partitions_go_one_by_one_and_their_topic_with_the_last_if_it_may(metadata: bool) -> None:
    broker = CoreBroker(keep_alive_ms=1 << 40, delete_inactive_partitioned=metadata)
    name = TopicName(full("t"))
    create_partitioned(broker.core, name, 2, True, ignored)
    broker.turn()
    client = broker.client()
    client.producer("t-partition-0")
    client.producer("t-partition-1", producer_id=2)
    client.close_producer(1)
    broker.advance(5 * _MINUTE_MS)
    assert not there(broker, "t-partition-0")
    assert there(broker, "t-partition-1")
    assert broker.core.catalog.partitions(name) == 2
    client.close_producer(2)
    broker.advance(5 * _MINUTE_MS)
    assert not there(broker, "t-partition-1")
    assert broker.core.catalog.partitions(name) == (0 if metadata else 2)
    assert (PARTITIONED + name.path in broker.rows) is not metadata
    if not metadata:
        assert answered(client.producer("t-partition-1")).name == "PRODUCER_SUCCESS"


# -- subscriptions -----------------------------------------------------------------------------------------------------


def with_subscriptions(minutes: int = 10, **options: Any) -> CoreBroker:
    """One subscription in use, one that nobody was ever connected to."""
    broker = CoreBroker(keep_alive_ms=1 << 40, delete_inactive=False, **options)
    broker.client().consumer("t", "used")
    create_subscription(broker.topic(), "left", 0, {}, ignored)
    set_namespace(broker, "subscription_expiration_time_minutes", minutes)
    return broker


def names(broker: CoreBroker) -> list[str]:
    return sorted(broker.topic().subscriptions)


def test_a_subscription_goes_that_was_without_a_consumer_for_too_long_and_stays_gone() -> None:
    broker = with_subscriptions()
    broker.advance(9 * _MINUTE_MS)
    assert names(broker) == ["left", "used"]
    broker.advance(7 * _MINUTE_MS)
    assert names(broker) == ["used"]
    broker.clients[0].close_consumer()
    broker.advance(9 * _MINUTE_MS)
    assert names(broker) == ["used"]
    broker.restart()
    assert names(broker) == ["used"]


def test_the_time_without_a_consumer_goes_on_across_a_crash() -> None:
    broker = with_subscriptions()
    broker.clients[0].close_consumer()
    broker.advance(4 * _MINUTE_MS)
    broker.restart()
    broker.advance(4 * _MINUTE_MS)
    broker.restart()
    assert names(broker) == ["left", "used"]
    broker.advance(6 * _MINUTE_MS)
    assert names(broker) == []


def test_a_crash_of_the_broker_does_not_count_against_a_subscription_in_use() -> None:
    broker = with_subscriptions()
    broker.now_ms += 60 * _MINUTE_MS
    broker.restart()
    broker.advance(6 * _MINUTE_MS)
    assert names(broker) == ["used"]
    broker.advance(10 * _MINUTE_MS)
    assert names(broker) == []


def test_the_age_of_a_subscription_is_written_again_after_a_failed_commit() -> None:
    broker = with_subscriptions()
    broker.log.fail_next(1, OSError("the disk is full"))
    broker.clients[0].close_consumer()
    broker.advance(4 * _MINUTE_MS)
    broker.restart()
    assert broker.sub(name="used").idle_since_ms < broker.now_ms


def test_what_expired_does_not_make_a_new_subscription_of_its_name_old() -> None:
    broker = with_subscriptions()
    broker.advance(16 * _MINUTE_MS)
    broker.clients[0].consumer("t", "left", consumer_id=2)
    broker.clients[0].close_consumer(2)
    broker.restart()
    broker.advance(6 * _MINUTE_MS)
    assert "left" in names(broker)


# -- how many topics ---------------------------------------------------------------------------------------------------


def test_partitions_count_as_topics_and_the_brokers_own_do_not() -> None:
    broker = CoreBroker(max_topics_per_namespace=5)
    catalog, count = broker.core.catalog, lambda: broker.core.catalog.counts.get("public/default", 0)
    made(broker, "__change_events")
    assert count() == 0
    create_partitioned(broker.core, TopicName(full("p")), 3, True, ignored)
    broker.turn()
    assert count() == 3
    made(broker, "p-partition-1")
    made(broker, "t")
    assert count() == 4
    with pytest.raises(NotAllowed, match="maxTopicsPerNamespace"):
        create_partitioned(broker.core, TopicName(full("q")), 2, True, ignored)
    grow_partitions(broker.core, TopicName(full("p")), 4, ignored)
    broker.turn()
    assert count() == 5
    with pytest.raises(NotAllowed, match="maxTopicsPerNamespace"):
        made(broker, "u")
    refused = answered(broker.client().producer("u"))
    assert refused.message.error == 22
    made(broker, "p-partition-0")
    made(broker, "__transaction_buffer_snapshot")
    delete_topic(broker.core, broker.topic("t"), ignored)
    broker.turn()
    assert count() == 4
    broker.restart()
    assert count() == 4
    catalog = broker.core.catalog
    catalog.apply(PARTITIONED + TopicName(full("p")).path, None)
    assert count() == sum(name.startswith(full("p-")) for name in broker.core.topics)
    catalog.apply(PARTITIONED + TopicName(full("p")).path, encode_row({"partitions": 4}))
    assert count() == 4


def test_no_more_partitions_come_into_being_by_use_than_a_topic_may_have() -> None:
    broker = CoreBroker(max_partitions=4)
    made_as = {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 5}
    set_namespace(broker, "autoTopicCreationOverride", made_as)

    with pytest.raises(NotAllowed, match="maxNumPartitionsPerPartitionedTopic"):
        partitions_of(broker.core, TopicName(full("t")), True)
    set_namespace(broker, "autoTopicCreationOverride", {**made_as, "defaultNumPartitions": 4})
    assert partitions_of(broker.core, TopicName(full("t")), True) == 4


def test_subscriptions_of_any_kind_follow_the_switch_for_their_creation() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    set_namespace(broker, "autoSubscriptionCreationOverride", {"allowAutoSubscriptionCreation": False})
    assert answered(client.subscribe("t", kind=SHARED)).message.error == 12
    set_topic(broker, "autoSubscriptionCreationOverride", {"allowAutoSubscriptionCreation": True})
    client.consumer("t")
