"""Publishing through the core: receipts, their order, and what a producer may not do."""

from __future__ import annotations

from tests.support.corebroker import CoreBroker


def test_smoke() -> None:
    broker = CoreBroker()
    client = broker.client()
    assert client.producer("t") is not None
    client.consumer("t", permits=10)
    client.publish(b"a", b"b")
    assert client.bodies() == [b"a", b"b"]
    assert [sequence for sequence, _ in client.receipts()] == [0, 1]
