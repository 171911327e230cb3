"""Rates as clients see them. Each is so low that nothing but a change of the policy lets the rest through."""

from __future__ import annotations

import threading
from typing import Any

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import (
    EARLIEST,
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    SHARED,
    assert_silent,
    numbered,
    payloads,
    receive_all,
    send_all,
)
from tests.support.broker import StartedBroker, eventually

ONCE_IN_AGES = 1_000_000
"""A period in seconds."""


def dispatch_rate(messages: int = -1, size: int = -1) -> dict[str, int]:
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "ratePeriodInSecond": ONCE_IN_AGES,
    }


def explained(broker: StartedBroker, topic: str, name: str = "s") -> Any:
    return broker.topic_rest("GET", topic, f"subscription/{name}/explain")


def stats(broker: StartedBroker, topic: str) -> Any:
    return broker.topic_rest("GET", topic, "stats")


@pytest.mark.parametrize("policy", ["dispatchRate", "subscriptionDispatchRate"])
@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED], ids=lambda kind: kind.name)
def test_no_more_is_dispatched_than_the_rate_says(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str, kind: pulsar.ConsumerType, policy: str
) -> None:
    producer = own_client.create_producer(topic, batching_enabled=False)
    own_client.subscribe(topic, "s", kind).close()
    own_broker.topic_rest("POST", topic, policy, dispatch_rate(5))
    for payload in numbered(20):
        producer.send(payload, partition_key="k")
    consumer = own_client.subscribe(topic, "s", kind)
    assert payloads(receive_all(consumer, 5, ack=True)) == numbered(5)
    assert_silent(consumer)
    found = explained(own_broker, topic)
    assert found["verdict"] == "DISPATCH_RATE"
    assert "5 messages" in found["findings"][0]["reason"]
    level = "Topic" if policy == "dispatchRate" else "Subscription"
    assert stats(own_broker, topic)["subscriptions"]["s"][f"dispatchThrottledMsgEventsBy{level}Limit"] > 0
    own_broker.topic_rest("POST", topic, policy, dispatch_rate(8))
    assert payloads(receive_all(consumer, 8, ack=True)) == numbered(8, 5)
    assert_silent(consumer)
    own_broker.topic_rest("DELETE", topic, policy)
    assert payloads(receive_all(consumer, 7, ack=True)) == numbered(7, 13)


