"""A non-persistent topic: a topic without ledgers, whose tail is always empty.

To everything else in the broker it is a ``Topic``: sessions publish to it, its producers share or own it by the same
rules, statistics, explain and the admin interface read it with the same words, and find that it holds nothing. What is
different is here and in this package: a publish is handed to the consumers that can take it at once, in the same pass,
and answered; nothing goes into a commit, no cursor is kept, and nothing of the topic is there after a restart.

Every message has the id 0:0, as in Pulsar, because nothing could ever be found by it. A message that is dropped because
its connection has too many in progress gets the id -1:-1, which clients take for success without a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.entryinfo import CHUNK, COUNT
from magnetar.core.names import TopicName
from magnetar.core.nonpersistent.subscription import NonPersistentSubscription
from magnetar.core.throttled import charge
from magnetar.core.topic import Topic
from magnetar.errors import NotAllowed
from magnetar.wire.replies import send_receipt

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.producer import Producer
    from magnetar.core.sending import SendBatch
    from magnetar.core.subscription import Subscription

__all__ = ["NO_STREAM", "NonPersistentTopic"]

NO_STREAM = -1
"""It has no stream in the log."""


class NonPersistentTopic(Topic):
    """See the module's text."""

    def __init__(self, broker: Broker, name: TopicName) -> None:
        super().__init__(broker, name, NO_STREAM)
        self.dedup = None
        self.dropped: int = 0
        """Messages that some subscription did not get, or that were dropped before any could."""
        self.used_ms: int = broker.now_ms
        """When it was last seen in use."""

    # -- nothing is stored -----------------------------------------------------------------------------------------

    def ensure_ledger(self) -> None:
        """There are no ledgers."""

    def roll(self) -> None:
        """There are no ledgers."""

    def write_facts(self) -> None:
        """The epoch of its exclusive producers lives as long as the topic."""

    def states(self) -> list[tuple[int, bytes, bytes]]:
        return []

    def rewrite(self) -> None:
        """Nothing of it was in a commit that failed."""

    # -- publishing ------------------------------------------------------------------------------------------------

    def publish(self, producer: Producer, batch: SendBatch) -> None:
        """Entries of one producer, in order, to all subscriptions, and their receipts."""
        entries, counts = batch.entries, batch.counts
        if not entries:
            return
        if self.limits.publish is not None:
            charge(self, producer, batch)
        session = producer.session
        room = max(self.broker.options.non_persistent_pending_max - session.unwritten, 0)
        taken = min(room, len(entries))
        late = 0
        for info in counts[taken:]:
            late += info & COUNT
        if late:
            producer.dropped += late
            self.dropped += late
            entries, counts = entries[:taken], counts[:taken]
        for sub in self.subscriptions.values():
            if sub.consumers and entries and isinstance(sub, NonPersistentSubscription):
                self.dropped += sub.offer(entries, counts)
        self._count(producer, batch, taken)
        session.unwritten += taken
        out: list[bytes] = []
        for k in range(len(batch.sequences)):
            place = 0 if k < taken else -1
            out.append(send_receipt(producer.id, batch.sequences[k], batch.highest[k], place, place))
        session.push(b"".join(out))

    def _count(self, producer: Producer, batch: SendBatch, taken: int) -> None:
        """What was dropped at once counts as sent by nobody."""
        messages = size = 0
        for k in range(taken):
            info = batch.counts[k]
            messages += info & COUNT
            size += len(batch.entries[k])
            if info & CHUNK:
                self.chunked = True
        self.messages_in += messages
        self.bytes_in += size
        self.entries_in += taken
        producer.messages_in += messages
        producer.bytes_in += size
        producer.entries_in += taken
        self.last_publish_ms = self.broker.now_ms

    # -- consumers -------------------------------------------------------------------------------------------------

    def subscription(self, name: str, durable: bool) -> Subscription:
        """The subscription of this name, made when it is not there."""
        sub = self.subscriptions.get(name)
        if sub is None:
            most = self.policies.max_subscriptions
            if most and len(self.subscriptions) >= most:
                raise NotAllowed(f"{self.name} has its {most} subscriptions (maxSubscriptionsPerTopic)")
            sub = self.subscriptions[name] = NonPersistentSubscription(self, name, durable)
        return sub

    def consumer_left(self, subscription: Subscription) -> None:
        """A subscription stays as a name when its last consumer has gone; a reader's goes with it."""
        self.used_ms = self.broker.now_ms
        if not isinstance(subscription, NonPersistentSubscription) or not subscription.kept:
            super().consumer_left(subscription)

    def in_use(self) -> bool:
        """Whether anybody is connected. A subscription by itself holds nothing, so it keeps nothing."""
        return bool(self.producers or self.waiting) or any(sub.consumers for sub in self.subscriptions.values())
