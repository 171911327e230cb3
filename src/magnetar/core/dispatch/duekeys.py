"""Key_Shared: delayed entries whose time has come join the wait of their keys, within the look-ahead limit.

When the limit is reached by entries that nobody takes, consumers that could be served must not starve behind them. So
those that are due are then looked through: an entry whose owner has permits, and whose key nothing holds, joins the
wait beyond the limit, as long as its owner has permits for it; the others stay where they are, in order. That is done
at most every ``AGAIN_MS`` and looks no further than ``AHEAD_MAX`` entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.dispatch.delaying import DUE_ENTRIES_MAX

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.dispatch.keyshared import KeyShared

__all__ = ["AGAIN_MS", "AHEAD_MAX", "DueKeys"]

AHEAD_MAX: Final = 4_000
AGAIN_MS: Final = 50


class DueKeys:
    """See the module's text; one for each dispatcher that has ever had something delayed."""

    def __init__(self, dispatcher: KeyShared) -> None:
        self.dispatcher: KeyShared = dispatcher
        self.last_ms: int = 0
        self.waits: bool = False

    def run(self) -> None:
        """Let what is due join the wait."""
        dispatcher = self.dispatcher
        dispatcher.run_delays()
        delayed, waiting = dispatcher.delayed, dispatcher.waiting_keys
        if delayed is None or not delayed.due or not dispatcher.any_ready():
            return
        room = min(dispatcher.look_ahead() - waiting.count, DUE_ENTRIES_MAX)
        if room > 0:
            for offset, key_hash in delayed.take(room, dispatcher.subscription.acks):
                dispatcher.wait(offset, key_hash)
            if delayed.due:
                dispatcher.put_off_left = 0  # there is more for the next turn, when these may have been sent
        else:
            self._look_through()

    def _look_through(self) -> None:
        dispatcher = self.dispatcher
        broker, delayed = dispatcher.subscription.topic.broker, dispatcher.delayed
        assert delayed is not None
        if broker.now_ms < self.last_ms + AGAIN_MS:
            if not self.waits:
                self.waits = True
                broker.timers.at(self.last_ms + AGAIN_MS, self._wake)
            return
        self.last_ms = broker.now_ms
        room: dict[Consumer, int] = {}
        kept: list[tuple[int, int]] = []
        passed: dict[int, bool] = {}
        for offset, key_hash in delayed.take(AHEAD_MAX, dispatcher.subscription.acks):
            slot = dispatcher.selector.slot_of(key_hash)
            target = dispatcher.owner(slot)
            left = room.get(target, target.permits) if target is not None and target.ready() else 0
            held = dispatcher.drains.blocks(key_hash, slot) or key_hash in dispatcher.nacked
            if slot in passed or target is None or left <= 0 or held:
                passed[slot] = True
                kept.append((offset, key_hash))
            else:
                room[target] = left - 1
                dispatcher.wait(offset, key_hash)
        delayed.give_back(kept)

    def _wake(self) -> None:
        self.waits = False
        self.dispatcher.subscription.topic.broker.wake(self.dispatcher.subscription)
