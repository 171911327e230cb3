"""What other clients see and the wheel does not offer: priority levels, active consumers, receipts, permits, epochs."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.broker import Broker, eventually
from tests.support.wireclient import WireClient, WireError
from tests.support.wirecodec import EARLIEST, LATEST, Command, Id, SubType, batch_body, unbatch

TOPIC_NOT_FOUND = 11
NOT_ALLOWED = 22
CHECKSUM = 9


@pytest.fixture
def other(broker: Broker) -> Iterator[WireClient]:
    """A second connection."""
    with broker.wire() as opened:
        yield opened


def publish_numbers(wire: WireClient, topic: str, count: int, key: str | None = None) -> list[Id]:
    """Publish the numbers from 0 on, one by one."""
    wire.producer(topic)
    return [wire.publish(b"%d" % number, number, key=key) for number in range(count)]


def active_change(wire: WireClient, consumer_id: int) -> bool:
    """Wait for the next notice to a consumer whether it is the active one."""
    notice = wire.wait_for(
        lambda frame: frame.command is Command.ACTIVE_CONSUMER_CHANGE and frame.fields.num(1) == consumer_id
    )
    return bool(notice.fields.num(2))


def test_failover_tells_who_is_active(wire: WireClient, topic: str) -> None:
    wire.partitions(topic)
    wire.subscribe(topic, "s", 1, SubType.FAILOVER, name="a", priority=1)
    assert active_change(wire, 1)
    wire.subscribe(topic, "s", 2, SubType.FAILOVER, name="b", priority=0)
    assert active_change(wire, 2)
    assert not active_change(wire, 1)
    wire.close_consumer(2)
    assert active_change(wire, 1)


def test_failover_prefers_the_better_priority_and_hands_over(wire: WireClient, topic: str) -> None:
    publish_numbers(wire, topic, 5)
    wire.subscribe(topic, "s", 1, SubType.FAILOVER, name="a", priority=2)
    wire.flow(1, 100)
    first = wire.messages(5, 1)
    wire.ack(1, [each.id for each in first[:2]], request=True)
    wire.subscribe(topic, "s", 2, SubType.FAILOVER, name="z", priority=1)
    wire.flow(2, 100)
    assert [each.body for each in wire.messages(3, 2)] == [b"2", b"3", b"4"]


def test_failover_on_a_partition_follows_the_order_of_names(broker: Broker, wire: WireClient, topic: str) -> None:
    broker.topic_rest("PUT", topic, "partitions", 2)
    for partition, active in ((0, 1), (1, 2)):
        name = f"{topic}-partition-{partition}"
        base = partition * 10
        wire.subscribe(name, "s", base + 2, SubType.FAILOVER, name="b")
        wire.subscribe(name, "s", base + 1, SubType.FAILOVER, name="a")
        wire.flow(base + 1, 10)
        wire.flow(base + 2, 10)
        wire.producer(name, base + 1)
        wire.send(b"x", 0, base + 1)
        assert wire.message().consumer_id == base + active


def test_shared_serves_the_better_priority_first(wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED, priority=1)
    wire.subscribe(topic, "s", 2, SubType.SHARED, priority=0)
    wire.flow(1, 100)
    wire.flow(2, 5)
    publish_numbers(wire, topic, 12)
    got = wire.messages(12)
    assert [each.body for each in got if each.consumer_id == 2] == [b"0", b"1", b"2", b"3", b"4"]
    assert [each.body for each in got if each.consumer_id == 1] == [b"%d" % number for number in range(5, 12)]


@pytest.mark.parametrize("kind", list(SubType), ids=lambda each: each.name)
def test_nothing_is_delivered_without_permits(wire: WireClient, topic: str, kind: SubType) -> None:
    wire.subscribe(topic, "s", 1, kind)
    publish_numbers(wire, topic, 10, key="k")
    assert list(wire.delivered()) == []
    wire.flow(1, 3)
    assert [each.body for each in wire.messages(3)] == [b"0", b"1", b"2"]
    assert list(wire.delivered()) == []
    wire.flow(1, 1)
    assert wire.message().body == b"3"


def test_a_batch_keeps_its_number_of_messages(wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s")
    wire.producer(topic)
    wire.publish(batch_body([b"a", b"b"], ["k1", "k2"]), 0, batch=2)
    wire.flow(1, 10)
    delivery = wire.message()
    assert (delivery.batch_size, unbatch(delivery), delivery.ack_set) == (2, [b"a", b"b"], ())


@pytest.mark.parametrize("kind", list(SubType), ids=lambda each: each.name)
def test_an_answered_acknowledgement_holds(wire: WireClient, other: WireClient, topic: str, kind: SubType) -> None:
    publish_numbers(wire, topic, 6, key="k")
    wire.subscribe(topic, "s", 1, kind)
    wire.flow(1, 10)
    got = wire.messages(6)
    wire.ack(1, [each.id for each in got[:3]], request=True)
    wire.ack(1, [got[4].id], request=True)
    wire.close_consumer(1)
    other.subscribe(topic, "s", 1, kind)
    other.flow(1, 10)
    assert [each.body for each in other.messages(2)] == [b"3", b"5"]


def test_a_cumulative_acknowledgement_of_a_shared_subscription_is_answered_and_ignored(
    wire: WireClient, topic: str
) -> None:
    publish_numbers(wire, topic, 3)
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.flow(1, 10)
    wire.ack(1, [wire.messages(3)[2].id], cumulative=True, request=True)
    wire.redeliver(1)
    assert [each.body for each in wire.messages(3)] == [b"0", b"1", b"2"]


def test_an_acknowledgement_of_an_unknown_message_is_answered(wire: WireClient, topic: str) -> None:
    sent = publish_numbers(wire, topic, 1)[0]
    wire.subscribe(topic, "s")
    wire.flow(1, 10)
    wire.ack(1, [Id(sent.ledger, sent.entry + 1000), Id(sent.ledger + 5, 0)], request=True)
    assert wire.message().body == b"0"


@pytest.mark.parametrize("kind", [SubType.SHARED, SubType.KEY_SHARED], ids=lambda each: each.name)
def test_only_named_messages_are_redelivered_and_counted(wire: WireClient, topic: str, kind: SubType) -> None:
    publish_numbers(wire, topic, 5, key="k")
    wire.subscribe(topic, "s", 1, kind)
    wire.flow(1, 100)
    got = wire.messages(5)
    for expected in (1, 2):
        wire.redeliver(1, [got[1].id, got[3].id])
        assert [(each.body, each.redelivery_count) for each in wire.messages(2)] == [(b"1", expected), (b"3", expected)]
    assert list(wire.delivered()) == []


@pytest.mark.parametrize("kind", [SubType.SHARED, SubType.KEY_SHARED], ids=lambda each: each.name)
def test_a_lost_consumer_does_not_count_as_redelivery(
    broker: Broker, wire: WireClient, topic: str, kind: SubType
) -> None:
    publish_numbers(wire, topic, 2, key="k")
    with broker.wire() as lost:
        lost.subscribe(topic, "s", 1, kind, name="lost")
        lost.flow(1, 10)
        lost.messages(2)
        wire.subscribe(topic, "s", 1, kind, name="found")
        wire.flow(1, 10)
    assert [(each.body, each.redelivery_count) for each in wire.messages(2)] == [(b"0", 0), (b"1", 0)]


@pytest.mark.parametrize("kind", [SubType.EXCLUSIVE, SubType.FAILOVER], ids=lambda each: each.name)
def test_redeliver_all_raises_the_epoch(wire: WireClient, topic: str, kind: SubType) -> None:
    publish_numbers(wire, topic, 3)
    wire.subscribe(topic, "s", 1, kind, epoch=0)
    wire.flow(1, 100)
    assert {each.epoch for each in wire.messages(3)} == {0}
    wire.redeliver(1, epoch=1)
    assert [(each.body, each.epoch) for each in wire.messages(3)] == [(b"0", 1), (b"1", 1), (b"2", 1)]


def test_a_message_has_no_epoch_unless_the_client_has(wire: WireClient, topic: str) -> None:
    publish_numbers(wire, topic, 1)
    wire.subscribe(topic, "s")
    wire.flow(1, 1)
    assert wire.message().epoch is None


def test_seek_closes_the_consumer_and_moves_the_subscription(wire: WireClient, topic: str) -> None:
    ids = publish_numbers(wire, topic, 6)
    wire.subscribe(topic, "s")
    wire.flow(1, 10)
    wire.messages(6)
    wire.seek(1, ids[2])
    assert wire.expect(Command.CLOSE_CONSUMER).fields.num(1) == 1
    wire.subscribe(topic, "s")
    wire.flow(1, 10)
    assert [each.body for each in wire.messages(4)] == [b"2", b"3", b"4", b"5"]


def test_the_end_of_a_topic_is_told_once_it_is_reached(broker: Broker, wire: WireClient, topic: str) -> None:
    publish_numbers(wire, topic, 2)
    wire.subscribe(topic, "s")
    broker.topic_rest("POST", topic, "terminate")
    wire.flow(1, 10)
    wire.ack(1, [each.id for each in wire.messages(2)], request=True)
    assert wire.expect(Command.REACHED_END_OF_TOPIC).fields.num(1) == 1
    wire.subscribe(topic, "late", 2)
    wire.flow(2, 10)
    wire.ack(2, [each.id for each in wire.messages(2, 2)], request=True)
    assert wire.expect(Command.REACHED_END_OF_TOPIC).fields.num(1) == 2


def test_the_last_message_id_and_the_mark_delete_position(wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s")
    empty = wire.last_message_id(1)
    assert (empty.sub(1).num(1), empty.sub(1).num(2)) == (-1, -1)
    ids = publish_numbers(wire, topic, 3)
    wire.flow(1, 10)
    wire.ack(1, [each.id for each in wire.messages(3)[:2]], request=True)
    answer = wire.last_message_id(1)
    last, marked = Id.read(answer.sub(1)), Id.read(answer.sub(3))
    assert (last.ledger, last.entry, last.batch_index) == (ids[2].ledger, ids[2].entry, -1)
    assert (marked.ledger, marked.entry) == (ids[1].ledger, ids[1].entry)
    wire.publish(batch_body([b"a", b"b", b"c"]), 10, batch=3)
    assert Id.read(wire.last_message_id(1).sub(1)).batch_index == 2


def test_consumer_statistics(wire: WireClient, topic: str) -> None:
    publish_numbers(wire, topic, 5)
    wire.subscribe(topic, "s", 1, SubType.SHARED, name="eater")
    wire.flow(1, 20)
    wire.ack(1, [wire.messages(5)[0].id], request=True)

    def shown() -> bool:
        stats = wire.consumer_stats(1)
        return (stats.text(7), stats.num(8), stats.num(9), stats.num(10), stats.text(13), stats.num(15)) == (
            "eater",
            15,
            4,
            0,
            "Shared",
            4,
        )

    eventually(shown)


def test_a_producer_may_bring_a_subscription_into_being(wire: WireClient, topic: str) -> None:
    wire.producer(topic, initial_subscription="first")
    wire.publish(b"kept")
    wire.subscribe(topic, "first", earliest=False)
    wire.flow(1, 10)
    assert wire.message().body == b"kept"


def test_a_waiting_producer_is_told_to_wait_and_then_to_start(wire: WireClient, other: WireClient, topic: str) -> None:
    exclusive, wait_for_exclusive = 1, 2
    assert wire.producer(topic, access_mode=exclusive).num(6, 1) == 1
    request = other.start_producer(topic, access_mode=wait_for_exclusive)
    assert other.reply(request).fields.num(6, 1) == 0
    wire.close_producer()
    ready = other.reply(request).fields
    assert (ready.num(6, 1), 5 in ready) == (1, True)
    other.publish(b"x")


def test_a_producer_of_an_old_epoch_is_fenced(wire: WireClient, other: WireClient, topic: str) -> None:
    exclusive, with_fencing = 1, 3
    old_epoch = wire.producer(topic, access_mode=exclusive).num(5)
    new_epoch = other.producer(topic, access_mode=with_fencing).num(5)
    assert new_epoch > old_epoch
    other.close_producer()
    with pytest.raises(WireError) as fenced:
        wire.producer(topic, 2, access_mode=exclusive, topic_epoch=old_epoch)
    assert fenced.value.code == 25


def test_a_higher_epoch_on_the_same_connection_replaces_a_producer(wire: WireClient, topic: str) -> None:
    wire.producer(topic, 1, "p")
    wire.producer(topic, 1, "p", epoch=1)
    wire.publish(b"x")


def test_a_wrong_checksum_is_refused_and_nothing_is_stored(wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    wire.send(b"bad", 0, checksum=12345)
    with pytest.raises(WireError) as refused:
        wire.receipt()
    assert refused.value.code == CHECKSUM
    wire.publish(b"good", 1)
    wire.subscribe(topic, "s")
    wire.flow(1, 10)
    assert wire.message().body == b"good"


def test_receipts_come_in_the_order_of_sending(wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    for number in range(200):
        wire.send(b"%d" % number, number)
    receipts = [wire.receipt() for _ in range(200)]
    assert [sequence for sequence, _ in receipts] == list(range(200))
    places = [place for _, place in receipts]
    assert places == sorted(places)


def test_a_message_for_an_unknown_producer_ends_the_connection(wire: WireClient) -> None:
    wire.send(b"x", 0, 99)
    assert wire.is_closed_by_peer()


def test_a_subscription_to_a_missing_topic_can_be_refused(wire: WireClient, topic: str) -> None:
    with pytest.raises(WireError) as refused:
        wire.subscribe(topic, "s", create_topic=False)
    assert refused.value.code == TOPIC_NOT_FOUND


def test_partition_metadata_may_be_asked_without_making_the_topic(wire: WireClient, topic: str) -> None:
    with pytest.raises(WireError) as refused:
        wire.partitions(topic, create=False)
    assert refused.value.code == TOPIC_NOT_FOUND
    assert wire.partitions(topic) == 0
    wire.producer(topic)
    assert wire.partitions(topic, create=False) == 0


def test_durable_and_passing_consumers_do_not_mix(wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    with pytest.raises(WireError) as refused:
        wire.subscribe(topic, "s", 2, SubType.SHARED, durable=False, start=EARLIEST)
    assert refused.value.code == NOT_ALLOWED


def test_a_passing_subscription_begins_where_it_is_told(wire: WireClient, topic: str) -> None:
    ids = publish_numbers(wire, topic, 5)
    wire.subscribe(topic, "r1", 1, durable=False, start=EARLIEST)
    wire.subscribe(topic, "r2", 2, durable=False, start=ids[3])
    wire.subscribe(topic, "r3", 3, durable=False, start=LATEST, earliest=False)
    for consumer_id in (1, 2, 3):
        wire.flow(consumer_id, 10)
    assert [each.body for each in wire.messages(5, 1)] == [b"0", b"1", b"2", b"3", b"4"]
    assert [each.body for each in wire.messages(2, 2)] == [b"3", b"4"]
    wire.publish(b"new", 9)
    assert wire.message(3).body == b"new"


def test_a_consumer_id_that_is_there_already_is_answered_again(wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s")
    wire.subscribe(topic, "s")


def test_closing_an_unknown_consumer_succeeds(wire: WireClient) -> None:
    wire.close_consumer(77)


def test_the_connection_is_told_limits_and_answers_pings(broker: Broker) -> None:
    address = urlsplit(broker.service_url)
    with WireClient(address.hostname or "", address.port or 0) as fresh:
        connected = fresh.connect(15).fields
        assert connected.num(2) == 15
        assert connected.num(3) == 5 * 1024 * 1024
        fresh.ping()


def test_topics_of_a_namespace_are_listed(wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    assert topic in wire.topics("public/default")
    assert topic not in wire.topics("public/default", mode=1)


def test_chunks_of_one_message_stay_with_one_consumer(wire: WireClient, topic: str) -> None:
    for consumer_id in (1, 2):
        wire.subscribe(topic, "s", consumer_id, SubType.SHARED)
    wire.producer(topic)
    for chunk in range(6):
        for uuid in ("u1", "u2", "u3"):
            described = {26: uuid, 27: 6, 28: 60, 29: chunk}
            wire.publish(f"{uuid}-{chunk}".encode(), chunk, metadata=described)
    wire.flow(1, 100)
    wire.flow(2, 100)
    holders: dict[str, set[int]] = {}
    for delivery in wire.messages(18):
        holders.setdefault(delivery.metadata.text(26), set()).add(delivery.consumer_id)
    assert all(len(each) == 1 for each in holders.values())
