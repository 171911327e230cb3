"""Rates as token buckets, in whole numbers and in the time that the core is told.

A bucket fills at its rate up to what one period allows, and whoever passes takes tokens out. What passes is a whole
entry, so a bucket may go below zero; then nothing passes until it is above again. Because a client whose connection is
not read for long takes the broker for dead, a bucket is never deeper in debt than ``DEBT_MAX_MS`` pay back: an entry
that is larger than that passes at the price of it.

Inside, a bucket counts in tokens times milliseconds of the period, so that a millisecond adds exactly ``rate``.
"""

from __future__ import annotations

from magnetar.core.policies.values import Rate

__all__ = ["DEBT_MAX_MS", "PLENTY", "Bucket", "Throttle", "throttle"]

DEBT_MAX_MS = 10_000
PLENTY = 1 << 62
"""What is left where there is no limit."""

_SAMPLE_MS = 1_000
"""How often the rate is measured that a relative one follows."""


class Bucket:
    """``rate`` tokens in ``period_ms``."""

    def __init__(self, rate: int, period_ms: int, now_ms: int) -> None:
        self.rate: int = rate
        self.period_ms: int = period_ms
        self.level: int = rate * period_ms
        self.seen_ms: int = now_ms

    def left(self, now_ms: int) -> int:
        """Tokens that are there; 0 or less: wait."""
        if now_ms > self.seen_ms:
            self.level = min(self.level + (now_ms - self.seen_ms) * self.rate, self.rate * self.period_ms)
            self.seen_ms = now_ms
        return self.level // self.period_ms

    def take(self, tokens: int) -> None:
        """Something has passed."""
        self.level = self._after(tokens)

    def _after(self, tokens: int) -> int:
        return max(self.level - tokens * self.period_ms, -self.rate * DEBT_MAX_MS)

    def ready_ms(self, now_ms: int, tokens: int = 0) -> int:
        """When there is a token again, once so many were taken."""
        self.left(now_ms)
        missing = max(self.period_ms - self._after(tokens), 0)
        return now_ms + -(-missing // self.rate)


class Throttle:
    """The two buckets of a rate, of which each may be missing."""

    def __init__(self, rate: Rate, now_ms: int) -> None:
        self.rate: Rate = rate
        self.messages: Bucket | None = Bucket(rate.messages, rate.period_ms, now_ms) if rate.messages > 0 else None
        self.bytes: Bucket | None = Bucket(rate.bytes, rate.period_ms, now_ms) if rate.bytes > 0 else None
        self.limited: int = 0
        """How often something had to wait."""
        self.sampled_ms: int = now_ms
        self.sampled_messages: int = -1
        self.sampled_bytes: int = -1

    def messages_left(self, now_ms: int) -> int:
        return self.messages.left(now_ms) if self.messages is not None else PLENTY

    def bytes_left(self, now_ms: int) -> int:
        return self.bytes.left(now_ms) if self.bytes is not None else PLENTY

    def take(self, messages: int, size: int) -> None:
        """So much has passed."""
        if self.messages is not None:
            self.messages.take(messages)
        if self.bytes is not None:
            self.bytes.take(size)

    def ready_ms(self, now_ms: int, messages: int = 0, size: int = 0) -> int:
        """When something may pass again, once so much has passed; now, when it may."""
        ready = now_ms
        if self.messages is not None:
            ready = max(ready, self.messages.ready_ms(now_ms, messages))
        if self.bytes is not None:
            ready = max(ready, self.bytes.ready_ms(now_ms, size))
        return ready

    def follow_publishing(self, messages: int, size: int, now_ms: int) -> None:
        """With a relative rate: what was published since the last look, out of the topic's totals, comes on top."""
        if not self.rate.relative or (self.sampled_messages >= 0 and now_ms - self.sampled_ms < _SAMPLE_MS):
            return
        if self.sampled_messages >= 0:
            elapsed = now_ms - self.sampled_ms
            period = self.rate.period_ms
            if self.messages is not None:
                self.messages.left(now_ms)
                self.messages.rate = self.rate.messages + (messages - self.sampled_messages) * period // elapsed
            if self.bytes is not None:
                self.bytes.left(now_ms)
                self.bytes.rate = self.rate.bytes + (size - self.sampled_bytes) * period // elapsed
        self.sampled_ms, self.sampled_messages, self.sampled_bytes = now_ms, messages, size


def throttle(before: Throttle | None, rate: Rate, now_ms: int) -> Throttle | None:
    """The throttle of a rate, which goes on where it was when the rate is still the same; None without a limit."""
    if not rate.limits():
        return None
    return before if before is not None and before.rate == rate else Throttle(rate, now_ms)
