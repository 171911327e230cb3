"""Moving bounds of the rate-aware selector while consumers stay connected, within a budget of slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.history import RANGES, Event
from magnetar.core.selector.load import Profile
from magnetar.core.selector.rateaware import RateAware
from magnetar.core.selector.rebalance import part_of_the_way, plan
from magnetar.core.timers import Timer

if TYPE_CHECKING:
    from magnetar.core.dispatch.keyed import KeyedDispatcher

__all__ = ["REBALANCE_EVERY_MS", "REBALANCE_MESSAGES", "Rebalancer"]

REBALANCE_EVERY_MS: Final = 5_000
REBALANCE_MESSAGES: Final = 1_000
"""So many recent messages for each consumer have to be known, or chance alone would make rates differ."""
_CONSUMERS_MAX: Final = 1_000
_GAIN: Final = 0.95
_MINUTE_MS: Final = 60_000


class Rebalancer:
    """Moves bounds of the rate-aware selector while consumers stay, when the settings allow slots to move.

    It looks every few seconds while messages are sent. It begins when the busiest consumer is above the mean by more
    than the threshold and bounds exist that are clearly better, and then aims at half of the threshold, so that it does
    not begin again at once. What it may move in a minute it may move at once, and then earns anew.
    """

    def __init__(self, dispatcher: KeyedDispatcher, selector: RateAware) -> None:
        self.dispatcher: KeyedDispatcher = dispatcher
        self.selector: RateAware = selector
        self.timer: Timer | None = None
        self.allowed: float = -1.0
        """Slots that may be moved now; below 0 nothing was moved yet."""
        self.earned_ms: int = 0

    def watch(self) -> None:
        """Something was sent: look at the rates in a while."""
        broker = self.dispatcher.subscription.topic.broker
        if self.timer is None and broker.options.rebalance_slots > 0:
            self.timer = broker.timers.at(broker.now_ms + REBALANCE_EVERY_MS, self._look)

    def _look(self) -> None:
        self.timer = None
        sub = self.dispatcher.subscription
        broker, options = sub.topic.broker, sub.topic.broker.options
        budget = options.rebalance_slots
        consumers = len(sub.consumers)
        if budget <= 0 or sub.deleted or self.dispatcher.selector is not self.selector:
            return
        if not 2 <= consumers <= _CONSUMERS_MAX:
            return
        earned = (broker.now_ms - self.earned_ms) * budget / _MINUTE_MS
        self.allowed = min(self.allowed + earned, budget) if self.allowed >= 0 else float(budget)
        self.earned_ms = broker.now_ms
        if self._move(options.rebalance_percent / 100, int(self.allowed)):
            self.dispatcher.ranges_moved()

    def _move(self, threshold: float, slots: int) -> bool:
        """Whether some bounds are others now."""
        selector = self.selector
        selector.load.tick(self.dispatcher.subscription.topic.broker.now_ms)
        profile = selector.load.profile()
        parts, before = len(selector.bounds), selector.bounds
        mean = profile.total / parts
        if mean < REBALANCE_MESSAGES:
            return False
        most = _most(profile, before)
        if most <= mean * (1 + threshold):
            return False
        wanted = plan(profile, before, threshold / 2)
        if _most(profile, wanted) > most * _GAIN:
            return False  # it is one key that makes the rate, and a key cannot be divided
        wanted = part_of_the_way(before, wanted, slots)
        moved = sum(abs(new - old) for new, old in zip(wanted, before, strict=True))
        if not moved:
            return False
        self.allowed -= moved
        after = _most(profile, wanted)
        why = f"the busiest had {most / mean:.2f} times the mean rate, and has {after / mean:.2f} times after it"
        selector.move(wanted, why)
        sub = self.dispatcher.subscription
        sub.history.note(Event(selector.load.now_ms, RANGES, slots=moved, why=why))
        return True


def _most(profile: Profile, bounds: list[int]) -> float:
    """The load of the busiest under these bounds."""
    below = 0.0
    most = 0.0
    for last in bounds:
        upto = profile.below(last + 1)
        most = max(most, upto - below)
        below = upto
    return most
