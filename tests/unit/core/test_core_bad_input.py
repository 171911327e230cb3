"""What clients send that no well-meant client would: it costs them their request or their connection, nobody else's."""

from __future__ import annotations

import pytest

from magnetar.wire.commands import encode, pb
from tests.support.corebroker import EXCLUSIVE, SHARED, Client, CoreBroker, entry_of, full

BROKEN = b"\x00\x00\x00\x02\xff\xff"
"""An entry whose metadata cannot be read."""


def test_last_id_of_an_entry_with_unreadable_metadata_is_answered() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    client.feed(client.send_frame(BROKEN, 0))
    answer = client.last_id()
    assert answer is not None
    assert answer.message.last_message_id.batch_index == -1
    assert broker.hung_up == []


def test_last_id_of_unreadable_metadata_is_answered_from_the_log_as_well() -> None:
    broker = CoreBroker(tail_cache_bytes=0)
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    client.feed(client.send_frame(BROKEN, 0))
    assert client.last_id() is not None


def test_a_chunk_with_unreadable_metadata_is_delivered_and_stops_nobody() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", "one", permits=10)
    client.consumer("t", "two", consumer_id=2, permits=10)
    client.feed(client.send_frame(BROKEN, 0, chunk=True))
    client.publish(b"after")
    got = [(frame.message.consumer_id, frame.payload[-5:]) for frame in client.messages()]
    assert sorted(got) == sorted([(1, BROKEN[-5:]), (2, BROKEN[-5:]), (1, b"after"), (2, b"after")])


def test_deduplication_takes_a_chunk_with_unreadable_metadata_for_whole() -> None:
    broker = CoreBroker(deduplication=True)
    client = broker.client()
    client.producer("t", name="p")
    client.feed(client.send_frame(BROKEN, 0, chunk=True))
    client.feed(client.send_frame(entry_of(b"next", sequence=1), 1))
    assert [sequence for sequence, _ in client.receipts()] == [0, 1]


@pytest.mark.parametrize("count", [0, -1])
def test_an_entry_that_claims_no_messages_counts_as_one(count: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=10)
    client.feed(client.send_frame(entry_of(b"m"), 0, count=count))
    (message,) = client.messages()
    assert broker.sub().consumers[0].permits == 9
    client.nack(message.id)
    assert client.bodies() == [b"m"]


def test_a_count_too_large_for_its_field_is_no_chunk() -> None:
    broker = CoreBroker(tail_cache_bytes=0)
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=10)
    client.feed(client.send_frame(entry_of(b"m", num_messages_in_batch=1 << 30), 0))
    (message,) = client.messages()
    client.ack(message.id)
    assert broker.sub().consumers[0].unacked == 0
    assert broker.sub().dispatcher.unacked() == 0


def test_a_subscription_name_too_long_for_the_log_is_refused() -> None:
    broker = CoreBroker()
    client = broker.client()
    answer = client.subscribe("t", "s" * 70_000)
    assert answer is not None
    assert answer.name == "ERROR"
    client.producer("t")
    client.publish(b"alive")
    assert len(client.receipts()) == 1
    answer = client.producer("t", 2, initial_subscription_name="s" * 70_000)
    assert answer is not None
    assert answer.name == "ERROR"


def test_a_producer_name_too_long_for_the_log_is_refused() -> None:
    broker = CoreBroker(deduplication=True)
    client = broker.client()
    answer = client.producer("t", name="p" * 70_000)
    assert answer is not None
    assert answer.name == "ERROR"


def test_properties_may_hold_any_text_and_survive_a_restart() -> None:
    broker = CoreBroker()
    properties = [pb.KeyValue(key="a\0b", value="c"), pb.KeyValue(key="", value="\0"), pb.KeyValue(key="é", value="")]
    broker.client().consumer("t", subscription_properties=properties)
    broker.restart()
    assert broker.sub().properties == {"a\0b": "c", "": "\0", "é": ""}


def test_a_command_before_connect_closes() -> None:
    broker = CoreBroker()
    client = broker.client(connect=False)
    client.say(pb.CommandFlow(consumer_id=1, messagePermits=1))
    assert [frame.message.request_id for frame in client.take("ERROR")] == [(1 << 64) - 1]
    assert broker.hung_up == [client.session]


def test_a_second_connect_closes() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.say(pb.CommandConnect(client_version="again"))
    assert client.names() == ["ERROR"]
    assert broker.hung_up == [client.session]


