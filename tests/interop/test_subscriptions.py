"""The four subscription types, as far as the wheel lets a program choose: who may join and who gets what."""

from __future__ import annotations

from collections import defaultdict

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
    drain,
    numbered,
    payloads,
    receive,
    receive_all,
    send_all,
    together,
)
from tests.support.broker import Broker


def sticky(*ranges: tuple[int, int]) -> pulsar.ConsumerKeySharedPolicy:
    return pulsar.ConsumerKeySharedPolicy(pulsar.KeySharedMode.Sticky, sticky_ranges=list(ranges))


def test_exclusive_refuses_a_second_consumer(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s")
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topic, "s")


def test_exclusive_is_free_again_when_its_consumer_closes(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s").close()
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"x")
    assert receive(consumer).data() == b"x"


@pytest.mark.parametrize("other", [SHARED, FAILOVER, KEY_SHARED], ids=lambda each: str(each.name))
def test_a_consumer_of_another_type_is_refused(client: pulsar.Client, topic: str, other: pulsar.ConsumerType) -> None:
    client.subscribe(topic, "s", EXCLUSIVE)
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topic, "s", other)


def test_the_type_may_change_when_nobody_is_connected(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", EXCLUSIVE)
    send_all(client.create_producer(topic), numbered(4))
    receive_all(first, 2, ack=True)
    first.close()
    assert payloads(receive_all(client.subscribe(topic, "s", SHARED), 2)) == numbered(2, 2)


def test_every_subscription_gets_every_message(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, f"s{number}") for number in range(5)]
    send_all(client.create_producer(topic), numbered(10))
    for consumer in consumers:
        assert payloads(receive_all(consumer, 10)) == numbered(10)


def test_failover_serves_one_consumer_at_a_time(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", FAILOVER, consumer_name=name) for name in ("a", "b", "c")]
    send_all(client.create_producer(topic), numbered(30))
    got = drain(consumers, 30, ack=True)
    assert [payloads(each) for each in got if each] == [numbered(30)]


def test_failover_hands_over_what_is_not_acknowledged(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", FAILOVER, consumer_name=name) for name in ("a", "b")]
    producer = client.create_producer(topic)
    send_all(producer, numbered(10))
    got = drain(consumers, 10)
    active = 0 if got[0] else 1
    for message in got[active][:4]:
        consumers[active].acknowledge(message)
    consumers[active].close()
    send_all(producer, numbered(2, 10))
    assert payloads(receive_all(consumers[1 - active], 8)) == numbered(8, 4)


def test_failover_goes_on_when_the_active_connection_breaks(
    client: pulsar.Client, new_client: ClientFactory, broker: Broker, topic: str
) -> None:
    doomed = new_client(broker.service_url)
    first = doomed.subscribe(topic, "s", FAILOVER, consumer_name="a")
    producer = client.create_producer(topic)
    producer.send(b"held")
    assert receive(first).data() == b"held"
    second = client.subscribe(topic, "s", FAILOVER, consumer_name="b")
    doomed.shutdown()
    assert receive(second).data() == b"held"


def test_shared_gives_each_message_to_one_consumer_in_turn(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", SHARED) for _ in range(3)]
    send_all(client.create_producer(topic), numbered(300))
    got = drain(consumers, 300, ack=True)
    assert together(got) == sorted(numbered(300))
    assert min(map(len, got)) >= 20


def test_shared_gives_no_more_than_the_receiver_queue_holds(client: pulsar.Client, topic: str) -> None:
    narrow = client.subscribe(topic, "s", SHARED, receiver_queue_size=5)
    wide = client.subscribe(topic, "s", SHARED)
    send_all(client.create_producer(topic), numbered(100))
    most = payloads(receive_all(wide, 95, ack=True))
    rest = together(drain([narrow, wide], 5, ack=True))
    assert sorted(most + rest) == sorted(numbered(100))


def test_shared_redelivers_what_a_leaving_consumer_held(client: pulsar.Client, topic: str) -> None:
    leaver = client.subscribe(topic, "s", SHARED)
    send_all(client.create_producer(topic), numbered(20))
    held = receive_all(leaver, 20)
    for message in held[::2]:
        leaver.acknowledge(message)
    stayer = client.subscribe(topic, "s", SHARED)
    leaver.close()
    again = receive_all(stayer, 10, ack=True)
    assert sorted(payloads(again)) == sorted(payloads(held[1::2]))
    assert_silent(stayer)


def test_key_shared_gives_a_key_to_one_consumer_in_order(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", KEY_SHARED, consumer_name=f"c{number}") for number in range(4)]
    producer = client.create_producer(topic)
    for number in range(400):
        producer.send_async(b"%d" % number, lambda result, _: None, partition_key=f"key-{number % 40}")
    producer.flush()
    got = drain(consumers, 400, ack=True)
    owners, numbers = defaultdict(set), defaultdict(list)
    for owner, messages in enumerate(got):
        for message in messages:
            owners[message.partition_key()].add(owner)
            numbers[message.partition_key()].append(int(message.data()))
    assert all(len(each) == 1 for each in owners.values())
    assert all(each == sorted(each) for each in numbers.values())
    assert all(got)


def test_key_shared_prefers_the_ordering_key(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", KEY_SHARED, consumer_name=f"c{number}") for number in range(3)]
    producer = client.create_producer(topic)
    for number in range(60):
        producer.send(b"%d" % number, partition_key=f"p{number}", ordering_key="same")
    got = drain(consumers, 60, ack=True)
    assert [payloads(each) for each in got if each] == [[b"%d" % number for number in range(60)]]


def test_key_shared_with_key_batches_keeps_keys_together(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", KEY_SHARED, consumer_name=f"c{number}") for number in range(3)]
    producer = client.create_producer(topic, batching_enabled=True, batching_type=pulsar.BatchingType.KeyBased)
    for number in range(200):
        producer.send_async(b"%d" % number, lambda result, _: None, partition_key=f"key-{number % 20}")
    producer.flush()
    owners = defaultdict(set)
    for owner, messages in enumerate(drain(consumers, 200, ack=True)):
        for message in messages:
            owners[message.partition_key()].add(owner)
    assert all(len(each) == 1 for each in owners.values())


def test_key_shared_hands_the_keys_of_a_leaver_to_the_others(client: pulsar.Client, topic: str) -> None:
    leaver, stayer = (client.subscribe(topic, "s", KEY_SHARED, consumer_name=name) for name in "ab")
    producer = client.create_producer(topic)
    for number in range(40):
        producer.send(b"%d" % number, partition_key=f"key-{number}")
    held, _ = drain([leaver, stayer], 40)
    assert held
    leaver.close()
    assert sorted(payloads(receive_all(stayer, len(held), ack=True))) == sorted(payloads(held))


def test_key_shared_sticky_ranges_are_kept(client: pulsar.Client, topic: str) -> None:
    low = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 32767)))
    high = client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((32768, 65535)))
    producer = client.create_producer(topic)
    # The slots of these keys are 5536, 21772, 27058 and 49866, 63679, 48803 of 65536.
    for key in ("key-1", "key-2", "a", "anyKey", "key-0", "NONE_KEY"):
        producer.send(key.encode(), partition_key=key)
    assert payloads(receive_all(low, 3, ack=True)) == [b"key-1", b"key-2", b"a"]
    assert payloads(receive_all(high, 3, ack=True)) == [b"anyKey", b"key-0", b"NONE_KEY"]


def test_key_shared_sticky_ranges_must_not_overlap(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 40000)))
    with pytest.raises(pulsar.ConsumerAssignError):
        client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((40000, 65535)))


