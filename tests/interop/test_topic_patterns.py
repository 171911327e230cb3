"""Pattern subscriptions: topics that come and go, partitioned ones, other domains, and system topics."""

from __future__ import annotations

import re
import secrets

import _pulsar
import pulsar
import pytest

from tests.interop.helpers import EARLIEST, SHARED, assert_silent, numbered, payloads, receive, receive_all, send_all
from tests.support.broker import Broker

LOOKS_EVERY_S = 1
"""The client asks for the list of topics that often."""


@pytest.fixture
def stem() -> str:
    """What the topics of the test begin with."""
    return f"persistent://public/default/pattern-{secrets.token_hex(4)}"


def pattern_of(stem: str) -> re.Pattern[str]:
    return re.compile(f"{stem}-.*")


@pytest.fixture(autouse=True)
def quick_discovery(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel takes ``pattern_auto_discovery_period`` and forgets it, so it is set where the wheel should."""
    made = _pulsar.ConsumerConfiguration

    def configured() -> _pulsar.ConsumerConfiguration:
        configuration = made()
        configuration.pattern_auto_discovery_period(LOOKS_EVERY_S)
        return configuration

    monkeypatch.setattr(_pulsar, "ConsumerConfiguration", configured)


def subscribe(client: pulsar.Client, pattern: re.Pattern[str]) -> pulsar.Consumer:
    return client.subscribe(pattern, "s", SHARED, initial_position=EARLIEST)


def test_topics_that_are_there_and_those_that_come_later_are_consumed(client: pulsar.Client, stem: str) -> None:
    client.create_producer(f"{stem}-1").send(b"one")
    client.create_producer(f"{stem.replace('pattern', 'other')}-1").send(b"not meant")
    consumer = subscribe(client, pattern_of(stem))
    assert receive(consumer).data() == b"one"
    client.create_producer(f"{stem}-2").send(b"two")
    assert receive(consumer).data() == b"two"
    assert_silent(consumer)


def test_a_deleted_topic_is_let_go_and_found_again_when_it_is_made_anew(client: pulsar.Client, broker: Broker) -> None:
    # This client comes back to a deleted topic and would make it again, were that not left to the administrator.
    namespace = f"public/{secrets.token_hex(4)}"
    assert broker.rest("PUT", f"namespaces/{namespace}")[0] == 204
    assert broker.rest("POST", f"namespaces/{namespace}/autoTopicCreation", {"allowAutoTopicCreation": False})[0] == 204
    for number in (1, 2):
        assert broker.rest("PUT", f"persistent/{namespace}/t-{number}")[0] == 204
    consumer = subscribe(client, re.compile(f"persistent://{namespace}/t-.*"))
    steady = client.create_producer(f"persistent://{namespace}/t-2")
    for life in (b"first", b"second"):
        producer = client.create_producer(f"persistent://{namespace}/t-1")
        producer.send(life)
        assert receive(consumer).data() == life
        producer.close()
        assert broker.rest("DELETE", f"persistent/{namespace}/t-1?force=true")[0] == 204
        steady.send(b"goes on")
        assert receive(consumer).data() == b"goes on"
        assert_silent(consumer)
        assert broker.rest("GET", f"persistent/{namespace}")[1] == [f"persistent://{namespace}/t-2"]
        assert broker.rest("PUT", f"persistent/{namespace}/t-1")[0] == 204


def test_partitioned_topics_are_consumed_whole_those_that_come_later_too(
    client: pulsar.Client, broker: Broker, stem: str
) -> None:
    consumer = subscribe(client, pattern_of(stem))
    for name in (f"{stem}-first", f"{stem}-second"):
        broker.topic_rest("PUT", name, "partitions", 3)
        router = pulsar.PartitionsRoutingMode.RoundRobinDistribution
        producer = client.create_producer(name, message_routing_mode=router, batching_enabled=False)
        send_all(producer, numbered(6))
        messages = receive_all(consumer, 6)
        assert sorted(payloads(messages)) == numbered(6)
        assert {message.topic_name() for message in messages} == {f"{name}-partition-{at}" for at in range(3)}


def test_a_pattern_may_ask_for_other_domains(client: pulsar.Client, stem: str) -> None:
    passing = stem.replace("persistent://", "non-persistent://") + "-np"
    persistent = client.create_producer(f"{stem}-p")
    producer = client.create_producer(passing)
    plain = re.compile(f"{stem}-.*")
    consumers = {
        mode: client.subscribe(plain, mode.name, SHARED, regex_subscription_mode=mode)
        for mode in (
            pulsar.RegexSubscriptionMode.PersistentOnly,
            pulsar.RegexSubscriptionMode.NonPersistentOnly,
            pulsar.RegexSubscriptionMode.AllTopics,
        )
    }
    persistent.send(b"kept")
    producer.send(b"passed on")
    both = consumers[pulsar.RegexSubscriptionMode.AllTopics]
    assert receive(consumers[pulsar.RegexSubscriptionMode.PersistentOnly]).data() == b"kept"
    assert receive(consumers[pulsar.RegexSubscriptionMode.NonPersistentOnly]).data() == b"passed on"
    assert sorted(payloads(receive_all(both, 2))) == [b"kept", b"passed on"]


def test_system_topics_match_no_pattern(client: pulsar.Client, broker: Broker) -> None:
    namespace = f"public/{secrets.token_hex(4)}"
    assert broker.rest("PUT", f"namespaces/{namespace}")[0] == 204
    assert broker.rest("PUT", f"persistent/{namespace}/__transaction_buffer_snapshot")[0] == 204
    client.create_producer(f"persistent://{namespace}/mine").send(b"mine")
    consumer = subscribe(client, re.compile(f"persistent://{namespace}/.*"))
    assert receive(consumer).data() == b"mine"
    stats = broker.rest("GET", f"persistent/{namespace}/__transaction_buffer_snapshot/stats")[1]
    assert isinstance(stats, dict)
    assert "s" not in stats["subscriptions"]
