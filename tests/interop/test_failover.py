"""Who is active on a Failover subscription, as the official client sees it: the case of PIP-392, and the hand-over."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import partial

import pulsar

from tests.interop.conftest import ClientFactory
from tests.interop.helpers import EARLIEST, FAILOVER, assert_silent, drain, numbered, payloads, receive_all, send_all
from tests.support.broker import StartedBroker, eventually

SETTINGS = {"activeConsumerFailoverDelayTimeMillis": "0"}

TOPICS, CONSUMERS = 100, 10


def active(broker: StartedBroker, topic: str) -> dict[str, object]:
    """What the statistics of a topic say about its subscription."""
    stats = broker.topic_rest("GET", topic, "stats")
    assert isinstance(stats, dict)
    found: dict[str, object] = stats["subscriptions"]["s"]["failover"]
    return found


def test_a_hundred_topics_of_one_partition(own_broker: StartedBroker, new_client: ClientFactory, topic: str) -> None:
    """Ten consumers of a pattern. Each selector in turn, while all of them are connected."""
    topics = [f"{topic}-{number}" for number in range(TOPICS)]
    partitions = [f"{name}-partition-0" for name in topics]
    for name in topics:
        own_broker.topic_rest("PUT", name, "partitions", 1)
    client = new_client(own_broker.service_url)
    consumers = [
        client.subscribe(re.compile(f"{topic}-.*"), "s", FAILOVER, consumer_name=f"consumer-{number}")
        for number in range(CONSUMERS)
    ]
    producers = [client.create_producer(name) for name in partitions]
    counts: dict[str, list[int]] = {}
    policy = "namespaces/public/default/magnetarFailoverSelector"
    for selector in ("modulo", "ring", "balanced"):
        if selector != "modulo":  # which is what holds without a word
            assert own_broker.rest("POST", policy, selector)[0] == 204
        eventually(partial(settled, own_broker, partitions, selector), what=selector)
        for producer in producers:
            producer.send(b"x")
        got = drain(consumers, TOPICS, ack=True)
        counts[selector] = sorted(len(each) for each in got)
        decided = Counter(str(active(own_broker, name)["activeConsumerName"]) for name in partitions)
        assert [len(each) for each in got] == [decided[f"consumer-{number}"] for number in range(CONSUMERS)]
    sys.stdout.write(f"topics of each consumer: {counts}\n")
    assert counts["modulo"] == [0] * (CONSUMERS - 1) + [TOPICS]
    assert counts["balanced"] == [TOPICS // CONSUMERS] * CONSUMERS
    assert counts["ring"] != counts["balanced"]
    assert max(counts["ring"]) < TOPICS // 2
    assert own_broker.rest("DELETE", policy)[0] == 204


def settled(broker: StartedBroker, topics: list[str], selector: str) -> bool:
    """Whether all topics go by the selector, and none of the consumers has more than it should."""
    found = [active(broker, topic) for topic in topics]
    if any(each["selector"] != selector for each in found):
        return False
    most = max(Counter(each["activeConsumerName"] for each in found).values())
    return selector != "balanced" or most == TOPICS // CONSUMERS


def test_the_old_consumer_finishes_before_the_new_one_begins(
    own_broker: StartedBroker, own_client: pulsar.Client, topic: str
) -> None:
    name = f"{topic}-partition-0"
    own_broker.topic_rest("PUT", topic, "partitions", 1)
    own_broker.topic_rest("POST", topic, "magnetarFailoverDrainMs", 60_000)
    old = own_client.subscribe(name, "s", FAILOVER, consumer_name="b", initial_position=EARLIEST)
    producer = own_client.create_producer(name)
    send_all(producer, numbered(5))
    held = receive_all(old, 5)
    new = own_client.subscribe(name, "s", FAILOVER, consumer_name="a")
    send_all(producer, numbered(5, 5))
    said = active(own_broker, name)
    assert (said["activeConsumerName"], said["nextConsumerName"], said["unfinishedEntries"]) == ("b", "a", 5)
    assert_silent(new)
    for message in held:
        old.acknowledge(message)
    assert payloads(receive_all(new, 5, ack=True)) == numbered(5, 5)
    assert_silent(new)
    assert_silent(old)
    said = active(own_broker, name)
    assert (said["activeConsumerName"], said["switches"], said["repeatedEntries"]) == ("a", 1, 0)


def test_the_first_consumer_stays_active(own_broker: StartedBroker, own_client: pulsar.Client, topic: str) -> None:
    own_client.create_producer(topic).close()
    own_broker.topic_rest("POST", topic, "magnetarFailoverSelector", "first")
    consumers = {}
    for consumer in ("m", "a", "z", "c"):
        consumers[consumer] = own_client.subscribe(topic, "s", FAILOVER, consumer_name=consumer)
    assert active(own_broker, topic)["activeConsumerName"] == "m"
    consumers["m"].close()
    assert active(own_broker, topic)["activeConsumerName"] == "a"
