"""What nobody uses goes, under real clients; the broker's times are short, so that a test can wait for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pulsar
import pytest

from magnetar.log.memory import MemoryLog
from tests.interop.conftest import ClientFactory
from tests.interop.helpers import EARLIEST, SHARED, assert_silent, payloads, receive_all
from tests.support.served import Served, options

TOPIC = "persistent://public/default/unused"
TRIES_MAX, TOPICS_MADE = 2_000, 6
SHORT = options(inactive_check_ms=20, inactive_after_ms=60, subscription_expiry_check_ms=20)


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(SHORT) as broker:
        yield broker


def gone(served: Served, topic: str = TOPIC) -> bool:
    return topic not in served.core.topics and topic not in served.core.catalog.topics


def test_a_topic_goes_when_its_last_user_has_left_and_not_before(served: Served, new_client: ClientFactory) -> None:
    client = new_client(served.service_url)
    producer = client.create_producer(TOPIC)
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
    producer.send(b"a")
    served.eventually(lambda: served.core.now_ms > served.core.topics[TOPIC].created_ms + 300)
    producer.close()
    assert reader.read_next(5_000).data() == b"a"
    assert not served.call(lambda: gone(served))
    reader.close()
    served.eventually(lambda: gone(served), "the topic is deleted")
    client.create_producer(TOPIC).send(b"b")
    again = client.subscribe(TOPIC, "s", initial_position=EARLIEST)
    assert payloads(receive_all(again, 1)) == [b"b"]
    assert_silent(again)


def test_subscriptions_keep_a_topic_unless_they_are_done_and_the_policy_says_so(
    served: Served, new_client: ClientFactory
) -> None:
    client = new_client(served.service_url)
    consumer = client.subscribe(TOPIC, "s")
    producer = client.create_producer(TOPIC)
    producer.send(b"a")
    message = consumer.receive(5_000)

    def caught_up() -> None:
        served.core.options.inactive_caught_up = True
        served.core.policies.forget()
        for topic in served.core.topics.values():
            topic.policies = served.core.policies.of(topic.name)

    served.call(caught_up)
    consumer.close()
    producer.close()
    served.eventually(lambda: served.core.now_ms > served.core.topics[TOPIC].limits.last_used_ms)
    assert not served.call(lambda: gone(served))
    consumer = client.subscribe(TOPIC, "s")
    assert consumer.receive(5_000).message_id() == message.message_id()
    consumer.acknowledge_cumulative(message)
    served.eventually(lambda: served.core.topics[TOPIC].subscriptions["s"].backlog() == 0)
    consumer.close()
    served.eventually(lambda: gone(served), "the topic is deleted")


def test_clients_that_come_and_go_while_a_topic_is_deleted_again_and_again_are_served(
    new_client: ClientFactory,
) -> None:
    with Served(options(inactive_check_ms=1, inactive_after_ms=1)) as served:
        failures: list[Exception] = []

        def publish() -> None:
            """Come and go until the topic was deleted and made anew a few times."""
            client = new_client(served.service_url)
            try:
                for number in range(TRIES_MAX):
                    producer = client.create_producer(TOPIC)
                    producer.send(b"%d" % number)
                    producer.close()
                    if served.core.next_stream > TOPICS_MADE:
                        return
            except pulsar.PulsarException as error:
                failures.append(error)

        threads = [threading.Thread(target=publish) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert served.call(lambda: served.core.next_stream) > TOPICS_MADE, "the topic was never deleted in between"
        served.eventually(lambda: gone(served), "the topic is deleted")


def test_a_subscription_expires_and_one_in_use_does_not(served: Served, new_client: ClientFactory) -> None:
    client = new_client(served.service_url)
    used = client.subscribe(TOPIC, "used", SHARED)
    client.subscribe(TOPIC, "left", SHARED).close()

    def expire() -> None:
        served.core.options.subscription_expiration_ms = 60
        served.core.policies.forget()
        for topic in served.core.topics.values():
            topic.policies = served.core.policies.of(topic.name)

    served.call(expire)
    served.eventually(lambda: list(served.core.topics[TOPIC].subscriptions) == ["used"], "the other one expires")
    client.create_producer(TOPIC).send(b"m")
    assert payloads(receive_all(used, 1)) == [b"m"]
    used.close()
    served.eventually(lambda: gone(served) or not served.core.topics[TOPIC].subscriptions, "it expires as well")


def test_nothing_is_sent_while_acknowledgements_cannot_be_kept(new_client: ClientFactory) -> None:
    log = MemoryLog(auto=True)
    with Served(options(pause_on_ack_state=True), log=log) as served:
        client = new_client(served.service_url)
        producer = client.create_producer(TOPIC)
        consumer = client.subscribe(TOPIC, "s", SHARED, receiver_queue_size=1)
        for number in range(5):
            producer.send(b"%d" % number)
        first = consumer.receive(5_000)
        served.call(lambda: log.fail_next(4))
        consumer.acknowledge(first)
        served.eventually(lambda: bool(served.core.log_error), "the log fails")
        served.eventually(lambda: not served.core.log_error, "the log is back")
        assert payloads(receive_all(consumer, 4, ack=True)) == [b"1", b"2", b"3", b"4"]
