"""What the two dispatchers of Key_Shared have in common: a selector, sending an entry, how far reading goes ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.dispatch.delaying import DelayingDispatcher
from magnetar.core.dispatch.rebalancer import Rebalancer
from magnetar.core.dispatch.reselect import Selector, make_selector
from magnetar.core.entryinfo import COUNT
from magnetar.core.history import SELECTOR, Event
from magnetar.core.selector.load import SlotLoad
from magnetar.core.selector.names import wanted_selector
from magnetar.core.selector.rateaware import RateAware

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.policies.effective import TopicPolicies
    from magnetar.core.subscription import Subscription

__all__ = ["KeyedDispatcher"]

NO_LIMIT = 1 << 30


class KeyedDispatcher(DelayingDispatcher):
    """Entries go to the owner of their key's slot. Subclasses say what keeps an entry back."""

    kind = "Key_Shared"

    def __init__(self, subscription: Subscription, ring_slots: int) -> None:
        self.ring_slots: int = ring_slots
        self.selector_name: str = ""
        self.selector: Selector
        self.slots: int
        self.first_slot: int
        """What the selector's ``slot_of`` goes by, for where it is asked for every message."""
        self.load: SlotLoad | None = None
        """What was sent to which slots lately, where the selector wants to know that."""
        self.rebalancer: Rebalancer | None = None
        self.follows_selector: bool = True
        """Whether another selector is used at once; else when everybody has left."""
        self.ordered: bool = not subscription.out_of_order
        super().__init__(subscription)
        self._use(wanted_selector(subscription), self.new_selector(wanted_selector(subscription)))

    def new_selector(self, name: str) -> tuple[Selector, int, int]:
        """A selector with all consumers on it, in the order in which they came, its slots, and the first of them."""
        broker = self.subscription.topic.broker
        found = make_selector(name, broker.options.ring_points, self.ring_slots, broker.now_ms)
        for consumer in self.subscription.consumers:
            found[0].add(consumer)
        return found

    def _use(self, name: str, made: tuple[Selector, int, int]) -> None:
        self.selector_name = name
        self.selector, self.slots, self.first_slot = made
        selector = self.selector
        self.load = selector.load if isinstance(selector, RateAware) else None
        self.rebalancer = Rebalancer(self, selector) if isinstance(selector, RateAware) else None

    def follow_policies(self, policies: TopicPolicies) -> None:
        super().follow_policies(policies)
        if self.selector_name and self.follows_selector:
            self.follow_selector()

    def follow_selector(self) -> None:
        """Use the selector that the subscription should have now."""
        sub = self.subscription
        name = wanted_selector(sub)
        if name == self.selector_name:
            return
        made = self.new_selector(name)
        self.leave_selector(made[0])
        sub.history.note(Event(sub.topic.broker.now_ms, SELECTOR, why=f"{name} instead of {self.selector_name}"))
        self._use(name, made)
        self.ranges_moved()

    def leave_selector(self, following: Selector) -> None:
        """The other selector takes over in a moment."""

    def ranges_moved(self) -> None:
        """Slots have other owners now, although nobody has come or gone."""

    def seat(self, consumer: Consumer) -> None:
        """Give a new consumer its share."""
        self._tick_load()
        self.selector.add(consumer)

    def unseat(self, consumer: Consumer) -> None:
        """Give the share of a consumer that leaves to others."""
        self._tick_load()
        self.selector.remove(consumer)

    def _tick_load(self) -> None:
        if self.load is not None:
            self.load.tick(self.subscription.topic.broker.now_ms)

    def observe(self, load: SlotLoad, key_hash: int, count: int) -> None:
        """Messages of the key were sent."""
        now_ms = self.subscription.topic.broker.now_ms
        if now_ms != load.now_ms:
            load.tick(now_ms)
            if self.rebalancer is not None:
                self.rebalancer.watch()
        load.note(key_hash, count)

    def share(self, consumer: Consumer) -> int:
        return self.selector.share(consumer)

    def give(self, consumer: Consumer, offset: int, key_hash: int, entry: bytes, count: int) -> int:
        """Send an entry and charge it; how many messages that were."""
        sub = self.subscription
        topic = sub.topic
        ledger, number = topic.ledgers.position(offset)
        redeliveries = self.redelivered.get(offset, 0) if self.redelivered else 0
        count = consumer.send(
            ledger, number, entry, count & COUNT, sub.acks.part(offset), redeliveries, topic.name.partition
        )
        self.charge(consumer, offset, key_hash, count)
        if self.load is not None:
            self.observe(self.load, key_hash, count)
        return count

    def any_ready(self) -> bool:
        """Whether some consumer could be sent something."""
        return any(consumer.ready() for consumer in self.subscription.consumers)

    def look_ahead(self) -> int:
        """How many entries may wait before reading on stops; without such a limit those on unacknowledged messages."""
        options = self.subscription.topic.broker.options
        consumers = len(self.subscription.consumers)
        limit = options.look_ahead_per_subscription
        if options.look_ahead_per_consumer > 0:
            by_consumer = options.look_ahead_per_consumer * consumers
            limit = min(limit, by_consumer) if limit > 0 else by_consumer
        if limit <= 0:
            limit = min(self.limit or NO_LIMIT, consumers * self.consumer_limit or NO_LIMIT)
        return limit
