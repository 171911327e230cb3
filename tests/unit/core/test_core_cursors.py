"""Where a subscription begins, seek, readers, last ids, unsubscribe, the end of a topic."""

from __future__ import annotations

import pytest

from magnetar.core.creating import delete_topic
from magnetar.core.upkeep import expire
from magnetar.ports.log import ReadDone
from magnetar.wire.commands import pb
from tests.support.corebroker import EXCLUSIVE, FAILOVER, KEY_SHARED, SHARED, START_MS, Client, CoreBroker, Frame

EARLIEST = (1 << 64) - 1
LATEST = (1 << 63) - 1


def answered(frame: Frame | None) -> Frame:
    assert frame is not None, "there is no answer"
    return frame


def with_backlog(count: int = 6, **options: object) -> tuple[CoreBroker, Client, list[tuple[int, int]]]:
    """A topic over several ledgers, with one message a second, and the places of the messages."""
    options = {"ledger_entries_max": 2, "ledger_min_ms": 0, **options}
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    for k in range(count):
        client.publish(b"m%d" % k, publish_time=START_MS + 1000 * k)
    return broker, client, [place for _, place in client.receipts()]


def read_from(client: Client, place: tuple[int, int] | None, consumer_id: int = 1, **fields: object) -> list[bytes]:
    """Open a reader, and read all there is."""
    if place is not None:
        fields["start_message_id"] = pb.MessageIdData(ledgerId=place[0], entryId=place[1])
    client.consumer("t", f"r{consumer_id}", EXCLUSIVE, consumer_id, durable=False, permits=1000, **fields)
    return client.bodies()


def test_a_new_subscription_begins_at_the_end_or_at_the_beginning() -> None:
    _broker, client, _ = with_backlog(3)
    client.consumer("t", "first", permits=10)
    assert client.bodies() == [b"m0", b"m1", b"m2"]
    client.consumer("t", "last", consumer_id=2, permits=10, initialPosition=0)
    client.publish(b"new")
    assert [frame.body for frame in client.messages() if frame.message.consumer_id == 2] == [b"new"]


def test_an_existing_cursor_wins_over_where_the_client_would_like_to_begin() -> None:
    _broker, client, places = with_backlog(3)
    client.consumer("t", permits=10)
    client.messages()
    client.ack(places[0])
    client.close_consumer()
    start = pb.MessageIdData(ledgerId=places[2][0], entryId=places[2][1])
    client.consumer("t", permits=10, initialPosition=0, start_message_id=start)
    assert client.bodies() == [b"m1", b"m2"]


@pytest.mark.parametrize("tail_cache_bytes", [0, 1 << 20])
def test_a_reader_begins_where_it_is_told(tail_cache_bytes: int) -> None:
    _broker, client, places = with_backlog(6, tail_cache_bytes=tail_cache_bytes)
    everything = [b"m%d" % k for k in range(6)]
    assert read_from(client, (EARLIEST, EARLIEST), 1) == everything
    assert read_from(client, (LATEST, LATEST), 2) == []
    assert read_from(client, (LATEST, (1 << 48) - 1), 3) == []
    for k, place in enumerate(places):
        assert read_from(client, place, 10 + k) == everything[k:]
    assert read_from(client, (places[1][0], 99), 4) == everything[2:]
    assert read_from(client, (places[2][0], EARLIEST), 5) == everything[2:]
    assert read_from(client, None, 6) == everything
    assert read_from(client, None, 7, initialPosition=0) == []


def test_a_reader_leaves_nothing_behind() -> None:
    broker, client, places = with_backlog(3)
    read_from(client, places[0])
    client.cut()
    assert broker.topic().subscriptions == {}


def test_a_reader_that_was_refused_leaves_nothing_behind() -> None:
    broker, client, places = with_backlog(3, max_consumers_per_topic=1)
    read_from(client, places[0])
    answer = answered(client.subscribe("t", "r2", EXCLUSIVE, 2, durable=False))
    assert answer.message.error == pb.ServerError.ConsumerBusy
    assert list(broker.topic().subscriptions) == ["r1"]


