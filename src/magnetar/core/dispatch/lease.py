"""The lease of a drain: whoever holds what others wait for, and acknowledges nothing for so long, is disconnected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.consumer import pending_hash
from magnetar.core.history import LEASED_OUT, note
from magnetar.core.timers import Timer

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.dispatch.keyshared import KeyShared

__all__ = ["LEASE_CHECKS", "DrainLease"]

LEASE_CHECKS = 4
"""A drain lease is looked at this many times in its length."""


class DrainLease:
    """Lives in a ``KeyShared``; ``keySharedDrainLeaseMs`` is looked at each time, so it may change at any time."""

    def __init__(self, dispatcher: KeyShared) -> None:
        self.dispatcher: KeyShared = dispatcher
        self.timer: Timer | None = None
        self.ended: int = 0
        """Consumers that were disconnected."""

    def watch(self) -> None:
        """Look at the drains a few times while the lease runs; called when something drains or is held up by it."""
        dispatcher = self.dispatcher
        broker = dispatcher.subscription.topic.broker
        lease = broker.options.key_shared_drain_lease_ms
        if lease > 0 and self.timer is None and dispatcher.drains.active:
            self.timer = broker.timers.at(broker.now_ms + max(lease // LEASE_CHECKS, 1), self._check)

    def _check(self) -> None:
        self.timer = None
        sub = self.dispatcher.subscription
        broker = sub.topic.broker
        lease = broker.options.key_shared_drain_lease_ms
        if lease <= 0 or sub.deleted:
            return
        before_ms = broker.now_ms - lease
        for consumer in list(sub.consumers):
            if max(consumer.last_acked_ms, consumer.connected_ms) < before_ms and self._holds_up(consumer, before_ms):
                self.ended += 1
                note(sub, LEASED_OUT, consumer, 0, len(consumer.pending))
                consumer.session.drop_consumer(consumer)
        self.watch()

    def _holds_up(self, consumer: Consumer, before_ms: int) -> bool:
        """Whether it holds since before that time what others wait for."""
        dispatcher = self.dispatcher
        drains, slot_of, waiting = dispatcher.drains, dispatcher.selector.slot_of, dispatcher.waiting_keys.keys
        for word in consumer.pending.values():
            key_hash = pending_hash(word)
            slot = slot_of(key_hash)
            since = drains.since_ms(slot)
            if not 0 < since <= before_ms or dispatcher.owner(slot) is consumer:
                continue
            if key_hash in waiting or (drains.is_coarse(slot) and any(slot_of(one) == slot for one in waiting)):
                return True
        return False
