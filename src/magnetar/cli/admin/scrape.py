"""One look at a broker's metrics page: the families that ``magnetar top`` shows, of every topic and subscription.

The page of ten thousand topics has many megabytes, so it is read line by line, and lines of other families are passed
over before anything is made of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["CONSUMER", "SUBSCRIPTION", "TOPIC", "Scrape", "read_metrics"]

TOPIC = {
    "pulsar_rate_in": "rate_in",
    "pulsar_throughput_in": "bytes_in",
    "pulsar_in_messages_total": "messages_in_total",
    "pulsar_in_bytes_total": "bytes_in_total",
    "pulsar_storage_size": "storage",
    "pulsar_storage_backlog_age_seconds": "age",
    "pulsar_producers_count": "producers",
}
SUBSCRIPTION = {
    "pulsar_subscription_msg_rate_out": "rate_out",
    "pulsar_subscription_msg_throughput_out": "bytes_out",
    "pulsar_out_messages_total": "messages_out_total",
    "pulsar_out_bytes_total": "bytes_out_total",
    "pulsar_subscription_back_log": "backlog",
    "pulsar_subscription_delayed": "delayed",
    "pulsar_subscription_unacked_messages": "unacked",
    "pulsar_subscription_in_replay": "replay",
    "pulsar_subscription_blocked_on_unacked_messages": "blocked",
    "pulsar_subscription_consumers_count": "consumers",
    "magnetar_subscription_draining_slots": "draining",
    "magnetar_subscription_oldest_pending_ack_age_seconds": "held",
}
CONSUMER = {
    "pulsar_consumer_unacked_messages": "unacked",
    "pulsar_consumer_blocked_on_unacked_messages": "blocked",
    "pulsar_consumer_available_permits": "permits",
    "pulsar_consumer_msg_rate_out": "rate_out",
}
_WANTED = TOPIC | SUBSCRIPTION | CONSUMER
_LABEL = re.compile(rb'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")

Figures = dict[str, float]


@dataclass(slots=True)
class Scrape:
    """The figures of a page, by topic, by topic and subscription, and by consumer where the page has those."""

    at_s: float = 0.0
    topics: dict[str, Figures] = field(default_factory=dict)
    subs: dict[tuple[str, str], Figures] = field(default_factory=dict)
    consumers: dict[tuple[str, str, str], Figures] = field(default_factory=dict)


def read_metrics(lines: Iterable[bytes], about: str = "") -> Scrape:
    """What is on a page; only topics with ``about`` in their name."""
    found = Scrape(time.monotonic())
    wanted = {name.encode(): short for name, short in _WANTED.items()}
    part = about.encode()
    for line in lines:
        name, brace, rest = line.partition(b"{")
        short = wanted.get(name)
        if short is None or not brace or part not in rest:
            continue
        text, _, value = rest.rpartition(b"}")
        labels = {key: _plain(raw) for key, raw in _LABEL.findall(text)}
        topic = labels.get(b"topic")
        if topic is None or about not in topic:
            continue
        _put(found, name.decode(), short, topic, labels, float(value.split()[0]))
    return found


def _put(found: Scrape, name: str, short: str, topic: str, labels: dict[bytes, str], value: float) -> None:
    sub = labels.get(b"subscription")
    if name in TOPIC:
        found.topics.setdefault(topic, {})[short] = value
    elif sub is not None and name in SUBSCRIPTION:
        found.subs.setdefault((topic, sub), {})[short] = value
    elif sub is not None:
        found.consumers.setdefault((topic, sub, labels.get(b"consumer_name", "")), {})[short] = value


def _plain(raw: bytes) -> str:
    text = raw.decode(errors="replace")
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
