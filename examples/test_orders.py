"""A test that uses a broker. Run it with: pytest examples/test_orders.py"""

import pulsar


def test_an_order_reaches_billing(magnetar_url: str) -> None:
    client = pulsar.Client(magnetar_url)
    billing = client.subscribe("orders", "billing")
    client.create_producer("orders").send(b"two apples", partition_key="alice")
    order = billing.receive(timeout_millis=5000)
    assert (order.partition_key(), order.data()) == ("alice", b"two apples")
    billing.acknowledge(order)
    client.close()