def test_what_was_sent_before_garbage_is_kept() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.feed(client.send_frame(entry_of(b"good"), 0) + b"\x00\x00\x00\x01")
    assert broker.hung_up == [client.session]
    other = broker.client()
    other.consumer("t", permits=5)
    assert other.bodies() == [b"good"]


def test_send_to_an_unknown_producer_closes() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.feed(client.send_frame(entry_of(), 0, producer_id=7))
    assert broker.hung_up == [client.session]


def test_a_late_send_of_a_closed_producer_is_dropped_in_silence_for_one_keep_alive_interval() -> None:
    broker = CoreBroker(keep_alive_ms=30_000)
    client = broker.client()
    client.producer("t")
    client.close_producer()
    client.feed(client.send_frame(entry_of(), 0))
    assert client.names() == []
    assert broker.hung_up == []
    client.say(pb.CommandPing())
    broker.advance(29_000)
    client.say(pb.CommandPing())
    broker.advance(2_000)
    client.feed(client.send_frame(entry_of(), 0))
    assert broker.hung_up == [client.session]


def test_closed_producer_ids_are_not_remembered_for_ever() -> None:
    broker = CoreBroker(keep_alive_ms=1_000)
    client = broker.client()
    for number in range(500):
        client.producer("t", number)
        client.close_producer(number)
        broker.advance(10)
    assert len(client.session.retired) < 250


def test_ids_of_another_connection_are_unknown_here() -> None:
    broker = CoreBroker()
    owner, thief = broker.client(), broker.client()
    owner.producer("t")
    owner.consumer("t", kind=EXCLUSIVE, permits=10)
    owner.publish(b"m")
    (message,) = owner.messages()
    answer = thief.ack(message.id, receipt=True)
    assert answer is not None
    assert answer.message.error == pb.ServerError.ConsumerNotFound
    thief.ack(message.id)
    thief.nack(message.id)
    thief.flow(100)
    thief.redeliver_all()
    for request in (
        pb.CommandUnsubscribe(consumer_id=1),
        pb.CommandSeek(consumer_id=1, message_publish_time=1),
        pb.CommandGetLastMessageId(consumer_id=1),
    ):
        answer = thief.ask(request)
        assert answer is not None
        assert answer.name == "ERROR", answer
    stats = thief.ask(pb.CommandConsumerStats(consumer_id=1))
    assert stats is not None
    assert stats.message.error_code == pb.ServerError.ConsumerNotFound
    assert thief.names() == []
    assert owner.names() == ["SEND_RECEIPT"]
    assert broker.sub().backlog() == 1


def test_an_ack_of_another_topic_changes_nothing() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t", 1)
    client.producer("u", 2)
    client.consumer("t", consumer_id=1, permits=5)
    client.consumer("u", consumer_id=2, permits=5)
    client.publish(b"mine")
    client.publish(b"other", producer_id=2)
    mine = next(frame for frame in client.messages() if frame.message.consumer_id == 1)
    client.ack(mine.id, consumer_id=2)
    assert broker.sub("t").backlog() == 1
    assert broker.sub("u").backlog() == 1


