"""The time that the core is told: thousandths and millionths of a second since 1970, that never go back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

__all__ = ["Clock", "poll"]


class Clock:
    """Wall time at the start plus monotonic time since: a jump of the system's clock moves no timer."""

    def __init__(self) -> None:
        self._offset: float = time.time() - time.monotonic()

    def now_ms(self) -> int:
        return int((self._offset + time.monotonic()) * 1000)

    def now_us(self) -> int:
        return int((self._offset + time.monotonic()) * 1_000_000)


async def poll(times: int, done: Callable[[], bool]) -> None:
    """Wait until it is done, but not for ever."""
    for _ in range(times):
        if done():
            return
        await asyncio.sleep(0.005)
