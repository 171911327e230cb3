"""Figures summed up: over the broker always, over each namespace where topics have none of their own.

The sums are made in one walk over the topics, in slices; nothing is walked twice for another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from magnetar.admin.metric_buckets import BUCKETS
from magnetar.admin.rates import Sampler, topic_out
from magnetar.core.backlog import backlog_bytes
from magnetar.core.topic import Topic

__all__ = ["SLICE_TOPICS", "Sums", "durable_backlog"]

SLICE_TOPICS = 50
"""Topics that are added up in one turn of the loop."""

Number = int | float
Of = Callable[[Topic, Sampler], Number]


def durable_backlog(topic: Topic, rates: Sampler) -> int:
    """Entries that durable subscriptions have not acknowledged, over all of them."""
    return sum(sub.backlog() for sub in topic.subscriptions.values() if sub.durable)


_BROKER: dict[str, Of] = {
    "rate_in": lambda t, r: r.rate(t).messages,
    "rate_out": lambda t, r: r.rate(t).third,
    "throughput_in": lambda t, r: r.rate(t).bytes,
    "throughput_out": lambda t, r: r.rate(t).fourth,
    "storage_size": lambda t, r: t.size_bytes,
    "storage_logical_size": lambda t, r: t.size_bytes,
    "storage_write_rate": lambda t, r: r.rate(t).fifth,
    "storage_read_rate": lambda t, r: r.rate(t).sixth,
    "storage_read_cache_misses_rate": lambda t, r: r.rate(t).sixth,
    "msg_backlog": durable_backlog,
}
"""After ``pulsar_broker_``; after ``pulsar_`` with the label of a namespace."""

_NAMESPACE: dict[str, Of] = {
    "subscriptions_count": lambda t, r: len(t.subscriptions),
    "producers_count": lambda t, r: len(t.producers),
    "consumers_count": lambda t, r: sum(len(sub.consumers) for sub in t.subscriptions.values()),
    "in_messages_total": lambda t, r: t.messages_in,
    "in_bytes_total": lambda t, r: t.bytes_in,
    "out_messages_total": lambda t, r: topic_out(t)[0],
    "out_bytes_total": lambda t, r: topic_out(t)[1],
    "storage_backlog_size": lambda t, r: backlog_bytes(t, t.low_water()),
    "consumer_msg_ack_rate": lambda t, r: sum(r.rate(sub).fourth for sub in t.subscriptions.values()),
}


class Sums:
    """What was added up so far."""

    def __init__(self, rates: Sampler, namespaces: bool) -> None:
        self.rates: Sampler = rates
        self.namespaces: bool = namespaces
        self.topics: dict[str, int] = {}
        self.subscriptions: int = 0
        self._of: dict[str, Of] = {**_BROKER, **(_NAMESPACE if namespaces else {})}
        self._rows: dict[str, list[Number]] = {}
        self._buckets: dict[str, list[int]] = {}

    def add(self, topics: list[Topic]) -> Iterator[None]:
        """Add the topics up, with a pause after every slice."""
        for number, topic in enumerate(topics, 1):
            name = topic.name.namespace
            self.topics[name] = self.topics.get(name, 0) + 1
            self.subscriptions += len(topic.subscriptions)
            values = [of(topic, self.rates) for of in self._of.values()]
            row = self._rows.get(name)
            self._rows[name] = values if row is None else [a + b for a, b in zip(row, values, strict=True)]
            if self.namespaces:
                self._add_buckets(name, topic)
            if number % SLICE_TOPICS == 0:
                yield

    def _add_buckets(self, name: str, topic: Topic) -> None:
        window = self.rates.window(topic)
        if window is not None:
            row = self._buckets.get(name) or [0] * len(window)
            self._buckets[name] = [a + b for a, b in zip(row, window, strict=True)]

    def of_broker(self) -> dict[str, Number]:
        """The sums over everything, by name."""
        return {f"pulsar_broker_{name}": sum(row[at] for row in self._rows.values()) for at, name in enumerate(_BROKER)}

    def of_namespaces(self, cluster: str) -> Iterator[tuple[str, list[tuple[str, Number]]]]:
        """The sums over each namespace: names, each with its labels and values."""
        for at, name in enumerate(self._of):
            # Pulsar writes backlogs of namespaces with the cluster that they are of.
            more = ',remote_cluster="local"' if name == "msg_backlog" else ""
            labels = [(f'{cluster},namespace="{of}"{more}', row[at]) for of, row in self._rows.items()]
            yield f"pulsar_{name}", labels
        for name, value in BUCKETS.items():
            yield name, [(f'{cluster},namespace="{of}"', value(row)) for of, row in self._buckets.items()]
