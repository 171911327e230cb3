"""Delayed delivery in the dispatchers of the Shared family: an entry that names a later time is kept until then.

An entry that is read before its time goes into a ``Delayed`` and reading goes on; it stays unacknowledged in the log,
so nothing of this has to be durable: after a restart it is read and kept again. When its time has come it goes the way
of entries for redelivery, without counting as redelivered. It is never delivered before its time. It may be late by as
much as a tick, because the times of a tick are served together.

What is kept stays kept when the last consumer leaves, so that nobody has to read it all again: reading then does not
begin anew at the first unacknowledged entry, and everything between there and the reading position is either kept here
or waits for redelivery. That also tells how an acknowledgement of an entry that nobody holds is one of a kept entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.dispatch.delayed import Delayed
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.timers import Timer
from magnetar.wire.delivery import peek_deliver_at

if TYPE_CHECKING:
    from magnetar.core.policies.effective import TopicPolicies
    from magnetar.core.subscription import Subscription

__all__ = ["DUE_ENTRIES_MAX", "DelayingDispatcher"]

DUE_ENTRIES_MAX: Final = 2_000
"""So many entries are kept, moved or handed on in one turn; the rest follows in the next."""


class DelayingDispatcher(PendingDispatcher):
    """Subclasses read, ask ``put_off`` about entries that are marked as delayed, and take from ``delayed`` what is due.

    ``delayed`` is None as long as nothing is delayed, and that is all that delayed delivery costs then.
    """

    def __init__(self, subscription: Subscription) -> None:
        self.delayed: Delayed | None = None
        self.delays: bool = True
        self.tick_ms: int = 1_000
        self.tick_timer: Timer | None = None
        self.ticked_ms: int = 0
        self.put_off_left: int = DUE_ENTRIES_MAX
        """How many more entries may be put off in this turn."""
        self.acked_early: int = -1
        super().__init__(subscription)

    def follow_policies(self, policies: TopicPolicies) -> None:
        super().follow_policies(policies)
        self.delays = policies.delayed_delivery
        self.tick_ms = policies.delay_tick_ms
        if self.delayed is not None and not self.delays:
            self.delayed.release()
            self.subscription.topic.broker.wake(self.subscription)

    def delayed_count(self) -> int:
        return len(self.delayed) if self.delayed is not None else 0

    def delayed_until(self) -> int:
        return self.delayed.first_ms() if self.delayed is not None else -1

    def put_off(self, offset: int, entry: bytes, key_hash: int) -> bool:
        """Keep a newly read entry if its time has not come; whether it was kept."""
        time_ms = peek_deliver_at(entry)
        now_ms = self.subscription.topic.broker.now_ms
        if time_ms <= now_ms or not self.delays:
            return False
        if self.delayed is None:
            self.delayed = Delayed(now_ms)
            self.put_off_left = DUE_ENTRIES_MAX
        self.delayed.add(offset, time_ms, key_hash)
        self.put_off_left -= 1
        return True

    def run_delays(self) -> None:
        """The beginning of a turn: look whose time has come, but not more often than once a tick."""
        self.put_off_left = DUE_ENTRIES_MAX
        delayed, now_ms = self.delayed, self.subscription.topic.broker.now_ms
        if delayed is None:
            return
        if not delayed.entries:
            self.forget_delayed()
        elif now_ms >= self.ticked_ms + self.tick_ms or delayed.spreading or now_ms < self.ticked_ms:
            before = len(delayed.due)
            whole = delayed.advance(now_ms, DUE_ENTRIES_MAX)
            if whole and len(delayed.due) > before:
                self.ticked_ms = now_ms

    def watch_delays(self) -> None:
        """The end of a turn: come back when there is something to do."""
        delayed, broker = self.delayed, self.subscription.topic.broker
        due_ms = -1
        if self.put_off_left <= 0 or (delayed is not None and delayed.spreading):
            due_ms = broker.now_ms
        elif delayed is not None and not delayed.due:
            due_ms = delayed.next_ms()
            if due_ms >= 0:
                due_ms = max(due_ms, self.ticked_ms + self.tick_ms)
        if due_ms < 0 or (self.tick_timer is not None and self.tick_timer.due_ms <= due_ms):
            return
        if self.tick_timer is not None:
            self.tick_timer.cancel()
        self.tick_timer = broker.timers.at(due_ms, self._tick)

    def _tick(self) -> None:
        self.tick_timer = None
        if not self.subscription.deleted:
            self.subscription.topic.broker.wake(self.subscription)

    def forget_delayed(self) -> None:
        """Keep nothing any more; whoever forgets more than is acknowledged must read again."""
        self.delayed = None
        self.acked_early = -1
        if self.tick_timer is not None:
            self.tick_timer.cancel()
            self.tick_timer = None

    def acked_unheld(self, offset: int) -> None:
        """An entry that nobody holds and that does not wait for redelivery was acknowledged; it may be a kept one.

        It is, if the acknowledgement is news: it then stands last among the cursor's. The same one twice in a row looks
        like news twice, therefore the last is remembered.
        """
        news = self.subscription.new_offsets
        if self.delayed is not None and self.was_read(offset) and news and news[-1] == offset != self.acked_early:
            self.acked_early = offset
            self.delayed.acked(self.subscription.acks)

    def was_read(self, offset: int) -> bool:
        """Whether reading has come past the entry, so that it is sent, waits or is kept."""
        return offset < self.read_next

    def settle_below(self, floor: int) -> None:
        self.settle_delayed_below(floor)
        super().settle_below(floor)

    def settle_delayed_below(self, floor: int) -> None:
        """Everything below ``floor`` is acknowledged, also what is kept."""
        if self.delayed is not None:
            self.delayed.sweep(self.subscription.acks)
            if not self.delayed.entries:
                self.forget_delayed()

    def reset(self) -> None:
        super().reset()
        self.forget_delayed()
