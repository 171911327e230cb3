"""Metrics as Prometheus text, with Pulsar's names and labels; what Pulsar has no name for begins with ``magnetar_``.

Samples of one name must stand together, and there may be a hundred names for ten thousand topics. So the page is not
collected but generated: family by family over a fixed list of topics whose labels were written once, a few hundred
lines at a time. Memory stays small, and the loop may run between two parts. Deleted topics keep their last figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from magnetar import __version__
from magnetar.admin.metric_buckets import BUCKETS
from magnetar.admin.metric_clients import CONSUMER, PRODUCER, Levels
from magnetar.admin.metric_compaction import compaction_families
from magnetar.admin.metric_limits import LIMITS, limit_families
from magnetar.admin.metric_sums import Sums, durable_backlog
from magnetar.admin.metric_switches import SWITCHES
from magnetar.admin.rates import Sampler, bytes_out
from magnetar.admin.stats.common import backlog_age_ms
from magnetar.admin.stats.subscription import blocked, delayed_index_bytes
from magnetar.core.backlog import backlog_bytes
from magnetar.core.broker import Broker
from magnetar.core.consumer import Consumer
from magnetar.core.dispatch.draining import Drains
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.producer import Producer
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.ports.log import LogStats

__all__ = ["SLICE_LINES", "render"]

SLICE_LINES = 250
"""Lines that are made in one turn of the loop."""

T = TypeVar("T")
Number = int | float
Samples = Iterable[tuple[str, Number]]


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass(slots=True)
class _Frame:
    """What the page is made of: everything with its labels, and the rates."""

    rates: Sampler
    cluster: str
    levels: Levels
    topics: list[tuple[str, Topic]] = field(default_factory=list)
    subs: list[tuple[str, Subscription]] = field(default_factory=list)
    consumers: list[tuple[str, Consumer]] = field(default_factory=list)
    producers: list[tuple[str, Producer]] = field(default_factory=list)
    windows: list[tuple[str, list[int]]] = field(default_factory=list)


def _fill(frame: _Frame, topics: list[Topic]) -> Iterator[None]:
    """Write down all labels, with a pause after every slice."""
    made = 0
    for topic in topics:
        name = topic.name
        labels = f'{frame.cluster},namespace="{name.namespace}",topic="{_escape(str(name))}"'
        frame.topics.append((labels, topic))
        window = frame.rates.window(topic)
        if window is not None:
            frame.windows.append((labels, window))
        if frame.levels.producers:
            for producer in topic.producers.values():
                of = f'{labels},producer_name="{_escape(producer.name)}",producer_id="{producer.id}"'
                frame.producers.append((of, producer))
        made += 1
        # A copy, because the loop may run in between.
        for sub in list(topic.subscriptions.values()):
            sub_labels = f'{labels},subscription="{_escape(sub.name)}"'
            frame.subs.append((sub_labels, sub))
            if frame.levels.consumers:
                for consumer in sub.consumers:
                    of = f'{sub_labels},consumer_name="{_escape(consumer.name)}",consumer_id="{consumer.id}"'
                    frame.consumers.append((of, consumer))
            made += 1 + len(sub.consumers)
            if made >= SLICE_LINES:
                made = 0
                yield
        if made >= SLICE_LINES:
            made = 0
            yield


def render(core: Broker, rates: Sampler, log: LogStats, levels: Levels | None = None) -> Iterator[bytes]:
    """The page in parts, each of which is made without a pause."""
    frame = _Frame(rates, f'cluster="{_escape(core.options.cluster)}"', levels or Levels())
    topics = list(core.topics.values())
    sums = Sums(rates, not frame.levels.topics)
    for _ in sums.add(topics):
        yield b""
    if frame.levels.topics:
        for _ in _fill(frame, topics):
            yield b""
    for name, samples in _families(core, frame, sums, log):
        lines = [f"# TYPE {name} gauge"]
        for labels, value in samples:
            lines.append(f"{name}{{{labels}}} {value}")
            if len(lines) >= SLICE_LINES:
                yield ("\n".join(lines) + "\n").encode()
                lines = []
        if lines:
            yield ("\n".join(lines) + "\n").encode()


def _families(core: Broker, frame: _Frame, sums: Sums, log: LogStats) -> Iterator[tuple[str, Samples]]:
    yield from _of_broker(core, frame, sums, log)
    if not frame.levels.topics:
        yield from sums.of_namespaces(frame.cluster)
        return
    for name, of_topic in (_TOPIC | LIMITS).items():
        yield name, _each(frame.topics, of_topic, frame.rates)
    yield from limit_families(frame.topics, frame.subs)
    yield from compaction_families(frame.topics)
    for name, of_sub in (_SUBSCRIPTION | SWITCHES).items():
        yield name, _each(frame.subs, of_sub, frame.rates)
    for name, of_window in BUCKETS.items():
        yield name, ((labels, of_window(window)) for labels, window in frame.windows)
    if frame.levels.consumers:
        for name, of_consumer in CONSUMER.items():
            yield name, _each(frame.consumers, of_consumer, frame.rates)
    if frame.levels.producers:
        for name, of_producer in PRODUCER.items():
            yield name, _each(frame.producers, of_producer, frame.rates)


def _each(rows: list[tuple[str, T]], value: Callable[[T, Sampler], Number], rates: Sampler) -> Samples:
    return ((labels, value(one, rates)) for labels, one in rows)


def _of_broker(core: Broker, frame: _Frame, sums: Sums, log: LogStats) -> Iterator[tuple[str, Samples]]:
    cluster = frame.cluster
    yield "pulsar_version_info", [(f'{cluster},version="{__version__}"', 1)]
    yield "pulsar_topics_count", [(f'{cluster},namespace="{n}"', count) for n, count in sums.topics.items()]
    figures: dict[str, Number] = {
        "pulsar_active_connections": len(core.sessions),
        "pulsar_connection_created_total_count": core.session_count,
        "pulsar_connection_closed_total_count": core.session_count - len(core.sessions),
        "pulsar_broker_topics_count": sum(sums.topics.values()),
        "pulsar_broker_subscriptions_count": sums.subscriptions,
        "pulsar_broker_producers_count": sum(len(session.producers) for session in core.sessions.values()),
        "pulsar_broker_consumers_count": sum(len(session.consumers) for session in core.sessions.values()),
        **sums.of_broker(),
        "magnetar_log_commits": log.commits,
        "magnetar_log_synced_bytes": log.synced_bytes,
        "magnetar_log_segments": log.segments,
        "magnetar_log_disk_bytes": log.disk_bytes,
        "magnetar_log_live_bytes": log.live_bytes,
        "magnetar_log_failures": log.failures,
        "magnetar_tail_cache_bytes": core.budget.used_bytes,
    }
    for name, value in figures.items():
        yield name, [(cluster, value)]


def _unacked(sub: Subscription, rates: Sampler) -> int:
    return sub.dispatcher.unacked() if sub.dispatcher is not None else 0


def _in_replay(sub: Subscription, rates: Sampler) -> int:
    return sub.dispatcher.waiting() if sub.dispatcher is not None else 0


def _delayed(sub: Subscription, rates: Sampler) -> int:
    return sub.dispatcher.delayed_count() if sub.dispatcher is not None else 0


def _draining(sub: Subscription, rates: Sampler) -> int:
    return sub.dispatcher.draining() if sub.dispatcher is not None else 0


def _of_drains(value: Callable[[Drains], int]) -> Callable[[Subscription, Sampler], int]:
    def of(sub: Subscription, rates: Sampler) -> int:
        return value(sub.dispatcher.drains) if isinstance(sub.dispatcher, KeyShared) else 0

    return of


def _leased_out(sub: Subscription, rates: Sampler) -> int:
    return sub.dispatcher.lease.ended if isinstance(sub.dispatcher, KeyShared) else 0


def _drain_age(sub: Subscription, rates: Sampler) -> float:
    return _age_s(sub, sub.dispatcher.drains.oldest_ms() if isinstance(sub.dispatcher, KeyShared) else 0)


def _pending_age(sub: Subscription, rates: Sampler) -> float:
    """The first entry of each consumer's pending is the one that it was sent first."""
    return _age_s(sub, min((consumer.oldest_sent_ms() for consumer in sub.consumers if consumer.pending), default=0))


