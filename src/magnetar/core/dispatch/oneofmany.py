"""Who of the connected consumers is the one that is served: the choice, and a hand-over that lets the old one finish.

The choice is the selector's (``magnetar.core.failover``, ``magnetar.core.balance``), looked at again whenever a
consumer comes or goes and when a policy changes the selector. What follows from it is here as far as the present one
may finish first (``relief``); ``single`` has the switch itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.dispatch.relief import Relief, held_below
from magnetar.core.failover import BALANCED, choose
from magnetar.core.history import FINISHING, POLICY, note
from magnetar.core.timers import Timer

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.policies.effective import TopicPolicies
    from magnetar.core.subscription import Subscription

__all__ = ["OneOfMany"]


class OneOfMany(Dispatcher):
    """See the module's text."""

    def __init__(self, subscription: Subscription, kind: str) -> None:
        super().__init__(subscription)
        self.kind = kind
        self.current: Consumer | None = None
        self.handover: Timer | None = None
        self.relief: Relief | None = None
        self.attentive: bool = False
        """Whether acknowledgements have to be looked at: something was given back, or somebody is to finish."""
        self.selector: str = subscription.topic.policies.failover_selector
        self.since_ms: int = 0

    def active(self) -> Consumer | None:
        return self.current

    def heir(self) -> Consumer | None:
        """Who is to be active, now or after the hand-over that is under way."""
        return self.relief.successor if self.relief is not None else self.current

    def follow_policies(self, policies: TopicPolicies) -> None:
        """Another selector holds at once, with one switch at most."""
        before = self.selector
        self.selector = policies.failover_selector
        if self.selector == before or not self.subscription.consumers:
            return
        if before == BALANCED:
            self.subscription.topic.broker.balance.drop(self)
        self._choose(POLICY)

    def pick(self, consumers: list[Consumer], heir: Consumer | None) -> Consumer:
        """Who of them the selector wants to be active; without consequences."""
        topic = self.subscription.topic
        if self.selector == BALANCED:
            return topic.broker.balance.pick(self, consumers, heir)
        return choose(self.selector, consumers, str(topic.name), topic.name.partition, heir)

    def _choose(self, why: str) -> bool:
        """Look who should be active; whether it is another now."""
        sub = self.subscription
        chosen = self.pick(sub.consumers, self.heir())
        if self.selector == BALANCED and self.kind == "Failover":
            sub.topic.broker.balance.chose(self, chosen, why == POLICY)
        return self.take(chosen, why)

    def take(self, chosen: Consumer, why: str) -> bool:
        """``chosen`` is to be active, at once or after the present one has finished; whether it is at once."""
        before, relief = self.current, self.relief
        drain_ms = self.subscription.topic.policies.failover_drain_ms
        if chosen is before:
            if relief is not None:
                self._stay(relief)
            return False
        if before is None or self.kind != "Failover" or (drain_ms <= 0 and relief is None):
            self._activate(before, chosen, why)
            return True
        if relief is None:
            self._finish_first(chosen, why, drain_ms)
        elif relief.successor is not chosen:
            relief.successor = chosen
            relief.why = why
            note(self.subscription, FINISHING, chosen, 0, 0, why, self.selector)
        return self._relieve(False)

    def _activate(self, before: Consumer | None, chosen: Consumer, why: str) -> None:
        """The consumer takes the place of the one before."""
        raise NotImplementedError

    def _rewind(self) -> None:
        """Read again from the first entry that is not acknowledged."""
        raise NotImplementedError

    def _finish_first(self, chosen: Consumer, why: str, drain_ms: int) -> None:
        """The active one gets nothing more, and is relieved when it has finished."""
        sub = self.subscription
        broker = sub.topic.broker
        unserved = self.handover is not None
        self._cancel()
        self.relief = Relief(chosen, why, broker.now_ms, sub.acks.floor, unserved)
        self.attentive = True
        self.handover = broker.timers.at(broker.now_ms + drain_ms, self._overdue)
        note(sub, FINISHING, chosen, 0, self.unfinished(), why, self.selector)

    def _overdue(self) -> None:
        self._relieve(True)

    def _relieve(self, now: bool) -> bool:
        """Hand over if the active one has finished, or ``now``; whether that was done."""
        relief = self.relief
        if relief is None or not (now or relief.finished(self.subscription.acks, self.read_next)):
            return False
        self._activate(self.current, relief.successor, relief.why)
        return True

    def _stay(self, relief: Relief) -> None:
        """Nobody takes over after all: the active one goes on where it stopped, with what it gave back meanwhile."""
        self._cancel()
        if relief.returned or relief.unserved:
            self._rewind()
        else:
            self.subscription.topic.broker.wake(self.subscription)

    def _cancel(self) -> None:
        if self.handover is not None:
            self.handover.cancel()
            self.handover = None
        self.relief = None

    def unfinished(self) -> int:
        """How many entries whoever takes over now gets that another was sent and has not given back."""
        relief = self.relief
        if relief is not None and relief.emptied:
            return 0
        returned = relief.returned if relief is not None else {}
        return held_below(self.subscription.acks, self.counts_from(), self.read_next, returned)

    def counts_from(self) -> int:
        """Where it begins that every entry that is there was sent."""
        return 0
