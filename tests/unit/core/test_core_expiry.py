"""Expiry over a log that answers slowly."""

from __future__ import annotations

from tests.support.corebroker import CoreBroker


def test_a_slow_log_is_asked_once_however_many_rounds_go_by() -> None:
    broker = CoreBroker(message_ttl_ms=1_000, expiry_check_ms=500, tail_cache_bytes=0, delete_inactive=False)
    client = broker.client()
    client.producer("t")
    client.consumer("t", "s")
    client.publish(*[b"x"] * 20)
    assert broker.topic().tail.base == 20, "the entries are in the log only"
    broker.auto = False
    broker.advance(10_000)
    assert broker.log.reads_pending == 1
    broker.auto = True
    broker.turn()
    broker.advance(1_000)
    assert broker.sub().acks.floor == 20
    assert broker.log.reads_pending == 0
