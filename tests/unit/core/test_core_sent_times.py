"""When an entry was sent is known of every pending one, to a tick, however long it is pending."""

from __future__ import annotations

import pytest

from magnetar.core.consumer import TICK_MS, Consumer, pending_count, pending_hash, pending_word
from magnetar.core.entryinfo import COUNT
from tests.support.corebroker import SHARED, Client, CoreBroker

HOUR_MS = 3_600_000


def served(permits: int = 1_000, **options: object) -> tuple[CoreBroker, Client, Consumer]:
    broker = CoreBroker(**options)
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=SHARED, permits=permits)
    return broker, client, broker.sub().consumers[0]


def later(broker: CoreBroker, ms: int) -> None:
    broker.now_ms += ms
    broker.core.now_ms = broker.now_ms


def test_the_largest_parts_of_a_word_stay_apart_and_fit_a_small_number() -> None:
    word = pending_word((1 << 31) - 1, 2_047, COUNT)
    assert word == (1 << 62) - 1
    assert (pending_hash(word), pending_count(word)) == ((1 << 31) - 1, COUNT)
    assert pending_hash(word - COUNT + 1) == (1 << 31) - 1


def test_sent_times_are_known_to_a_tick() -> None:
    broker, client, consumer = served()
    sent = {}
    for step in (0, 40, 130, 1_000, 99, 100, 101):
        later(broker, step)
        client.publish(b"x")
        sent[len(sent)] = broker.now_ms
    for offset, at in sent.items():
        assert at - TICK_MS < consumer.pending_sent_ms(consumer.pending[offset]) <= at
    assert consumer.oldest_sent_ms() == sent[0]


def test_an_entry_that_is_pending_for_weeks_keeps_its_age_and_the_newest_theirs() -> None:
    broker, client, consumer = served()
    first = broker.now_ms
    client.publish(b"stuck", batch=3)
    places = [client.messages()[0].id]
    for _ in range(24 * 14):
        later(broker, HOUR_MS)
        client.publish(b"x")
        places.append(client.messages()[0].id)
        client.ack(*places[1:-1])
    later(broker, 1)
    client.publish(b"new")
    span = broker.now_ms - first
    assert consumer.tick_ms * 512 <= span, "the unit is no larger than the span needs"
    assert 0 <= first - consumer.oldest_sent_ms() <= consumer.tick_ms
    newest = consumer.pending[max(consumer.pending)]
    assert 0 <= broker.now_ms - consumer.pending_sent_ms(newest) <= consumer.tick_ms
    assert [pending_count(word) for word in consumer.pending.values()] == [3, 1, 1]
    client.ack(*places, client.messages()[0].id)
    later(broker, consumer.tick_ms)
    client.publish(b"fine again")
    assert consumer.tick_ms == TICK_MS
    assert consumer.oldest_sent_ms() == broker.now_ms


def test_a_part_of_a_batch_that_is_acknowledged_leaves_the_time_alone() -> None:
    broker, client, consumer = served()
    later(broker, 777)
    client.publish(b"x" * 3, batch=3)
    at = consumer.oldest_sent_ms()
    later(broker, 5_000)
    client.ack(client.messages()[0].id, ack_set=[0b110])
    assert consumer.oldest_sent_ms() == at
    assert [pending_count(word) for word in consumer.pending.values()] == [2]


@pytest.mark.parametrize(("cache_bytes", "open_now"), [(1 << 20, 2), (0, 3)])
def test_a_mask_with_more_bits_than_messages_charges_no_more_than_the_batch_has(
    cache_bytes: int, open_now: int
) -> None:
    _, client, consumer = served(tail_cache_bytes=cache_bytes)
    client.publish(b"x" * 3, batch=3)
    place = client.messages()[0].id
    client.ack(place, ack_set=[(1 << 63) - 2, (1 << 63) - 1])
    client.redeliver_all()
    assert [pending_count(word) for word in consumer.pending.values()] == [open_now]
    assert consumer.unacked == open_now
