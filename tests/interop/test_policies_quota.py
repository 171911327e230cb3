"""Backlog quotas as clients see them: producers that wait, producers that fail, backlogs that are cut."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pulsar
import pytest

from tests.interop.helpers import KEY_SHARED, SHARED, SOON_MS, assert_silent, numbered, payloads, receive_all, send_all
from tests.support.broker import StartedBroker, eventually

SETTINGS = {"backlogQuotaCheckIntervalInSeconds": "1"}
SIZE = {"limitSize": 5_000}
LARGE = b"x" * 1_000


def set_quota(broker: StartedBroker, topic: str, action: str, kind: str = "destination_storage", **limit: int) -> None:
    broker.topic_rest("POST", topic, f"backlogQuota?backlogQuotaType={kind}", {**limit, "policy": action})


def stats(broker: StartedBroker, topic: str) -> Any:
    return broker.topic_rest("GET", topic, "stats")


def verdicts(broker: StartedBroker, topic: str) -> list[str]:
    found: Any = broker.topic_rest("GET", topic, "subscription/s/explain")
    return [finding["code"] for finding in found["findings"]]


def consumed(broker: StartedBroker, topic: str) -> None:
    """Wait until the acknowledgements have arrived."""
    eventually(lambda: not stats(broker, topic)["subscriptions"]["s"]["msgBacklog"], what="the backlog is consumed")


class Outcome:
    """What became of one asynchronous publish."""

    def __init__(self, producer: pulsar.Producer, payload: bytes) -> None:
        self.done = threading.Event()
        self.result: pulsar.Result | None = None
        producer.send_async(payload, self._ended)

    def _ended(self, result: pulsar.Result, message_id: pulsar.MessageId) -> None:
        self.result = result
        self.done.set()


def test_a_producer_is_held_with_what_it_has_until_the_backlog_is_consumed(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED)
    producer = own_client.create_producer(topic, batching_enabled=False)
    send_all(producer, [LARGE] * 10)
    set_quota(own_broker, topic, "producer_request_hold", **SIZE)
    eventually(lambda: not stats(own_broker, topic)["publishers"], what="the producer is sent away")
    assert stats(own_broker, topic)["backlogQuotaLimitSize"] == 5_000
    assert "BACKLOG_QUOTA" in verdicts(own_broker, topic)
    held = Outcome(producer, b"held")
    with pytest.raises(pulsar.ProducerBlockedQuotaExceededError):
        own_client.create_producer(topic)
    assert not held.done.is_set()
    receive_all(consumer, 10, ack=True)
    assert payloads(receive_all(consumer, 1, ack=True)) == [b"held"]
    assert held.done.wait(10)
    assert held.result == pulsar.Result.Ok
    consumed(own_broker, topic)
    own_client.create_producer(topic)


def test_a_producer_fails_where_the_quota_says_so_and_may_go_on_when_it_is_raised(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    own_client.subscribe(topic, "s", SHARED)
    producer = own_client.create_producer(topic, batching_enabled=False)
    send_all(producer, [LARGE] * 10)
    set_quota(own_broker, topic, "producer_exception", **SIZE)
    eventually(lambda: not stats(own_broker, topic)["publishers"], what="the producer is sent away")
    with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
        own_client.create_producer(topic)
    set_quota(own_broker, topic, "producer_exception", limitSize=50_000)
    own_client.create_producer(topic).send(b"there is room again")


def test_the_oldest_messages_go_and_what_was_delivered_can_still_be_acknowledged(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    consumer = own_client.subscribe(topic, "s", KEY_SHARED, receiver_queue_size=4)
    producer = own_client.create_producer(topic, batching_enabled=False)
    for number in range(10):
        producer.send(LARGE, partition_key=f"k{number}")
    held = receive_all(consumer, 4)
    set_quota(own_broker, topic, "consumer_backlog_eviction", **SIZE)

    def sub() -> Any:
        return stats(own_broker, topic)["subscriptions"]["s"]

    eventually(lambda: sub()["msgBacklog"] <= 5, what="the backlog is cut")
    assert sub()["unackedMessages"] >= 4
    assert len(stats(own_broker, topic)["publishers"]) == 1
    for message in held:
        consumer.acknowledge(message)

    def consumed() -> bool:
        with contextlib.suppress(pulsar.Timeout):
            consumer.acknowledge(consumer.receive(SOON_MS))
        return not sub()["msgBacklog"] and not sub()["unackedMessages"]

    eventually(consumed, what="nothing is held any more")
    assert_silent(consumer)
    producer.send(b"next", partition_key="k0")
    assert payloads(receive_all(consumer, 1)) == [b"next"]


def test_age_counts_as_well_and_the_check_can_be_asked_for(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED)
    producer = own_client.create_producer(topic)
    send_all(producer, numbered(3))
    assert stats(own_broker, topic)["oldestBacklogMessageSubscriptionName"] == "s"
    set_quota(own_broker, topic, "producer_exception", "message_age", limitTime=1)

    def blocked() -> bool:
        own_broker.rest("GET", "brokers/backlog-quota-check")
        return not stats(own_broker, topic)["publishers"]

    eventually(blocked, what="the backlog is too old")
    assert stats(own_broker, topic)["backlogQuotaLimitTime"] == 1
    with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
        own_client.create_producer(topic)
    receive_all(consumer, 3, ack=True)
    consumed(own_broker, topic)
    own_client.create_producer(topic).send(b"fresh")


def test_a_quota_of_the_namespace_is_there_after_a_crash_and_holds_at_once(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    namespace = "namespaces/public/quota"
    own_broker.rest("PUT", namespace)
    name = "persistent://public/quota/t"
    own_client.subscribe(name, "s", SHARED)
    send_all(own_client.create_producer(name, batching_enabled=False), [LARGE] * 10)
    quota = {"limitSize": 5_000, "policy": "producer_exception"}
    assert own_broker.rest("POST", f"{namespace}/backlogQuota", quota)[0] == 204
    own_broker.restart(crash=True)
    with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
        own_client.create_producer(name)
    assert own_broker.rest("DELETE", f"{namespace}/backlogQuota")[0] == 204
    own_client.create_producer(name).send(b"no quota any more")
