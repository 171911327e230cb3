"""Who wants to hear of which changes: the part of ``watch`` that all adapters share. For the loop's thread only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from magnetar.ports.metadata import Change

__all__ = ["Watches"]


class _Watch:
    __slots__ = ("active", "callback", "prefix")

    def __init__(self, prefix: str, callback: Callable[[Change], None]) -> None:
        self.prefix = prefix
        self.callback = callback
        self.active = True

    def hear(self, change: Change) -> None:
        if self.active:
            self.callback(change)


class Watches:
    """A list of callbacks by prefix.

    Each call goes through the loop's own queue: a callback that fails is reported there and hurts neither the writer
    nor the other callbacks, and a callback may write or watch again without finding the store in the middle of work.
    """

    def __init__(self) -> None:
        self._watches: list[_Watch] = []

    def __len__(self) -> int:
        return len(self._watches)

    def add(self, prefix: str, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Register ``callback``; once the returned function has been called, it is never called again."""
        watch = _Watch(prefix, callback)
        self._watches.append(watch)

        def cancel() -> None:
            if watch.active:
                watch.active = False
                self._watches.remove(watch)

        return cancel

    def tell(self, loop: asyncio.AbstractEventLoop, changes: Iterable[Change]) -> bool:
        """Queue the calls for ``changes``; whether there were any."""
        told = False
        for change in changes:
            for watch in self._watches:
                if change.path.startswith(watch.prefix):
                    loop.call_soon(watch.hear, change)
                    told = True
        return told
