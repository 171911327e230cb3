"""The part that Shared and Key_Shared have in common: who holds what, redelivery counts, limits on unacknowledged.

Every entry that was sent stands in exactly one consumer's ``pending`` until it is acknowledged, given back or its
consumer leaves; then it is either settled or in the dispatcher's queue for redelivery. A consumer's ``unacked`` is the
sum of the counts in its pending, and the subscription's is the sum over its consumers. Reaching a limit blocks (the
consumer, or the whole subscription); falling to half of it releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.consumer import pending_count, pending_hash, pending_word
from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.source import Source

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.policies.effective import TopicPolicies
    from magnetar.core.subscription import Subscription

__all__ = ["PendingDispatcher"]


class PendingDispatcher(Dispatcher):
    """Subclasses say where an entry goes that must be delivered again: ``requeue``."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.tracks_pending = True
        self.again: Source = Source(self.source.broker, subscription, self.source.stream, self.source.tail)
        """Entries for redelivery come through a window of their own, so that the two do not push each other out."""
        self.unacked_total: int = 0
        self.blocked: bool = False
        self.consumer_limit: int = 0
        self.limit: int = 0
        self.follow_policies(subscription.topic.policies)

    def follow_policies(self, policies: TopicPolicies) -> None:
        if not self.subscription.durable:
            return
        self.consumer_limit = policies.max_unacked_per_consumer
        self.limit = policies.max_unacked_per_subscription
        for consumer in self.subscription.consumers:
            consumer.blocked = 0 < self.consumer_limit <= consumer.unacked
        self.blocked = 0 < self.limit <= self.unacked_total
        self.subscription.topic.broker.wake(self.subscription)

    def dispatch_some(self, messages: int) -> None:
        """The limit of unacknowledged messages is lowered for as long as this takes: it is looked at anyway."""
        if self.blocked:
            return
        limit, most = self.limit, self.unacked_total + messages
        self.limit = most if limit <= 0 else min(most, limit)
        try:
            self.dispatch()
        finally:
            self.limit = limit
            self.blocked = 0 < limit <= self.unacked_total

    def requeue(self, offset: int, key_hash: int) -> None:
        """The entry is nobody's now and waits for redelivery."""
        raise NotImplementedError

    def unqueue(self, offset: int) -> None:
        """The entry was acknowledged while it waited for redelivery."""
        raise NotImplementedError

    def released(self, offset: int, key_hash: int, consumer: Consumer) -> None:
        """The entry has left the consumer's pending, by acknowledgement or by being given back."""

    def unacked(self) -> int:
        return self.unacked_total

    def charge(self, consumer: Consumer, offset: int, key_hash: int, count: int) -> None:
        """``count`` messages of the entry were sent to the consumer."""
        now_ms = self.again.broker.now_ms
        if now_ms >= consumer.tick_end_ms:
            consumer.next_tick(now_ms)
        consumer.pending[offset] = pending_word(key_hash, consumer.tick, count)
        consumer.unacked += count
        self.unacked_total += count
        if self.consumer_limit and consumer.unacked >= self.consumer_limit:
            consumer.blocked = True
        if self.limit and self.unacked_total >= self.limit:
            self.blocked = True

    def discharge(self, consumer: Consumer, count: int) -> None:
        """``count`` messages are no longer unacknowledged at the consumer."""
        consumer.unacked -= count
        self.unacked_total -= count
        if consumer.blocked and consumer.unacked <= self.consumer_limit // 2:
            consumer.blocked = False
            self.subscription.topic.broker.wake(self.subscription)
        if self.blocked and self.unacked_total <= self.limit // 2:
            self.blocked = False
            self.subscription.topic.broker.wake(self.subscription)

    def settle(self, consumer: Consumer, offset: int) -> None:
        word = consumer.pending.pop(offset, 0)
        if not word:
            holder = self.holder(offset)
            if holder is None:
                self.unqueue(offset)
                if self.redelivered:
                    self.redelivered.pop(offset, None)
                return
            consumer = holder
            word = consumer.pending.pop(offset)
        self.discharge(consumer, pending_count(word))
        if self.redelivered:
            self.redelivered.pop(offset, None)
        self.released(offset, pending_hash(word), consumer)

    def settle_part(self, consumer: Consumer, offset: int, left: int) -> None:
        holder: Consumer | None = consumer
        if offset not in consumer.pending:
            holder = self.holder(offset)
        if holder is None:
            return
        word = holder.pending[offset]
        count = pending_count(word)
        now = min(left.bit_count(), count)
        if now < count:
            holder.pending[offset] = word - (count - now)
            self.discharge(holder, count - now)

    def settle_below(self, floor: int) -> None:
        super().settle_below(floor)
        for consumer in self.subscription.consumers:
            for offset in [o for o in consumer.pending if o < floor]:
                word = consumer.pending.pop(offset)
                self.discharge(consumer, pending_count(word))
                self.released(offset, pending_hash(word), consumer)
        for offset in [o for o in self.redelivered if o < floor]:
            del self.redelivered[offset]

    def holder(self, offset: int) -> Consumer | None:
        """Who holds the entry, when it is not the consumer that speaks of it."""
        for consumer in self.subscription.consumers:
            if offset in consumer.pending:
                return consumer
        return None

    def give_back(self, consumer: Consumer, offset: int, count_redelivery: bool) -> None:
        """Move an entry from the consumer's pending to the queue for redelivery."""
        word = consumer.pending.pop(offset, 0)
        if not word:
            return
        self.discharge(consumer, pending_count(word))
        if self.subscription.acks.contains(offset):
            self.redelivered.pop(offset, None)  # skipped while it was held: nobody will get it again
        elif count_redelivery:
            self.redelivered[offset] = self.redelivered.get(offset, 0) + 1
        key_hash = pending_hash(word)
        self.released(offset, key_hash, consumer)
        self.requeue(offset, key_hash)

    def redeliver(self, consumer: Consumer, offsets: list[int]) -> None:
        for offset in sorted(offsets):
            self.give_back(consumer, offset, True)
        self.subscription.topic.broker.wake(self.subscription)

    def redeliver_all(self, consumer: Consumer) -> None:
        self.redeliver(consumer, list(consumer.pending))

    def give_back_all(self, consumer: Consumer) -> None:
        """The consumer has left; disconnecting does not count as a redelivery."""
        for offset in sorted(consumer.pending):
            self.give_back(consumer, offset, False)
        consumer.blocked = False

    def reset(self) -> None:
        super().reset()
        self.again.forget()
        self.redelivered.clear()
