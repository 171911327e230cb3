"""Acknowledgement in all its forms, and giving back."""

from __future__ import annotations

import pytest

from magnetar.wire.commands import pb
from tests.support.corebroker import EXCLUSIVE, FAILOVER, KEY_SHARED, SHARED, Client, CoreBroker

EARLIEST = (1 << 64) - 1


def with_messages(count: int = 5, kind: int = SHARED, **options: object) -> tuple[CoreBroker, Client, list[tuple]]:
    """A broker, its client, and the places of messages m0, m1 and so on, all delivered."""
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=1000)
    client.publish(*(b"m%d" % k for k in range(count)))
    return broker, client, [frame.id for frame in client.messages()]


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_individual_acks_in_any_order(kind: int) -> None:
    broker, client, places = with_messages(5, kind)
    for k in (3, 1, 0, 4):
        client.ack(places[k])
    acks = broker.sub().acks
    assert (acks.floor, acks.ranges()) == (2, [(3, 4)])
    assert broker.sub().backlog() == 1
    client.ack(places[2])
    assert (acks.floor, acks.ranges()) == (5, [])


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_acks_settle_what_is_pending_and_nothing_twice(kind: int) -> None:
    broker, client, places = with_messages(3, kind)
    consumer = broker.sub().consumers[0]
    assert consumer.unacked == 3
    client.ack(places[0], places[0], places[1])
    client.ack(places[0])
    assert consumer.unacked == 1
    assert broker.sub().dispatcher.unacked() == 1
    assert len(consumer.pending) == 1


def test_an_entry_may_be_acked_by_another_consumer_than_its_holder() -> None:
    broker, _client, places = with_messages(2)
    other = broker.client()
    other.consumer("t")
    other.ack(*places)
    assert broker.sub().consumers[0].unacked == 0
    assert broker.sub().backlog() == 0


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER])
def test_cumulative(kind: int) -> None:
    broker, client, places = with_messages(5, kind)
    assert client.ack(places[2], ack_type=1, receipt=True) is not None
    assert broker.sub().acks.floor == 3
    client.ack(places[1], ack_type=1)
    assert broker.sub().acks.floor == 3


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_cumulative_is_ignored_where_consumers_share_but_answered(kind: int) -> None:
    broker, client, places = with_messages(5, kind)
    assert client.ack(places[2], ack_type=1, receipt=True) is not None
    assert broker.sub().acks.floor == 0


def test_cumulative_with_several_ids_is_ignored() -> None:
    broker, client, places = with_messages(5, EXCLUSIVE)
    client.ack(places[1], places[3], ack_type=1)
    assert broker.sub().backlog() == 5


@pytest.mark.parametrize(
    ("place", "floor"),
    [
        ((EARLIEST, EARLIEST), 0),
        ((0, 0), 0),
        ((0, EARLIEST), 0),
        ((1 << 40, 0), 0),
        (((1 << 63) - 1, (1 << 63) - 1), 0),
    ],
)
def test_cumulative_up_to_an_id_that_never_was_acks_nothing_after_it(place: tuple[int, int], floor: int) -> None:
    broker, client, _ = with_messages(3, EXCLUSIVE)
    client.ack(place, ack_type=1)
    assert broker.sub().acks.floor == floor


def test_cumulative_in_a_gap_between_ledgers_acks_what_came_before_it() -> None:
    broker = CoreBroker(ledger_entries_max=2, ledger_min_ms=0)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=EXCLUSIVE, permits=100)
    for k in range(6):
        client.publish(b"m%d" % k)
    first = client.messages()[0].id
    client.ack((first[0], 77), ack_type=1)
    assert broker.sub().acks.floor == 2
    client.ack((first[0], EARLIEST), ack_type=1)
    assert broker.sub().acks.floor == 2


# Parts of batches.


