"""Figures of single consumers and producers, which are published on request only: there can be very many of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from magnetar.admin.rates import Sampler
from magnetar.core.consumer import Consumer
from magnetar.core.producer import Producer

__all__ = ["CONSUMER", "PRODUCER", "Levels"]

Number = int | float


@dataclass(slots=True, frozen=True)
class Levels:
    """How far the page goes into detail. Without topics there is a sum for each namespace instead."""

    topics: bool = True
    consumers: bool = False
    producers: bool = False


CONSUMER: dict[str, Callable[[Consumer, Sampler], Number]] = {
    "pulsar_consumer_msg_rate_out": lambda c, r: r.rate(c).messages,
    "pulsar_consumer_msg_throughput_out": lambda c, r: r.rate(c).bytes,
    "pulsar_consumer_msg_rate_redeliver": lambda c, r: r.rate(c).third,
    "pulsar_consumer_msg_ack_rate": lambda c, r: r.rate(c).fourth,
    "pulsar_consumer_unacked_messages": lambda c, r: c.unacked,
    "pulsar_consumer_blocked_on_unacked_messages": lambda c, r: int(c.blocked),
    "pulsar_consumer_available_permits": lambda c, r: c.permits,
}

PRODUCER: dict[str, Callable[[Producer, Sampler], Number]] = {
    "pulsar_producer_msg_rate_in": lambda p, r: r.rate(p).messages,
    "pulsar_producer_msg_throughput_in": lambda p, r: r.rate(p).bytes,
    "pulsar_producer_msg_average_Size": lambda p, r: r.rate(p).size,
}
