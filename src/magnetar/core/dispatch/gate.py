"""What stands before a dispatcher whose topic has dispatch rates, or that pauses while the log fails.

A subscription without either has no gate, and pays nothing. With rates, the gate works out how many messages may go
now, lets the dispatcher send so many (``dispatch_some``), and takes what really went out of the buckets of the
subscription, the topic and the broker. Rates in bytes are turned into messages by their average size, a few at a time,
so that what goes beyond the rate is one entry; the bucket is in debt for it. When a bucket is empty, a timer wakes the
subscription.

Acknowledgements are always durable here, so ``dispatcherPauseOnAckStatePersistent`` has one meaning left: as long as
the log cannot be written, acknowledgements would be lost in a crash, and whoever asks for it is sent nothing more
until a commit succeeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.throttle import PLENTY, Throttle, throttle
from magnetar.core.timers import Timer

if TYPE_CHECKING:
    from magnetar.core.subscription import Subscription

__all__ = ["BY_BROKER", "BY_SUBSCRIPTION", "BY_TOPIC", "CAUGHT_UP_ENTRIES", "Gate", "gate_of"]

CAUGHT_UP_ENTRIES = 1_000
"""With fewer unread entries a subscription counts as caught up (managedLedgerCursorBackloggedThreshold)."""

BY_SUBSCRIPTION, BY_TOPIC, BY_BROKER = range(3)
_PAUSE_CHECK_MS = 100
_WAKE_MS = 10
"""A timer is not set closer than that: several tokens at a time cost as much as one."""


class Gate:
    """See the module's text."""

    def __init__(self, sub: Subscription) -> None:
        self.sub: Subscription = sub
        self.own: Throttle | None = None
        self.pauses: bool = False
        self.paused: bool = False
        self.until_ms: int = 0
        """Until when nothing goes because of a rate."""
        self.level: int = -1
        """Whose rate that is."""
        self.limited_messages: list[int] = [0, 0, 0]
        self.limited_bytes: list[int] = [0, 0, 0]
        self.timer: Timer | None = None
        self.seen_messages: int = sub.messages_out
        self.seen_bytes: int = _bytes_out(sub)

    def throttles(self) -> list[Throttle | None]:
        """By level."""
        topic = self.sub.topic
        return [self.own, topic.limits.dispatch, topic.broker.policies.dispatch_throttle(topic.broker.now_ms)]

    def dispatch(self) -> None:
        """Let the dispatcher send what may be sent now."""
        sub = self.sub
        dispatcher, topic = sub.dispatcher, sub.topic
        assert dispatcher is not None
        if self.pauses and topic.broker.log_error:
            self._pause()
            return
        self.paused = False
        throttles = self.throttles()
        for each in throttles:
            if each is not None:
                each.follow_publishing(topic.messages_in, topic.bytes_in, topic.broker.now_ms)
        caught_up = topic.tail.end - dispatcher.read_next < CAUGHT_UP_ENTRIES
        if caught_up and not topic.broker.options.throttle_caught_up:
            self.until_ms = 0
            dispatcher.dispatch()
            self._count([])
            return
        self._count(throttles)
        while True:
            budget = self._budget(throttles)
            if budget <= 0:
                return
            dispatcher.dispatch_some(budget)
            if not self._count(throttles):
                return

    def _budget(self, throttles: list[Throttle | None]) -> int:
        """How many messages may go now; when none may, the timer is set."""
        now = self.sub.topic.broker.now_ms
        average = self._average_bytes()
        budget, ready, level = PLENTY, now, -1
        for at, each in enumerate(throttles):
            if each is not None:
                size = each.bytes_left(now)
                budget = min(budget, each.messages_left(now), size if size <= 0 else max(size // average, 1))
                if each.ready_ms(now) > ready:
                    ready, level = each.ready_ms(now), at
        if budget <= 0:
            self._wait(throttles, max(ready, now + _WAKE_MS), level)
        else:
            self.until_ms = 0
        return budget

    def _average_bytes(self) -> int:
        """Of a message; of an entry, where no message was published since the start."""
        topic = self.sub.topic
        if topic.messages_in:
            return max(topic.bytes_in // topic.messages_in, 1)
        return max(topic.size_bytes // max(topic.next_offset - topic.first_offset, 1), 1)

    def _wait(self, throttles: list[Throttle | None], until_ms: int, level: int) -> None:
        """A bucket is empty: come back when it is not."""
        broker = self.sub.topic.broker
        each = throttles[level]
        if each is not None and not self.waits():
            if each.messages_left(broker.now_ms) <= 0:
                self.limited_messages[level] += 1
            if each.bytes_left(broker.now_ms) <= 0:
                self.limited_bytes[level] += 1
        self.until_ms, self.level = until_ms, level
        if self.timer is None:
            self.timer = broker.timers.at(until_ms, self._again)

    def _count(self, throttles: list[Throttle | None]) -> bool:
        """Take what was sent since the last look out of the buckets; whether that was anything.

        Counters are compared, so what a dispatcher sends at another time, by a timer of its own, counts as well.
        """
        sub = self.sub
        messages, size = sub.messages_out, _bytes_out(sub)
        sent, sent_bytes = max(messages - self.seen_messages, 0), max(size - self.seen_bytes, 0)
        self.seen_messages, self.seen_bytes = messages, size
        if not sent and not sent_bytes:
            return False
        for each in throttles:
            if each is not None:
                each.take(sent, sent_bytes)
        return True

    def _pause(self) -> None:
        """Nothing can be persisted now: look again a little later, and see to it that there is something to write."""
        self.paused = True
        broker = self.sub.topic.broker
        if self.timer is None:
            due = max(broker.hold_until_ms, broker.now_ms + _PAUSE_CHECK_MS)
            self.timer = broker.timers.at(due, self._again)
        if self.sub.durable and broker.in_flight is None and not broker.commit.records and not self.sub.dirty:
            self.sub.write_whole()

    def _again(self) -> None:
        self.timer = None
        self.sub.topic.broker.wake(self.sub)

    def waits(self) -> bool:
        """Whether a rate is what keeps messages back."""
        return self.until_ms > self.sub.topic.broker.now_ms


def _bytes_out(sub: Subscription) -> int:
    return sub.bytes_out + sum(consumer.bytes_out for consumer in sub.consumers)


def gate_of(sub: Subscription) -> Gate | None:
    """The gate that the policies ask for, which goes on where it was; None when nothing stands in the way."""
    broker, policies = sub.topic.broker, sub.topic.policies
    before = sub.gate
    own = policies.dispatch_rates.get(sub.name, policies.subscription_dispatch_rate)
    wanted = own.limits() or policies.dispatch_rate.limits()
    wanted = wanted or policies.pause_on_ack_state or broker.policies.broker_rate.limits()
    if before is not None:
        if before.timer is not None:
            before.timer.cancel()
            before.timer = None
        broker.wake(sub)
    if not wanted or sub.topic.stream < 0:
        return None  # a non-persistent topic keeps nothing that could be sent later
    gate = before if before is not None else Gate(sub)
    gate.own = throttle(gate.own, own, broker.now_ms)
    gate.pauses = policies.pause_on_ack_state
    return gate
