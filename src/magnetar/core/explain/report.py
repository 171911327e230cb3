"""What an explanation consists of. Messages are offsets here; times are milliseconds since the epoch, 0 for none."""

from __future__ import annotations

from dataclasses import dataclass, field

from magnetar.core.explain.failover import FailoverFacts
from magnetar.core.explain.selector import SelectorReport

__all__ = ["CONSUMERS_MAX", "MESSAGES_MAX", "NAMES_MAX", "ConsumerFacts", "Finding", "KeyReport", "Report"]

NAMES_MAX = 10
"""Consumers that a finding names; it counts all of them."""

MESSAGES_MAX = 10
"""Messages that a finding names; it counts all of them."""

CONSUMERS_MAX = 100
"""Consumers that a report describes."""


@dataclass(slots=True)
class Finding:
    """One thing that is in the way, or the statement that nothing is. What does not belong to its code is empty."""

    code: str
    consumers: list[str] = field(default_factory=list)
    consumer_count: int = 0
    messages: list[int] = field(default_factory=list)
    message_count: int = 0
    keys: int = 0
    slots: int = 0
    waiting: int = 0
    """Entries that wait behind it."""
    limit: int = 0
    since_ms: int = 0
    sent_ms: int = 0
    """When the oldest of the messages was sent."""
    until_ms: int = 0
    text: str = ""


@dataclass(slots=True)
class ConsumerFacts:
    """How one consumer stands."""

    name: str
    permits: int
    unacked: int
    pending: int
    blocked: bool
    slow: bool
    slots: int
    oldest_sent_ms: int
    last_acked_ms: int


@dataclass(slots=True)
class Report:
    """A subscription; the first finding is the verdict."""

    at_ms: int
    kind: str
    findings: list[Finding]
    backlog: int
    unacked: int
    waiting: int
    unread: int
    """Entries that were not looked at yet."""
    draining: int
    active: str
    consumer_count: int
    consumers: list[ConsumerFacts]
    last_sent_ms: int
    last_acked_ms: int
    failover: FailoverFacts | None = None
    selector: SelectorReport | None = None
    """Key_Shared: how keys are shared out."""


@dataclass(slots=True)
class KeyReport:
    """One key; the first finding is the verdict."""

    key: bytes
    slot: int
    owner: str = ""
    """Who may hold the key now: the consumer that drains it, else the owner of the slot."""
    owner_after: str = ""
    """Whom the slot belongs to, drains aside."""
    held_by: str = ""
    held: list[int] = field(default_factory=list)
    held_count: int = 0
    sent_ms: int = 0
    waiting: list[int] = field(default_factory=list)
    waiting_count: int = 0
    findings: list[Finding] = field(default_factory=list)