def test_bytes_are_limited_and_subscriptions_share_what_their_topic_may_send(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    send_all(own_client.create_producer(topic, batching_enabled=False), [b"x" * 1_000] * 10)
    own_broker.topic_rest("POST", topic, "dispatchRate", dispatch_rate(size=3_500))
    first = own_client.subscribe(topic, "s", EXCLUSIVE, initial_position=EARLIEST)
    assert len(receive_all(first, 4)) == 4
    assert_silent(first)
    second = own_client.subscribe(topic, "other", EXCLUSIVE, initial_position=EARLIEST)
    assert_silent(second)
    assert explained(own_broker, topic, "other")["verdict"] == "DISPATCH_RATE"
    own_broker.topic_rest("DELETE", topic, "dispatchRate")
    assert len(receive_all(first, 6)) == 6
    assert len(receive_all(second, 10)) == 10


def test_the_broker_has_a_rate_for_all_topics_that_is_changed_while_it_runs(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    configuration = "brokers/configuration/dispatchThrottlingRatePerTopicInByte"
    send_all(own_client.create_producer(topic, batching_enabled=False), [b"x" * 1_000] * 30)
    assert own_broker.rest("POST", f"{configuration}/1")[0] == 204
    consumer = own_client.subscribe(topic, "s", EXCLUSIVE, initial_position=EARLIEST)
    receive_all(consumer, 1)
    eventually(lambda: explained(own_broker, topic)["verdict"] == "DISPATCH_RATE", what="the rate is used up")
    assert own_broker.rest("DELETE", configuration)[0] == 204
    assert len(receive_all(consumer, 29)) == 29


def test_a_producer_ahead_of_the_publish_rate_waits_and_loses_nothing(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    consumer = own_client.subscribe(topic, "s", EXCLUSIVE)
    producer = own_client.create_producer(topic, batching_enabled=False)
    rate = {"publishThrottlingRateInMsg": 1, "publishThrottlingRateInByte": -1}
    own_broker.topic_rest("POST", topic, "publishRate", rate)
    left = threading.Semaphore(0)
    results: list[pulsar.Result] = []

    def done(result: pulsar.Result, message_id: pulsar.MessageId) -> None:
        results.append(result)
        left.release()

    for payload in numbered(50):
        producer.send_async(payload, done)
    eventually(lambda: stats(own_broker, topic)["publishRateLimitedTimes"] > 0, what="the rate is used up")
    receive_all(consumer, 1, ack=True)
    assert stats(own_broker, topic)["msgInCounter"] < 50
    eventually(lambda: "PUBLISH_RATE" in str(explained(own_broker, topic)), what="explain names the rate")
    own_broker.topic_rest("DELETE", topic, "publishRate")
    for _ in range(50):
        assert left.acquire(timeout=10)
    assert set(results) == {pulsar.Result.Ok}
    assert payloads(receive_all(consumer, 49, ack=True)) == numbered(49, 1)


def test_a_publish_rate_of_the_namespace_holds_its_topics_only(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    namespace = "namespaces/public/slow"
    own_broker.rest("PUT", namespace)
    rate = {"publishThrottlingRateInMsg": 1, "publishThrottlingRateInByte": -1}
    assert own_broker.rest("POST", f"{namespace}/publishRate", rate)[0] == 204
    slow = own_client.create_producer("persistent://public/slow/t", batching_enabled=False)
    for payload in numbered(20):
        slow.send_async(payload, lambda result, message_id: None)
    limited = "persistent://public/slow/t"
    eventually(lambda: stats(own_broker, limited)["publishRateLimitedTimes"] > 0, what="the rate is used up")
    assert own_broker.rest("DELETE", f"{namespace}/publishRate")[0] == 204
    slow.flush()
    send_all(own_client.create_producer(topic, batching_enabled=False), numbered(20))
    assert stats(own_broker, topic)["publishRateLimitedTimes"] == 0


def test_a_consumer_may_subscribe_only_so_often(
    own_broker: StartedBroker, new_client: ClientFactory, topic: str
) -> None:
    own_client = new_client(own_broker.service_url)
    own_client.create_producer(topic)
    rate = {"subscribeThrottlingRatePerConsumer": 1, "ratePeriodInSecond": ONCE_IN_AGES}
    own_broker.topic_rest("POST", topic, "subscribeRate", rate)
    new_client(own_broker.service_url).subscribe(topic, "s", consumer_name="c").close()
    again = new_client(own_broker.service_url)
    with pytest.raises(pulsar.PulsarException, match="NotAllowed"):
        again.subscribe(topic, "s", consumer_name="c")
    own_broker.topic_rest("DELETE", topic, "subscribeRate")
    again.subscribe(topic, "s", consumer_name="c")


def test_rates_are_there_after_a_crash(own_broker: StartedBroker, new_client: ClientFactory, topic: str) -> None:
    client = new_client(own_broker.service_url)
    send_all(client.create_producer(topic, batching_enabled=False), numbered(10))
    own_broker.topic_rest("POST", topic, "subscriptionDispatchRate", dispatch_rate(3))
    own_broker.restart(crash=True)
    consumer = new_client(own_broker.service_url).subscribe(topic, "s", initial_position=EARLIEST)
    assert payloads(receive_all(consumer, 3)) == numbered(3)
    assert_silent(consumer)


def test_one_subscription_may_have_a_rate_of_its_own(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    send_all(own_client.create_producer(topic, batching_enabled=False), numbered(10))
    own_broker.topic_rest("POST", topic, "subscriptionDispatchRate", dispatch_rate(5))
    own_broker.topic_rest("POST", topic, "s/dispatchRate", dispatch_rate(3))
    one = own_client.subscribe(topic, "s", EXCLUSIVE, initial_position=EARLIEST)
    other = own_client.subscribe(topic, "other", EXCLUSIVE, initial_position=EARLIEST)
    receive_all(one, 3)
    receive_all(other, 5)
    assert_silent(one)
    assert_silent(other)
    found = explained(own_broker, topic)
    assert found["verdict"] == "DISPATCH_RATE"
    assert "dispatchRate of the subscription: 3 messages" in found["findings"][0]["reason"]
    own_broker.topic_rest("DELETE", topic, "s/dispatchRate")
    receive_all(one, 5)
    assert_silent(one)
    own_broker.topic_rest("DELETE", topic, "subscriptionDispatchRate")
    receive_all(one, 2)
    receive_all(other, 5)


def test_publish_and_subscribe_rates_hold_on_non_persistent_topics(
    own_broker: StartedBroker, new_client: ClientFactory
) -> None:
    topic = "non-persistent://public/default/rates"
    path = f"{topic.replace('://', '/')}"
    client = new_client(own_broker.service_url)
    consumer = client.subscribe(topic, "s", EXCLUSIVE)
    producer = client.create_producer(topic, batching_enabled=False)
    rate = {"publishThrottlingRateInMsg": 1, "publishThrottlingRateInByte": -1}
    assert own_broker.rest("POST", f"{path}/publishRate", rate)[0] == 204
    for payload in numbered(50):
        producer.send_async(payload, lambda result, message_id: None)

    def stats() -> Any:
        return own_broker.rest("GET", f"{path}/stats")[1]

    eventually(lambda: stats()["publishRateLimitedTimes"] > 0, what="the rate is used up")
    assert stats()["msgInCounter"] < 50
    assert own_broker.rest("DELETE", f"{path}/publishRate")[0] == 204
    producer.flush()
    assert payloads(receive_all(consumer, 50)) == numbered(50)
    often = {"subscribeThrottlingRatePerConsumer": 1, "ratePeriodInSecond": ONCE_IN_AGES}
    assert own_broker.rest("POST", f"{path}/subscribeRate", often)[0] == 204
    new_client(own_broker.service_url).subscribe(topic, "other", consumer_name="c").close()
    again = new_client(own_broker.service_url)
    with pytest.raises(pulsar.PulsarException, match="NotAllowed"):
        again.subscribe(topic, "other", consumer_name="c")
    assert own_broker.rest("DELETE", f"{path}/subscribeRate")[0] == 204
    again.subscribe(topic, "other", consumer_name="c")