def batch_broker(kind: int, **options: object) -> tuple[CoreBroker, Client, tuple[int, int]]:
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=100)
    client.publish(b"batch", batch=4)
    (message,) = client.messages()
    return broker, client, message.id


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_parts_of_a_batch_add_up(kind: int) -> None:
    broker, client, place = batch_broker(kind)
    client.ack(place, ack_set=[0b1110])
    assert broker.sub().acks.part(0) == 0b1110
    client.ack(place, ack_set=[0b0111])
    assert broker.sub().acks.part(0) == 0b0110
    client.ack(place, ack_set=[0b1001])
    assert broker.sub().backlog() == 0
    assert broker.sub().acks.parts == {}


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_parts_count_as_unacked_and_come_again_with_their_mask(kind: int) -> None:
    broker, client, place = batch_broker(kind)
    consumer = broker.sub().consumers[0]
    assert (consumer.permits, consumer.unacked) == (96, 4)
    client.ack(place, ack_set=[0b1010])
    assert consumer.unacked == 2
    client.nack(place)
    (again,) = client.messages()
    assert list(again.message.ack_set) == [0b1010]
    assert again.message.redelivery_count == 1
    assert (consumer.permits, consumer.unacked) == (94, 2)
    client.ack(place)
    assert consumer.unacked == 0


def test_a_mask_of_many_words() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=1000)
    client.publish(b"batch", batch=150)
    place = client.messages()[0].id
    client.ack(place, ack_set=[-1, 0, 0b11])
    client.nack(place)
    (again,) = client.messages()
    assert [word & EARLIEST for word in again.message.ack_set] == [EARLIEST, 0, 0b11]
    assert broker.sub().consumers[0].unacked == 66


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER])
def test_cumulative_into_a_batch_keeps_its_rest(kind: int) -> None:
    broker, client, place = batch_broker(kind)
    client.ack(place, ack_set=[0b1100], ack_type=1)
    assert broker.sub().acks.part(0) == 0b1100
    client.redeliver_all()
    assert list(client.messages()[0].message.ack_set) == [0b1100]


def test_a_cumulative_ack_that_completes_a_batch_is_durable() -> None:
    broker, client, place = batch_broker(EXCLUSIVE)
    client.ack(place, ack_set=[0b0011])
    assert client.ack(place, ack_set=[0b1100], ack_type=1, receipt=True) is not None
    assert broker.sub().backlog() == 0
    broker.restart()
    assert broker.sub().backlog() == 0


def test_without_batch_index_acks_only_whole_entries_count() -> None:
    broker, client, place = batch_broker(SHARED, batch_index_ack=False)
    client.ack(place, ack_set=[0b1110])
    assert broker.sub().acks.parts == {}
    client.ack(place, ack_set=[0])
    assert broker.sub().backlog() == 0


# Giving back.


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_nack_counts_and_comes_again_first(kind: int) -> None:
    broker, client, places = with_messages(4, kind)
    client.nack(places[2], places[0])
    again = client.messages()
    assert sorted((frame.body, frame.message.redelivery_count) for frame in again) == [(b"m0", 1), (b"m2", 1)]
    client.nack(places[0])
    assert [frame.message.redelivery_count for frame in client.messages()] == [2]
    assert broker.sub().consumers[0].unacked == 4


def test_nack_of_what_one_does_not_hold_changes_nothing() -> None:
    broker, client, places = with_messages(2)
    other = broker.client()
    other.consumer("t", permits=10)
    other.nack(*places)
    client.ack(places[0])
    client.nack(places[0], (999, 1))
    assert client.names() == ["SEND_RECEIPT"] * 2
    assert other.names() == []
    assert broker.sub().dispatcher.unacked() == 1


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_a_disconnect_gives_back_without_counting(kind: int) -> None:
    broker, client, _ = with_messages(3, kind)
    other = broker.client()
    other.consumer("t", kind=kind)
    client.cut()
    other.flow(10)
    messages = other.messages()
    assert [frame.body for frame in messages] == [b"m0", b"m1", b"m2"]
    assert [frame.message.redelivery_count for frame in messages] == [0, 0, 0]
    assert broker.sub().dispatcher.unacked() == 3


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED])
def test_redeliver_all(kind: int) -> None:
    _broker, client, places = with_messages(4, kind)
    client.ack(places[1])
    client.redeliver_all()
    assert client.bodies() == [b"m0", b"m2", b"m3"]


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER])
def test_redeliver_all_raises_the_epoch_of_what_follows(kind: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=100, consumer_epoch=0)
    client.publish(b"a", b"b")
    assert [frame.message.consumer_epoch for frame in client.messages()] == [0, 0]
    client.redeliver_all(epoch=1)
    client.publish(b"c")
    assert [(frame.body, frame.message.consumer_epoch) for frame in client.messages()] == [
        (b"a", 1),
        (b"b", 1),
        (b"c", 1),
    ]


