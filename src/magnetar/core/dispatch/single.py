"""Exclusive and Failover: one consumer is served, in order.

There is no pending list. What the active consumer has been sent but has not acknowledged is everything between the
cursor's floor and ``read_next`` that is not acknowledged; giving it back means reading again from the floor. So a
hand-over is a rewind: the new active consumer begins with what its predecessor had not acknowledged.

When a better candidate joins while the old active consumer is still connected, the hand-over waits
``failover_delay_ms``, during which nobody is served, so that acknowledgements on their way can still arrive. When the
old one is gone there is nothing to wait for.

Redelivery counts are kept for what a consumer gave back by id, so that dead-letter policies work here too; Pulsar
counts only on shared types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.entryinfo import COUNT
from magnetar.core.failover import choose_active
from magnetar.core.history import ACTIVE, note
from magnetar.core.requests.notices import active_change
from magnetar.core.timers import Timer

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["SingleActive"]

REDELIVERY_COUNTS_MAX = 100_000
"""Entries whose redeliveries are counted; beyond it the oldest counts are forgotten."""


class SingleActive(Dispatcher):
    """The dispatcher of Exclusive and Failover subscriptions, which differ in how many may connect."""

    def __init__(self, subscription: Subscription, kind: str) -> None:
        super().__init__(subscription)
        self.kind = kind
        self.current: Consumer | None = None
        self.handover: Timer | None = None

    def active(self) -> Consumer | None:
        return self.current

    def add(self, consumer: Consumer) -> None:
        if not self._choose() and self.kind == "Failover":
            consumer.session.push(active_change(consumer.id, consumer is self.current))

    def remove(self, consumer: Consumer) -> None:
        if not self.subscription.consumers:
            self.current = None
            self._cancel()
            self.redelivered.clear()
            return
        gone = consumer is self.current
        if gone:
            self.current = None
        self._choose()

    def _choose(self) -> bool:
        """Pick who is active; whether that changed."""
        sub = self.subscription
        topic = sub.topic
        before = self.current
        chosen = choose_active(
            sub.consumers, str(topic.name), topic.name.partition, topic.broker.options.failover_by_hash
        )
        if chosen is before:
            return False
        self.current = chosen
        note(sub, ACTIVE, chosen, 0, 0)
        if self.kind == "Failover":
            for consumer in sub.consumers:
                consumer.session.push(active_change(consumer.id, consumer is chosen))
        self._cancel()
        broker = topic.broker
        if before is not None and broker.options.failover_delay_ms > 0:
            self.handover = broker.timers.at(broker.now_ms + broker.options.failover_delay_ms, self._hand_over)
        else:
            self._hand_over()
        return True

    def _cancel(self) -> None:
        if self.handover is not None:
            self.handover.cancel()
            self.handover = None

    def _hand_over(self) -> None:
        self.handover = None
        self._rewind()

    def _rewind(self) -> None:
        self.read_next = self.subscription.acks.floor
        self.subscription.topic.broker.wake(self.subscription)

    def dispatch(self) -> None:
        consumer = self.current
        if consumer is None or self.handover is not None or not consumer.ready():
            return
        sub = self.subscription
        topic = sub.topic
        acks, source, ledgers = sub.acks, self.source, topic.ledgers
        partition = topic.name.partition
        end = topic.tail.end
        offset = self.read_next
        charged = sent = 0
        while offset < end and consumer.ready():
            if acks.contains(offset):
                offset += 1
                continue
            if not source.load(offset, end - offset):
                break
            if not source.entry:
                self.lose(offset)
                offset += 1
                continue
            ledger, number = ledgers.position(offset)
            charged += consumer.send(
                ledger,
                number,
                source.entry,
                source.count & COUNT,
                acks.part(offset),
                self.redelivered.get(offset, 0) if self.redelivered else 0,
                partition,
            )
            sent += 1
            offset += 1
        self.read_next = offset
        if sent:
            sub.sent(consumer, charged)

    def dispatch_some(self, messages: int) -> None:
        consumer = self.current
        if consumer is None:
            return
        kept = max(consumer.permits - messages, 0)
        consumer.permits -= kept
        try:
            self.dispatch()
        finally:
            consumer.permits += kept

    def settle(self, consumer: Consumer, offset: int) -> None:
        if self.redelivered:
            self.redelivered.pop(offset, None)

    def settle_below(self, floor: int) -> None:
        super().settle_below(floor)
        if self.redelivered:
            for offset in [o for o in self.redelivered if o < floor]:
                del self.redelivered[offset]

    def redeliver(self, consumer: Consumer, offsets: list[int]) -> None:
        """Order is kept, so giving back one entry gives back everything after it as well."""
        if consumer is not self.current or self.handover is not None:
            return
        for offset in offsets:
            if not self.subscription.acks.contains(offset):
                self.redelivered[offset] = self.redelivered.get(offset, 0) + 1
        while len(self.redelivered) > REDELIVERY_COUNTS_MAX:
            del self.redelivered[next(iter(self.redelivered))]
        self._rewind()

    def redeliver_all(self, consumer: Consumer) -> None:
        if consumer is self.current and self.handover is None:
            self._rewind()

    def reset(self) -> None:
        super().reset()
        self.redelivered.clear()
