"""A subscription of a non-persistent topic: consumers and who gets what, but no cursor and nothing to acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.nonpersistent.dispatch import Giver, Keyed, OneActive, Rotating
from magnetar.core.subscription import Subscription

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.topic import Topic
    from magnetar.wire.hot import Ack

__all__ = ["NonPersistentSubscription"]


class NonPersistentSubscription(Subscription):
    """Its set of acknowledgements is empty and stays so, as the topic's tail does: the backlog is nothing."""

    def __init__(self, topic: Topic, name: str, kept: bool) -> None:
        super().__init__(topic, name, False, 0)
        self.kept: bool = kept
        """Whether it stays as a name without consumers; a reader's does not."""
        self.giver: Giver | None = None
        self.dropped: int = 0

    def use_kind(self, kind: str, sticky: bool, out_of_order: bool) -> None:
        self.kind = kind
        self.sticky = sticky
        self.out_of_order = out_of_order
        if kind == "Shared":
            self.dispatcher = self.giver = Rotating(self)
        elif kind == "Key_Shared":
            self.dispatcher = self.giver = Keyed(self)
        else:
            self.dispatcher = self.giver = OneActive(self, kind)

    def offer(self, entries: list[bytes], counts: list[int]) -> int:
        """Entries to whoever can take them; how many messages nobody could."""
        giver = self.giver
        if giver is None:
            return 0
        before = giver.dropped
        giver.offer(entries, counts)
        fewer = giver.dropped - before
        self.dropped += fewer
        return fewer

    def ack_plain(self, consumer: Consumer, ledger: int, number: int) -> None:
        """Clients do not acknowledge here; one that does changes nothing."""

    def ack(self, consumer: Consumer, ack: Ack) -> None:
        """As above."""

    def mark(self) -> None:
        """There is no cursor that could have changed."""

    def seek(self, offset: int, left: int) -> None:
        """There is nowhere to go."""
