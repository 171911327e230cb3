"""Policies that act, as clients see them: set over REST on topics in use, effective at once, there after a crash."""

from __future__ import annotations

import pulsar
import pytest

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import (
    EARLIEST,
    EXCLUSIVE,
    KEY_SHARED,
    SHARED,
    assert_silent,
    numbered,
    payloads,
    receive_all,
    send_all,
)
from tests.support.broker import StartedBroker
from tests.support.wireclient import WireError


def set_policy(broker: StartedBroker, topic: str, last: str, value: object) -> None:
    broker.topic_rest("POST", topic, last, value)


def test_maximum_producers_consumers_and_subscriptions(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    producer = own_client.create_producer(topic)
    consumer = own_client.subscribe(topic, "s", SHARED)
    for last in ("maxProducers", "maxConsumers", "maxSubscriptionsPerTopic"):
        set_policy(own_broker, topic, last, 1)
    with pytest.raises(pulsar.ProducerBusy):
        own_client.create_producer(topic)
    with pytest.raises(pulsar.PulsarException, match="ConsumerBusy"):
        own_client.subscribe(topic, "s", SHARED)
    consumer.close()
    with pytest.raises(pulsar.PulsarException, match="NotAllowed"):
        own_client.subscribe(topic, "other", SHARED)
    producer.close()
    own_client.create_producer(topic).send(b"there is room again")


def test_maximum_consumers_of_a_subscription(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    own_client.subscribe(topic, "s", SHARED)
    set_policy(own_broker, topic, "maxConsumersPerSubscription", 1)
    with pytest.raises(pulsar.PulsarException, match="ConsumerBusy"):
        own_client.subscribe(topic, "s", SHARED)
    own_client.subscribe(topic, "other", SHARED)


def test_unacknowledged_messages_are_limited_and_released(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    consumer = own_client.subscribe(topic, "s", SHARED)
    set_policy(own_broker, topic, "maxUnackedMessagesOnConsumer", 10)
    send_all(own_client.create_producer(topic), numbered(40))
    assert payloads(receive_all(consumer, 10)) == numbered(10)
    assert_silent(consumer)
    set_policy(own_broker, topic, "maxUnackedMessagesOnSubscription", 25)
    set_policy(own_broker, topic, "maxUnackedMessagesOnConsumer", 0)
    assert payloads(receive_all(consumer, 15)) == numbered(15, 10)
    assert_silent(consumer)
    own_broker.topic_rest("DELETE", topic, "policies")
    assert payloads(receive_all(consumer, 15)) == numbered(15, 25)


def test_the_size_of_a_message_is_limited(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    producer = own_client.create_producer(topic)
    producer.send(b"x" * 5000)
    set_policy(own_broker, topic, "maxMessageSize", 1000)
    with pytest.raises(pulsar.PulsarException):
        producer.send(b"x" * 5000)
    own_client.create_producer(topic).send(b"x" * 500)


def test_subscription_types_can_be_left_out(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    own_client.subscribe(topic, "first", SHARED)
    set_policy(own_broker, topic, "subscriptionTypesEnabled", ["Exclusive", "Key_Shared"])
    with pytest.raises(pulsar.PulsarException, match="NotAllowed"):
        own_client.subscribe(topic, "second", SHARED)
    own_client.subscribe(topic, "second", KEY_SHARED)
    own_client.subscribe(topic, "third", EXCLUSIVE)


def test_subscriptions_come_into_being_only_where_they_may(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    own_client.create_producer(topic)
    set_policy(own_broker, topic, "autoSubscriptionCreation", {"allowAutoSubscriptionCreation": False})
    with own_broker.wire() as wire, pytest.raises(WireError, match="does not exist"):
        wire.subscribe(topic, "s")
    own_broker.topic_rest("PUT", topic, "subscription/s")
    own_client.subscribe(topic, "s", SHARED)


def test_deduplication_is_switched_on_and_off_for_a_namespace_in_use(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    producer = own_client.create_producer(topic, producer_name="p")
    consumer = own_client.subscribe(topic, "s", initial_position=EARLIEST)
    assert own_broker.rest("POST", "namespaces/public/default/deduplication", True)[0] == 204
    for sequence in (0, 1, 1, 0, 2):
        producer.send(b"on-%d" % sequence, sequence_id=sequence)
    assert payloads(receive_all(consumer, 3)) == [b"on-0", b"on-1", b"on-2"]
    assert_silent(consumer)
    assert own_broker.rest("POST", "namespaces/public/default/deduplication", False)[0] == 204
    for sequence in (1, 1):
        producer.send(b"off-%d" % sequence, sequence_id=sequence)
    assert payloads(receive_all(consumer, 2)) == [b"off-1", b"off-1"]
    assert own_broker.rest("POST", "namespaces/public/default/deduplication", True)[0] == 204
    producer.send(b"again-0", sequence_id=0)
    assert payloads(receive_all(consumer, 1)) == [b"again-0"]
    assert own_broker.rest("DELETE", "namespaces/public/default/deduplication")[0] == 204


def test_topics_of_a_namespace_come_into_being_as_it_says(own_broker: StartedBroker, own_client: pulsar.Client) -> None:
    made = {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 3}
    assert own_broker.rest("PUT", "namespaces/public/auto")[0] == 204
    assert own_broker.rest("POST", "namespaces/public/auto/autoTopicCreation", made)[0] == 204
    own_client.create_producer("persistent://public/auto/t").send(b"x")
    assert len(own_client.get_topic_partitions("persistent://public/auto/t")) == 3
    never = {"allowAutoTopicCreation": False}
    assert own_broker.rest("POST", "namespaces/public/auto/autoTopicCreation", never)[0] == 204
    with pytest.raises(pulsar.TopicNotFound):
        own_client.create_producer("persistent://public/auto/other")
    assert own_broker.rest("POST", "namespaces/public/auto/maxTopicsPerNamespace", 4)[0] == 204
    assert own_broker.rest("PUT", "persistent/public/auto/second")[0] == 204
    assert own_broker.rest("PUT", "persistent/public/auto/third")[0] == 405


def test_policies_are_there_after_a_crash(own_broker: StartedBroker, new_client: ClientFactory, topic: str) -> None:
    client = new_client(own_broker.service_url)
    client.create_producer(topic)
    set_policy(own_broker, topic, "maxProducers", 1)
    assert own_broker.rest("POST", "namespaces/public/default/messageTTL", 1000)[0] == 204
    own_broker.restart(crash=True)
    assert own_broker.topic_rest("GET", topic, "maxProducers") == 1
    assert own_broker.rest("GET", "namespaces/public/default/messageTTL") == (200, 1000)
    again = new_client(own_broker.service_url)
    other = f"{topic}-other"
    again.create_producer(other)
    again.create_producer(other)
    assert own_broker.topic_rest("GET", other, "messageTTL?applied=true") == 1000