def test_key_shared_modes_do_not_mix(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s", KEY_SHARED)
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=sticky((0, 65535)))


def test_a_cursor_outlives_its_consumer(
    client: pulsar.Client, new_client: ClientFactory, broker: Broker, topic: str
) -> None:
    first_client = new_client(broker.service_url)
    first = first_client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(10))
    receive_all(first, 6, ack=True)
    first.close()
    assert payloads(receive_all(client.subscribe(topic, "s"), 4)) == numbered(4, 6)


def test_unsubscribe_forgets_the_subscription(client: pulsar.Client, topic: str) -> None:
    keeper = client.subscribe(topic, "keeper")
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbered(3))
    receive_all(consumer, 3, ack=True)
    consumer.unsubscribe()
    assert payloads(receive_all(client.subscribe(topic, "s", initial_position=EARLIEST), 3)) == numbered(3)
    assert payloads(receive_all(keeper, 3)) == numbered(3)


def test_unsubscribe_is_refused_while_another_consumer_is_there(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", SHARED)
    second = client.subscribe(topic, "s", SHARED)
    with pytest.raises(pulsar.PulsarException):
        first.unsubscribe()
    client.create_producer(topic).send(b"x")
    drain([first, second], 1)


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED], ids=lambda each: str(each.name))
def test_a_queue_of_zero_fetches_message_by_message(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind, receiver_queue_size=0)
    send_all(client.create_producer(topic), numbered(5), partition_key="k")
    got = []
    for _ in range(5):
        message = consumer.receive()
        got.append(message.data())
        consumer.acknowledge(message)
    assert got == numbered(5)


def test_queues_of_zero_leave_the_rest_to_the_others(client: pulsar.Client, topic: str) -> None:
    lazy = client.subscribe(topic, "s", SHARED, receiver_queue_size=0)
    other = client.subscribe(topic, "s", SHARED)
    send_all(client.create_producer(topic), numbered(10))
    assert payloads(receive_all(other, 10, ack=True)) == numbered(10)
    lazy.close()


def test_a_consumer_of_several_topics_gets_from_all(client: pulsar.Client, topic: str) -> None:
    topics = [f"{topic}-{number}" for number in range(3)]
    consumer = client.subscribe(topics, "s", SHARED)
    for each in topics:
        send_all(client.create_producer(each), [each.encode()] * 2)
    messages = receive_all(consumer, 6, ack=True)
    assert sorted(payloads(messages)) == sorted([each.encode() for each in topics] * 2)
    assert all(message.topic_name().encode() == message.data() for message in messages)


def test_a_batch_receive_takes_what_is_there(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", batch_receive_policy=pulsar.ConsumerBatchReceivePolicy(10, -1, 10_000))
    send_all(client.create_producer(topic), numbered(10))
    assert payloads(consumer.batch_receive()) == numbered(10)


def test_a_consumer_says_whether_it_is_connected(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", consumer_name="me")
    assert consumer.is_connected()
    assert (consumer.topic(), consumer.subscription_name(), consumer.consumer_name()) == (topic, "s", "me")
    consumer.close()
    assert not consumer.is_connected()


def test_a_paused_listener_gets_nothing_until_it_is_resumed(client: pulsar.Client, topic: str) -> None:
    heard = client.subscribe(f"{topic}-heard", "s")
    echo = client.create_producer(f"{topic}-heard")
    consumer = client.subscribe(
        topic, "s", message_listener=lambda _, message: echo.send_async(message.data(), lambda result, _: None)
    )
    consumer.pause_message_listener()
    client.create_producer(topic).send(b"x")
    assert_silent(heard)
    consumer.resume_message_listener()
    assert receive(heard).data() == b"x"