def _age_s(sub: Subscription, since_ms: int) -> float:
    return max(sub.topic.broker.now_ms - since_ms, 0) / 1000 if since_ms else 0.0


_TOPIC: dict[str, Callable[[Topic, Sampler], Number]] = {
    "pulsar_subscriptions_count": lambda t, r: len(t.subscriptions),
    "pulsar_producers_count": lambda t, r: len(t.producers),
    "pulsar_consumers_count": lambda t, r: sum(len(sub.consumers) for sub in t.subscriptions.values()),
    "pulsar_rate_in": lambda t, r: r.rate(t).messages,
    "pulsar_rate_out": lambda t, r: r.rate(t).third,
    "pulsar_throughput_in": lambda t, r: r.rate(t).bytes,
    "pulsar_throughput_out": lambda t, r: r.rate(t).fourth,
    "pulsar_average_msg_size": lambda t, r: r.rate(t).size,
    "pulsar_in_messages_total": lambda t, r: t.messages_in,
    "pulsar_in_bytes_total": lambda t, r: t.bytes_in,
    "pulsar_msg_backlog": durable_backlog,
    "pulsar_storage_size": lambda t, r: t.size_bytes,
    "pulsar_storage_logical_size": lambda t, r: t.size_bytes,
    "pulsar_storage_backlog_size": lambda t, r: backlog_bytes(t, t.low_water()),
    "pulsar_storage_backlog_age_seconds": lambda t, r: backlog_age_ms(t, t.low_water()) // 1000,
    "pulsar_storage_offloaded_size": lambda t, r: 0,
    "pulsar_storage_write_rate": lambda t, r: r.rate(t).fifth,
    "pulsar_storage_read_rate": lambda t, r: r.rate(t).sixth,
    "pulsar_storage_read_cache_misses_rate": lambda t, r: r.rate(t).sixth,
}

