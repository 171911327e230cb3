"""The rows of ``magnetar top``: what two looks at the metrics say about each topic and subscription.

Rates are what the totals have risen between the two looks. With one look only, they are the broker's own, which are
averages over its last window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from magnetar.cli.admin.scrape import Figures, Scrape

__all__ = ["SORTS", "Row", "Totals", "make_rows", "slow_consumers", "totals"]

HELD_LONG_S = 10
"""Messages that a consumer has held for longer than this are worth a word."""


@dataclass(slots=True)
class Row:
    """A subscription, or a topic that has none (``subscription`` is empty then)."""

    topic: str
    subscription: str
    rate_in: float = 0.0
    bytes_in: float = 0.0
    rate_out: float = 0.0
    bytes_out: float = 0.0
    backlog: int = 0
    backlog_age_s: int = 0
    unacked: int = 0
    in_replay: int = 0
    consumers: int = 0
    blocked: bool = False
    draining_slots: int = 0
    oldest_held_s: float = 0.0

    @property
    def state(self) -> str:
        """What is wrong, if anything is."""
        said = []
        if self.blocked:
            said.append("blocked")
        if self.draining_slots:
            said.append(f"draining {self.draining_slots}")
        if self.oldest_held_s >= HELD_LONG_S:
            said.append(f"holds since {self.oldest_held_s:.0f}s")
        if self.subscription and not self.consumers and self.backlog:
            said.append("no consumer")
        return ", ".join(said)

    def fields(self) -> dict[str, object]:
        return {**asdict(self), "state": self.state}


@dataclass(slots=True)
class Totals:
    """Everything together."""

    topics: int = 0
    subscriptions: int = 0
    consumers: int = 0
    producers: int = 0
    rate_in: float = 0.0
    bytes_in: float = 0.0
    rate_out: float = 0.0
    bytes_out: float = 0.0
    backlog: int = 0
    storage: int = 0


SORTS: dict[str, Callable[[Row], object]] = {
    "backlog": lambda row: -row.backlog,
    "age": lambda row: -row.backlog_age_s,
    "in": lambda row: -row.rate_in,
    "out": lambda row: -row.rate_out,
    "bytes": lambda row: -(row.bytes_in + row.bytes_out),
    "unacked": lambda row: -row.unacked,
    "topic": lambda row: 0,
}


def _rate(now: Figures, before: Figures | None, seconds: float, total: str, own: str) -> float:
    """Per second since the look before; the broker's own average where there is none."""
    if before is None or total not in now or total not in before or seconds <= 0:
        return now.get(own, 0.0)
    return max(now[total] - before[total], 0.0) / seconds


def make_rows(now: Scrape, before: Scrape | None, sort: str) -> list[Row]:
    """Every row, sorted; what is equal stands by name."""
    seconds = now.at_s - before.at_s if before is not None else 0.0
    with_subs = {topic for topic, _ in now.subs}
    rows = [_row(now, before, seconds, topic, sub) for topic, sub in now.subs]
    rows += [_row(now, before, seconds, topic, "") for topic in now.topics if topic not in with_subs]
    key = SORTS[sort]
    rows.sort(key=lambda row: (key(row), row.topic, row.subscription))
    return rows


def _row(now: Scrape, before: Scrape | None, seconds: float, topic: str, sub: str) -> Row:
    here, there = now.topics.get(topic, {}), before.topics.get(topic) if before else None
    own, earlier = now.subs.get((topic, sub), {}), before.subs.get((topic, sub)) if before else None
    backlog = int(own.get("backlog", 0))
    return Row(
        topic,
        sub,
        rate_in=_rate(here, there, seconds, "messages_in_total", "rate_in"),
        bytes_in=_rate(here, there, seconds, "bytes_in_total", "bytes_in"),
        rate_out=_rate(own, earlier, seconds, "messages_out_total", "rate_out"),
        bytes_out=_rate(own, earlier, seconds, "bytes_out_total", "bytes_out"),
        backlog=backlog,
        # It is the age of the topic's slowest subscription; one that has caught up has none.
        backlog_age_s=max(int(here.get("age", 0)), 0) if backlog else 0,
        unacked=int(own.get("unacked", 0)),
        in_replay=int(own.get("replay", 0)),
        consumers=int(own.get("consumers", 0)),
        blocked=bool(own.get("blocked", 0)),
        draining_slots=int(own.get("draining", 0)),
        oldest_held_s=own.get("held", 0.0),
    )


def totals(now: Scrape, before: Scrape | None) -> Totals:
    """The sums over topics and subscriptions."""
    seconds = now.at_s - before.at_s if before is not None else 0.0
    found = Totals(len(now.topics), len(now.subs))
    for name, topic in now.topics.items():
        there = before.topics.get(name) if before else None
        found.rate_in += _rate(topic, there, seconds, "messages_in_total", "rate_in")
        found.bytes_in += _rate(topic, there, seconds, "bytes_in_total", "bytes_in")
        found.producers += int(topic.get("producers", 0))
        found.storage += int(topic.get("storage", 0))
    for key, sub in now.subs.items():
        earlier = before.subs.get(key) if before else None
        found.rate_out += _rate(sub, earlier, seconds, "messages_out_total", "rate_out")
        found.bytes_out += _rate(sub, earlier, seconds, "bytes_out_total", "bytes_out")
        found.consumers += int(sub.get("consumers", 0))
        found.backlog += int(sub.get("backlog", 0))
    return found


def slow_consumers(now: Scrape, most: int) -> list[dict[str, object]]:
    """Consumers that are blocked or hold most; empty where the page has no figures of consumers."""
    held = [
        (key, figures) for key, figures in now.consumers.items() if figures.get("unacked") or figures.get("blocked")
    ]
    held.sort(key=lambda one: (-one[1].get("blocked", 0), -one[1].get("unacked", 0), one[0]))
    return [
        {
            "consumer": name,
            "subscription": sub,
            "topic": topic,
            "unacked": int(figures.get("unacked", 0)),
            "permits": int(figures.get("permits", 0)),
            "blocked": bool(figures.get("blocked", 0)),
        }
        for (topic, sub, name), figures in held[:most]
    ]
