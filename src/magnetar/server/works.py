"""Work of the core that takes too long for the loop: it runs in a thread and comes back as an input."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from magnetar.core.compaction.scan import Work

if TYPE_CHECKING:
    from magnetar.server.pump import Pump

__all__ = ["start_works"]

_log = logging.getLogger(__name__)


def start_works(pump: Pump) -> None:
    """Start what the core has collected."""
    works, pump.core.works = pump.core.works, []
    for work in works:
        task = pump.loop.create_task(_run(pump, work))
        pump.tasks.add(task)
        task.add_done_callback(pump.tasks.discard)


async def _run(pump: Pump, work: Work) -> None:
    """Whatever goes wrong is reported to the core: nobody else would hear of it."""
    error: Exception | None = None
    try:
        await asyncio.to_thread(work.run)
    except Exception as failed:  # noqa: BLE001  (said in the docstring)
        _log.exception("work outside of the loop failed")
        error = failed
    pump.now()
    work.done(error)
    pump.schedule()
