"""Consumers by name on a rate-aware selector, and loads put into parts of its slots."""

from __future__ import annotations

from magnetar.core.consumer import Consumer
from magnetar.core.selector.load import SlotLoad
from magnetar.core.selector.rateaware import RateAware
from tests.support.corebroker import CoreBroker

__all__ = ["LAST", "Crowd"]

LAST = 65_535


class Crowd:
    """crowd = Crowd(); crowd.join("c1"); crowd.send(0, 32_767, 100); crowd.ranges()"""

    def __init__(self) -> None:
        self.broker = CoreBroker()
        self.client = self.broker.client()
        self.client.consumer("t")
        self.load = SlotLoad(0)
        self.selector = RateAware(self.load)

    def join(self, *names: str) -> None:
        for name in names:
            self.selector.add(Consumer(self.client.session, 1, name, self.broker.sub()))

    def leave(self, *names: str) -> None:
        for name in names:
            self.selector.remove(self.named(name))

    def named(self, name: str) -> Consumer:
        return next(owner for owner in self.selector.owners if owner.name == name)

    def send(self, first: int, last: int, messages: int) -> None:
        """So many messages, spread evenly over these slots. A hash below 65,536 is its own slot."""
        for number in range(messages):
            self.load.note(first + number * (last - first + 1) // messages, 1)

    def pass_ms(self, milliseconds: int) -> None:
        self.load.tick(self.load.now_ms + milliseconds)

    def ranges(self) -> dict[str, tuple[int, int]]:
        return {owner.name: (first, last) for first, last, owner in self.selector.ranges()}

    def rates(self) -> dict[str, float]:
        return {owner.name: rate for owner, rate in self.selector.rates().items()}
