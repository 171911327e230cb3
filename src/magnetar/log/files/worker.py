"""A thread that does one job after the other and can be told to stop waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ["Worker"]


class Worker:
    """Jobs are called in order, in a thread of their own. ``stopping`` is set once ``close`` has been called."""

    def __init__(self, name: str) -> None:
        self.stopping = threading.Event()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put(self, job: Callable[[], None]) -> None:
        """Do ``job`` after those before it. It must report its own ``OSError``."""
        self._queue.put(job)

    def close(self) -> None:
        """Do what was put and end the thread."""
        self.stopping.set()
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            job()