_SUBSCRIPTION: dict[str, Callable[[Subscription, Sampler], Number]] = {
    "pulsar_subscription_back_log": lambda s, r: s.backlog(),
    "pulsar_subscription_back_log_no_delayed": lambda s, r: s.backlog() - _delayed(s, r),
    "pulsar_subscription_delayed": _delayed,
    "pulsar_subscription_delayed_message_index_size_bytes": lambda s, r: delayed_index_bytes(s),
    "pulsar_subscription_in_replay": _in_replay,
    "pulsar_subscription_unacked_messages": _unacked,
    "pulsar_subscription_blocked_on_unacked_messages": lambda s, r: int(blocked(s)),
    "pulsar_out_messages_total": lambda s, r: s.messages_out,
    "pulsar_out_bytes_total": lambda s, r: bytes_out(s),
    "pulsar_subscription_consumers_count": lambda s, r: len(s.consumers),
    "pulsar_subscription_msg_rate_out": lambda s, r: r.rate(s).messages,
    "pulsar_subscription_msg_throughput_out": lambda s, r: r.rate(s).bytes,
    "pulsar_subscription_msg_rate_redeliver": lambda s, r: r.rate(s).third,
    "pulsar_subscription_msg_ack_rate": lambda s, r: r.rate(s).fourth,
    "pulsar_subscription_msg_drop_rate": lambda s, r: r.rate(s).dropped,
    "pulsar_subscription_msg_rate_expired": lambda s, r: r.rate(s).fifth,
    "pulsar_subscription_total_msg_expired": lambda s, r: s.expired_count,
    "pulsar_subscription_last_acked_timestamp": lambda s, r: s.last_acked_ms,
    "pulsar_subscription_last_consumed_timestamp": lambda s, r: s.last_sent_ms,
    "pulsar_subscription_last_consumed_flow_timestamp": lambda s, r: s.last_flow_ms,
    "pulsar_subscription_last_expire_timestamp": lambda s, r: s.last_expired_ms,
    "pulsar_subscription_last_mark_delete_advanced_timestamp": lambda s, r: s.last_moved_ms,
    "magnetar_subscription_draining_slots": _draining,
    "magnetar_subscription_drain_age_seconds": _drain_age,
    "magnetar_subscription_drains_cleared_total": _of_drains(lambda drains: drains.cleared_total),
    "magnetar_subscription_drains_leased_out_total": _leased_out,
    "magnetar_subscription_blocked_attempts_total": _of_drains(lambda drains: drains.blocked_total),
    "magnetar_subscription_pending_acks": lambda s, r: sum(len(consumer.pending) for consumer in s.consumers),
    "magnetar_subscription_oldest_pending_ack_age_seconds": _pending_age,
}
