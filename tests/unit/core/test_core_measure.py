"""What entries and writes are like is counted for whoever asks, and for nobody else."""

from __future__ import annotations

from magnetar.core.measure import LATENCY_BOUNDS_US, SIZE_BOUNDS_BYTES
from magnetar.core.topic import Topic
from tests.support.corebroker import CoreBroker, full


def topic_of(broker: CoreBroker) -> Topic:
    return broker.core.topics[full("t")]


def test_nothing_is_counted_before_somebody_asks() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.publish(b"x")
    assert topic_of(broker).entries_in == 1
    assert topic_of(broker).measure is None


def test_entries_are_counted_by_size() -> None:
    broker = CoreBroker()
    broker.core.meter.on = True
    client = broker.client()
    client.producer("t")
    for size in (1, 300, 300, 3_000, 2 << 20):
        client.publish(b"x" * size)
    found = topic_of(broker).measure
    assert found is not None
    assert found.sizes == [1, 2, 0, 0, 1, 0, 0, 0, 1]
    assert len(found.sizes) == len(SIZE_BOUNDS_BYTES) + 1
    assert found.sizes_sum == topic_of(broker).bytes_in


def test_waiting_and_writing_are_two_times() -> None:
    broker = CoreBroker(auto=False)
    core = broker.core
    core.meter.on = True
    client = broker.client()
    client.producer("t")
    client.publish(b"first")
    core.meter.now_us += 700
    client.publish(b"second")
    core.meter.now_us += 4_000
    broker.commit()
    core.meter.now_us += 100
    broker.commit()
    found = topic_of(broker).measure
    assert found is not None
    assert sum(found.waits) == sum(found.writes) == 2
    assert (found.waits_sum_us, found.writes_sum_us) == (4_700 + 4_100, 4_700 + 100)
    assert LATENCY_BOUNDS_US[2] == 5_000
    assert found.waits[2] == 2
    assert (found.writes[0], found.writes[2]) == (1, 1)


def test_reads_from_the_log_are_counted_as_entries() -> None:
    broker = CoreBroker(tail_cache_bytes=0)
    client = broker.client()
    client.subscribe("t", "s")
    client.producer("t")
    for _ in range(10):
        client.publish(b"x")
    assert topic_of(broker).entries_read == 0
    client.flow(10)
    assert len(client.messages()) == 10
    assert topic_of(broker).entries_read == 10