def test_durable_and_not_durable_do_not_mix() -> None:
    _broker, client, _ = with_backlog(1)
    client.consumer("t", "s")
    answer = answered(client.subscribe("t", "s", SHARED, 2, durable=False))
    assert answer.message.error == pb.ServerError.NotAllowedError


# Seek.


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
@pytest.mark.parametrize("target", [0, 1, 3, 5])
def test_seek_back_and_forth_between_ledgers(kind: int, target: int) -> None:
    broker, client, places = with_backlog(6)
    client.consumer("t", kind=kind, permits=100)
    client.messages()
    client.ack(places[0], places[4])
    assert answered(client.seek(places[target])).name == "SUCCESS"
    assert client.names() == ["CLOSE_CONSUMER"] or "ACTIVE_CONSUMER_CHANGE" in client.names()
    assert client.session.consumers == {}
    client.consumer("t", kind=kind, permits=100)
    assert client.bodies() == [b"m%d" % k for k in range(target, 6)]
    assert broker.sub().backlog() == 6 - target


@pytest.mark.parametrize(
    ("place", "first"), [((EARLIEST, EARLIEST), 0), ((LATEST, LATEST), 6), ((0, 0), 0), ((1 << 40, 0), 6)]
)
def test_seek_to_ends_and_to_places_that_are_not_there(place: tuple[int, int], first: int) -> None:
    broker, client, _ = with_backlog(6)
    client.consumer("t")
    assert answered(client.seek(place)).name == "SUCCESS"
    assert broker.sub().acks.floor == first


def test_seek_is_durable_before_its_answer() -> None:
    broker, client, places = with_backlog(4)
    client.consumer("t", permits=10)
    client.ack(*places)
    broker.auto = False
    assert client.seek(places[2]) is None
    answer = answered(broker.client().subscribe("t"))
    assert answer.message.error == pb.ServerError.ServiceNotReady
    broker.commit()
    assert answered(client.answer(client.requests)).name == "SUCCESS"
    broker.restart()
    assert broker.sub().acks.floor == 2


def test_seek_to_a_batch_keeps_the_part_that_is_asked_for() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.publish(b"batch", batch=4)
    client.consumer("t", permits=10)
    (message,) = client.messages()
    seek = pb.CommandSeek(consumer_id=1)
    seek.message_id.CopyFrom(pb.MessageIdData(ledgerId=message.id[0], entryId=message.id[1], ack_set=[0b1100]))
    assert answered(client.ask(seek)).name == "SUCCESS"
    client.consumer("t", permits=10)
    assert list(client.messages()[0].message.ack_set) == [0b1100]


@pytest.mark.parametrize("tail_cache_bytes", [0, 1 << 20])
@pytest.mark.parametrize(
    ("time", "first"), [(0, 0), (START_MS, 0), (START_MS + 1, 1), (START_MS + 3000, 3), (START_MS + 60_000, 6)]
)
def test_seek_by_time(time: int, first: int, tail_cache_bytes: int) -> None:
    broker, client, _ = with_backlog(6, tail_cache_bytes=tail_cache_bytes)
    client.consumer("t")
    assert answered(client.ask(pb.CommandSeek(consumer_id=1, message_publish_time=time))).name == "SUCCESS"
    assert broker.sub().acks.floor == first


def test_one_seek_at_a_time() -> None:
    broker, client, _ = with_backlog(6, tail_cache_bytes=0)
    other = broker.client()
    client.consumer("t")
    other.consumer("t")
    broker.auto = False
    assert client.ask(pb.CommandSeek(consumer_id=1, message_publish_time=START_MS + 3000)) is None
    answer = answered(other.ask(pb.CommandSeek(consumer_id=1, message_publish_time=0)))
    assert answer.message.error == pb.ServerError.ConsumerBusy


def test_a_seek_by_time_survives_reads_that_fail() -> None:
    broker, client, _ = with_backlog(6, tail_cache_bytes=0)
    client.consumer("t")
    broker.auto = False
    client.ask(pb.CommandSeek(consumer_id=1, message_publish_time=START_MS + 3000))
    (ticket,) = broker.core.reads
    broker.log.step_read()
    broker.log.poll()
    broker.core.read_done(ReadDone(ticket, 3, [], OSError("an input/output error")))
    broker.turn()
    broker.auto = True
    broker.advance(2_000)
    assert answered(client.answer(client.requests)).name == "SUCCESS"
    assert broker.sub().acks.floor == 3