def test_without_an_epoch_none_is_sent() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=EXCLUSIVE, permits=100)
    client.publish(b"a")
    assert not client.messages()[0].message.HasField("consumer_epoch")


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER])
def test_nack_where_one_consumer_is_served_keeps_the_order(kind: int) -> None:
    _broker, client, places = with_messages(4, kind)
    client.ack(places[0])
    client.nack(places[2])
    again = client.messages()
    assert [frame.body for frame in again] == [b"m1", b"m2", b"m3"]
    assert [frame.message.redelivery_count for frame in again] == [0, 1, 0]


# Limits on what is unacknowledged.


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_a_consumer_that_holds_too_much_is_passed_over_until_half_is_acked(kind: int) -> None:
    broker, client, places = with_messages(20, kind, max_unacked_per_consumer=10)
    assert len(places) == 10
    stats = client.ask(pb.CommandConsumerStats(consumer_id=1))
    assert stats is not None
    assert (stats.message.blockedConsumerOnUnackedMsgs, stats.message.unackedMessages) == (True, 10)
    client.ack(*places[:4])
    assert client.bodies() == []
    client.ack(places[4])
    assert len(client.bodies()) == 5
    assert broker.sub().consumers[0].unacked == 10


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_permits_that_come_while_blocked_are_not_lost(kind: int) -> None:
    broker = CoreBroker(max_unacked_per_consumer=4)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=4)
    client.publish(*(b"m%d" % k for k in range(10)))
    places = [frame.id for frame in client.messages()]
    client.flow(6)
    assert client.bodies() == []
    client.ack(*places)
    assert len(client.bodies()) == 4
    assert broker.sub().consumers[0].permits == 2


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_the_subscription_has_a_limit_of_its_own(kind: int) -> None:
    broker = CoreBroker(max_unacked_per_subscription=6)
    clients = [broker.client() for _ in range(3)]
    for client in clients:
        client.consumer("t", kind=kind, permits=100)
    clients[0].producer("t")
    clients[0].publish(*(b"m%d" % k for k in range(20)))
    held = [[frame.id for frame in client.messages()] for client in clients]
    assert sum(map(len, held)) == 6
    acked = 0
    for client, places in zip(clients, held, strict=True):
        for place in places:
            if acked < 2:
                client.ack(place)
                acked += 1
    assert [client.bodies() for client in clients] == [[], [], []]
    rest = [place for places in held for place in places][2]
    clients[0].ack(rest)
    assert sum(len(client.bodies()) for client in clients) == 3


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
def test_a_blocked_consumer_that_leaves_frees_the_subscription(kind: int) -> None:
    broker, client, _ = with_messages(20, kind, max_unacked_per_subscription=10)
    other = broker.client()
    other.consumer("t", kind=kind, permits=100)
    client.cut()
    assert len(other.bodies()) == 10


def test_readers_have_no_limit() -> None:
    broker = CoreBroker(max_unacked_per_consumer=2, max_unacked_per_subscription=2)
    client = broker.client()
    client.producer("t")
    client.publish(b"a", b"b", b"c", b"d")
    client.consumer("t", durable=False, permits=10)
    assert len(client.bodies()) == 4