@pytest.mark.parametrize("kind", [3, 7, 13, 58, 70])
def test_commands_that_a_broker_does_not_take_close(kind: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.feed(bytes((0, 0, 0, 6, 0, 0, 0, 2, 8, kind)))
    assert broker.hung_up == [client.session]


def test_an_unknown_request_gets_an_error_and_the_connection_lives() -> None:
    broker = CoreBroker()
    client = broker.client()
    for name in ("other://a/b/c", "persistent://only/two", "persistent:// /b/c"):
        answer = client.subscribe(name)
        assert answer is not None
        assert answer.message.error == pb.ServerError.InvalidTopicName
    assert broker.hung_up == []


def test_an_answered_subscribe_is_answered_again() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.consumer("t")
    client.consumer("t")
    assert len(broker.sub().consumers) == 1


def opening(broker: CoreBroker, client: Client, message: pb.CommandSubscribe | pb.CommandProducer) -> None:
    """Send a request whose topic is still being made."""
    broker.auto_store = False
    assert client.ask(message) is None
    assert broker.writes


def test_a_consumer_that_is_closed_before_it_was_opened_does_not_open() -> None:
    broker = CoreBroker()
    client = broker.client()
    opening(broker, client, pb.CommandSubscribe(topic=full("t"), subscription="s", subType=SHARED, consumer_id=1))
    assert client.close_consumer() is not None
    broker.store()
    broker.turn()
    assert client.session.consumers == {}
    assert "s" not in broker.topic().subscriptions


def test_a_producer_that_is_closed_before_it_was_opened_does_not_open() -> None:
    broker = CoreBroker()
    client = broker.client()
    opening(broker, client, pb.CommandProducer(topic=full("t"), producer_id=1, producer_name="p"))
    assert client.close_producer() is not None
    broker.store()
    broker.turn()
    assert client.session.producers == {}
    assert broker.topic().producers == {}


def test_an_id_that_is_being_opened_must_wait() -> None:
    broker = CoreBroker()
    client = broker.client()
    opening(broker, client, pb.CommandProducer(topic=full("t"), producer_id=1, producer_name="p"))
    answer = client.producer("t", name="p")
    assert answer is not None
    assert answer.message.error == pb.ServerError.ServiceNotReady


def test_a_connection_that_ends_while_it_opens_leaves_nothing() -> None:
    broker = CoreBroker()
    client = broker.client()
    opening(broker, client, pb.CommandSubscribe(topic=full("t"), subscription="s", subType=SHARED, consumer_id=1))
    client.cut()
    broker.store()
    broker.turn()
    assert broker.topic().subscriptions == {}


def test_a_handshake_that_does_not_come_is_not_waited_for() -> None:
    broker = CoreBroker(keep_alive_ms=30_000)
    client = broker.client(connect=False)
    broker.advance(20_000)
    client.say(pb.CommandPing())
    broker.advance(12_000)
    assert broker.hung_up == [client.session]


def test_chunks_whose_consumer_is_gone_begin_again_elsewhere() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", consumer_id=1, permits=1)
    client.consumer("t", consumer_id=2)
    frames = [
        client.send_frame(
            entry_of(b"%d" % k, uuid="u", num_chunks_from_msg=3, chunk_id=k, total_chunk_msg_size=3), 0, chunk=True
        )
        for k in range(3)
    ]
    client.feed(b"".join(frames))
    assert client.bodies() == [b"0"]
    client.flow(10, 2)
    assert client.bodies() == []
    client.close_consumer(1)
    assert client.bodies() == [b"0", b"1", b"2"]


def test_encoded_commands_can_come_in_one_piece_of_bytes() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.feed(
        client.send_frame(entry_of(b"m"), 0)
        + encode(pb.CommandPing())
        + client.send_frame(entry_of(b"n"), 1)
        + encode(pb.CommandPing())
    )
    assert sorted(client.names()) == ["PONG", "PONG", "SEND_RECEIPT", "SEND_RECEIPT"]


@pytest.mark.parametrize("epoch", [1 << 63, (1 << 64) - 1, (1 << 63) - 1])
def test_an_epoch_that_no_topic_can_have_is_refused_and_poisons_nothing(epoch: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    for mode in range(4):
        answer = client.producer("t", mode, name=f"p{mode}", producer_access_mode=mode, topic_epoch=epoch)
        assert answer is not None
        assert answer.message.error == pb.ServerError.NotAllowedError, answer
    assert broker.topic().producers == {}
    assert broker.topic().exclusive is None
    assert broker.topic().states()
    answer = client.producer("t", 9, name="p", producer_access_mode=1)
    assert answer is not None
    assert answer.message.topic_epoch == 0


@pytest.mark.parametrize("pattern", ["([a-z/]+)+!", "(a|aa)*(b)+!", "a?a?a?a?a?a?!", "(a*)\\1!"])
def test_a_pattern_that_could_match_for_ever_is_left_to_the_client(pattern: str) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("a" * 200)
    answer = client.ask(pb.CommandGetTopicsOfNamespace(namespace="public/default", topics_pattern=pattern))
    assert answer is not None
    assert (answer.message.filtered, list(answer.message.topics)) == (False, [full("a" * 200)])


def test_names_too_long_to_be_matched_quickly_are_left_to_the_client() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("a" * 100_000)
    answer = client.ask(pb.CommandGetTopicsOfNamespace(namespace="public/default", topics_pattern=".*a.*b"))
    assert answer is not None
    assert (answer.message.filtered, len(answer.message.topics)) == (False, 1)


def test_a_usual_pattern_is_matched_here() -> None:
    broker = CoreBroker()
    client = broker.client()
    for number, name in enumerate(("ab", "abc", "bc")):
        client.producer(name, number)
    request = pb.CommandGetTopicsOfNamespace(namespace="public/default", topics_pattern="public/default/ab.*")
    answer = client.ask(request)
    assert answer is not None
    assert (answer.message.filtered, sorted(answer.message.topics)) == (True, [full("ab"), full("abc")])