def test_a_reader_that_seeks_comes_back_to_where_it_sought() -> None:
    _broker, client, places = with_backlog(6)
    read_from(client, places[4])
    assert answered(client.seek(places[1])).name == "SUCCESS"
    assert read_from(client, (LATEST, LATEST)) == [b"m%d" % k for k in range(1, 6)]


def test_a_reader_that_sought_and_never_came_back_is_forgotten() -> None:
    broker, client, places = with_backlog(3)
    read_from(client, places[0])
    client.seek(places[1])
    client.cut()
    broker.advance(broker.options.keep_alive_ms + 1)
    assert broker.topic().subscriptions == {}


def test_a_later_reader_of_the_same_name_is_not_forgotten_for_it() -> None:
    broker, client, places = with_backlog(3)
    read_from(client, places[0])
    client.seek(places[1])
    read_from(client, places[0])
    client.close_consumer()
    read_from(client, places[0])
    for _ in range(4):
        broker.advance(broker.options.keep_alive_ms // 3)
        client.say(pb.CommandPing())
    client.messages()
    client.publish(b"new")
    assert client.bodies() == [b"new"]


# Last ids.


@pytest.mark.parametrize("tail_cache_bytes", [0, 1 << 20])
def test_last_id(tail_cache_bytes: int) -> None:
    broker = CoreBroker(tail_cache_bytes=tail_cache_bytes)
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=100)
    empty = answered(client.last_id()).message
    assert (empty.last_message_id.ledgerId, empty.last_message_id.entryId) == (EARLIEST, EARLIEST)
    client.publish(b"a")
    ((_, place),) = client.receipts()
    last = answered(client.last_id())
    assert (last.id, last.message.last_message_id.batch_index) == (place, -1)
    client.publish(b"b", batch=7)
    ((_, place),) = client.receipts()
    last = answered(client.last_id())
    assert (last.id, last.message.last_message_id.batch_index) == (place, 6)
    client.publish(b"c", batch=1)
    assert answered(client.last_id()).message.last_message_id.batch_index == 0


def test_last_id_tells_how_far_the_consumer_is() -> None:
    _broker, client, places = with_backlog(4)
    client.consumer("t", kind=EXCLUSIVE)
    mark = answered(client.last_id()).message.consumer_mark_delete_position
    assert (mark.ledgerId, mark.entryId) == (places[0][0], EARLIEST)
    client.ack(places[2], ack_type=1)
    mark = answered(client.last_id()).message.consumer_mark_delete_position
    assert (mark.ledgerId, mark.entryId) == places[2]


def test_last_id_of_an_unknown_consumer() -> None:
    assert answered(CoreBroker().client().last_id()).message.error == pb.ServerError.MetadataError


# Unsubscribe, end, deletion.


def test_unsubscribe_takes_the_cursor_away() -> None:
    broker, client, _ = with_backlog(2)
    client.consumer("t")
    assert answered(client.ask(pb.CommandUnsubscribe(consumer_id=1))).name == "SUCCESS"
    assert broker.topic().subscriptions == {}
    broker.restart()
    assert broker.topic().subscriptions == {}


def test_unsubscribe_needs_to_be_alone_or_forced() -> None:
    _broker, client, _ = with_backlog(2)
    client.consumer("t", consumer_id=1)
    client.consumer("t", consumer_id=2)
    answer = answered(client.ask(pb.CommandUnsubscribe(consumer_id=1)))
    assert answer.message.error == pb.ServerError.MetadataError
    assert answered(client.ask(pb.CommandUnsubscribe(consumer_id=1, force=True))).name == "SUCCESS"
    assert [frame.message.consumer_id for frame in client.take("CLOSE_CONSUMER")] == [2]


