"""Exclusive and Failover: one consumer is served, in order.

There is no pending list. What the active consumer has been sent but has not acknowledged is everything between the
cursor's floor and ``read_next`` that is not acknowledged; giving it back means reading again from the floor. So a
hand-over is a rewind: the new active consumer begins with what its predecessor had not acknowledged.

When another is to be active while the old one is still connected, the hand-over waits ``failover_delay_ms``, during
which nobody is served, so that acknowledgements on their way can still arrive. With a drain time (``relief``) it is the
other way round: the old one stays active, without getting more, until it has finished or the time is over. When the old
one is gone there is nothing to wait for.

Redelivery counts are kept for what a consumer gave back by id, so that dead-letter policies work here too; Pulsar
counts only on shared types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.dispatch.oneofmany import OneOfMany
from magnetar.core.entryinfo import COUNT
from magnetar.core.history import ACTIVE, JOIN, LEAVE, note
from magnetar.core.requests.notices import active_change

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["SingleActive"]

REDELIVERY_COUNTS_MAX = 100_000
"""Entries whose redeliveries are counted; beyond it the oldest counts are forgotten."""


class SingleActive(OneOfMany):
    """The dispatcher of Exclusive and Failover subscriptions, which differ in how many may connect."""

    def __init__(self, subscription: Subscription, kind: str) -> None:
        super().__init__(subscription, kind)

    def add(self, consumer: Consumer) -> None:
        if not self._choose(JOIN) and self.kind == "Failover":
            consumer.session.push(active_change(consumer.id, consumer is self.current))

    def remove(self, consumer: Consumer) -> None:
        if not self.subscription.consumers:
            self.current = None
            self._cancel()
            self.redelivered.clear()
            self.attentive = False
            self.subscription.topic.broker.balance.drop(self)
            return
        if consumer is self.current:
            self.current = None
        self._choose(LEAVE)

    def _activate(self, before: Consumer | None, chosen: Consumer, why: str) -> None:
        sub = self.subscription
        broker = sub.topic.broker
        self.current = chosen
        self.since_ms = broker.now_ms
        note(sub, ACTIVE, chosen, 0, 0, why, self.selector)
        if before is not None or why == LEAVE:
            sub.history.switches += 1
        if self.kind == "Failover":
            for consumer in sub.consumers:
                consumer.session.push(active_change(consumer.id, consumer is chosen))
        if self.handover is not None:
            self.handover.cancel()
        if before is not None and self.relief is None and broker.options.failover_delay_ms > 0:
            self.handover = broker.timers.at(broker.now_ms + broker.options.failover_delay_ms, self._hand_over)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        self.subscription.history.repeated += self.unfinished()
        self.relief = None
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
        if self.attentive:
            self.redelivered.pop(offset, None)
            self._settled()

    def settle_below(self, floor: int) -> None:
        super().settle_below(floor)
        if self.attentive:
            for offset in [o for o in self.redelivered if o < floor]:
                del self.redelivered[offset]
            self._settled()

    def _settled(self) -> None:
        self._relieve(False)
        self.attentive = self.relief is not None or len(self.redelivered) > 0

    def redeliver(self, consumer: Consumer, offsets: list[int]) -> None:
        """Order is kept, so giving back one entry gives back everything after it as well. Who is about to be relieved
        gives back these only: the others it may still finish, and its successor begins with these."""
        relief = self.relief
        if consumer is not self.current or (self.handover is not None and relief is None):
            return
        for offset in offsets:
            if not self.subscription.acks.contains(offset):
                self.redelivered[offset] = self.redelivered.get(offset, 0) + 1
        while len(self.redelivered) > REDELIVERY_COUNTS_MAX:
            del self.redelivered[next(iter(self.redelivered))]
        self.attentive = True
        if relief is None:
            self._rewind()
        else:
            relief.give_back(offsets)
            self._relieve(False)

    def redeliver_all(self, consumer: Consumer) -> None:
        if consumer is not self.current:
            return
        if self.relief is not None:
            self.relief.emptied = True
            self._relieve(True)
        elif self.handover is None:
            self._rewind()

    def reset(self) -> None:
        super().reset()
        self.redelivered.clear()
        self.attentive = self.relief is not None