def terminate(broker: CoreBroker) -> None:
    topic = broker.topic()
    topic.terminated = True
    topic.write_facts()
    for sub in topic.subscriptions.values():
        sub.tell_end()
    broker.turn()


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_the_end_of_a_topic_is_told_when_all_is_acked(kind: int) -> None:
    broker, client, places = with_backlog(3)
    client.consumer("t", kind=kind, permits=10)
    terminate(broker)
    assert client.take("REACHED_END_OF_TOPIC") == []
    client.ack(*places)
    assert len(client.take("REACHED_END_OF_TOPIC")) == 1
    late = broker.client()
    if kind in (SHARED, KEY_SHARED, FAILOVER):
        late.consumer("t", kind=kind)
        assert len(late.take("REACHED_END_OF_TOPIC")) == 1
    client.publish(b"too late")
    assert [frame.message.error for frame in client.take("SEND_ERROR")] == [pb.ServerError.TopicTerminatedError]
    answer = answered(broker.client().producer("t"))
    assert answer.message.error == pb.ServerError.TopicTerminatedError
    broker.restart()
    assert broker.topic().terminated


def test_the_end_is_not_told_while_publishes_are_under_way() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=10)
    broker.auto = False
    client.publish(b"last")
    terminate(broker)
    assert client.take("REACHED_END_OF_TOPIC") == []
    broker.auto = True
    broker.turn()
    assert client.take("REACHED_END_OF_TOPIC") == []
    client.ack(client.messages()[0].id)
    assert len(client.take("REACHED_END_OF_TOPIC")) == 1


def test_a_deleted_topic_sends_everyone_away_and_starts_anew() -> None:
    broker, client, _ = with_backlog(2)
    client.consumer("t")
    done: list[Exception | None] = []
    delete_topic(broker.core, broker.topic(), done.append)
    broker.turn()
    assert done == [None]
    assert sorted(client.names()) == ["CLOSE_CONSUMER", "CLOSE_PRODUCER"]
    client.consumer("t", permits=10)
    assert client.bodies() == []
    broker.restart()
    assert broker.topic().tail.end == 0


def test_a_deletion_that_the_store_refused_changes_nothing() -> None:
    broker, client, _ = with_backlog(2)
    client.consumer("t")
    broker.auto_store = False
    done: list[Exception | None] = []
    delete_topic(broker.core, broker.topic(), done.append)
    broker.turn()
    broker.store("the store is ill")
    assert len(done) == 1
    assert done[0] is not None
    client.consumer("t", permits=10)
    assert client.bodies() == [b"m0", b"m1"]


# Damage and retention under a cursor.


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_a_damaged_entry_is_passed_over_and_counted(kind: int) -> None:
    broker, client, _ = with_backlog(6, tail_cache_bytes=0)
    broker.log.damage(broker.topic().stream, 2)
    client.consumer("t", kind=kind, permits=10)
    messages = client.messages()
    assert sorted(frame.body for frame in messages) == [b"m0", b"m1", b"m3", b"m4", b"m5"]
    client.ack(*(frame.id for frame in messages))
    assert broker.sub().backlog() == 0
    assert broker.sub().lost_count == 1


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_a_read_that_fails_is_tried_again(kind: int) -> None:
    broker, client, _ = with_backlog(3, tail_cache_bytes=0)
    client.consumer("t", kind=kind)
    broker.auto = False
    client.flow(10)
    (ticket,) = broker.core.reads
    broker.log.step_read()
    broker.log.poll()
    broker.core.read_done(ReadDone(ticket, 0, [], OSError("an input/output error")))
    broker.turn()
    assert client.bodies() == []
    broker.auto = True
    broker.advance(2_000)
    assert sorted(client.bodies()) == [b"m0", b"m1", b"m2"]


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_expiry_under_a_consumer_keeps_the_accounts(kind: int) -> None:
    broker, client, places = with_backlog(6)
    client.consumer("t", kind=kind, permits=10)
    client.messages()
    client.nack(places[1])
    client.messages()
    expire(broker.sub(), START_MS + 4000)
    broker.turn()
    assert (broker.sub().acks.floor, broker.sub().expired_count) == (4, 4)
    if kind == SHARED:
        assert broker.sub().consumers[0].unacked == 2
    if kind == KEY_SHARED:
        assert broker.sub().consumers[0].unacked == 6, "what a consumer holds keeps its key until it lets go"
    client.ack(*places)
    assert broker.sub().backlog() == 0
    assert broker.sub().dispatcher.unacked() == 0
