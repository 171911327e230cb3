"""How a load in its own process and the bench speak: one JSON line each way, and a clock for what lies between."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping

Report = Mapping[str, object]


def write_line(report: Report) -> None:
    """Write one JSON line to standard output at once."""
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def wait_for_go(gated: bool) -> None:
    """Say that all is prepared and wait for a line on standard input, where the load was started with ``--gate``."""
    if gated:
        write_line({"ready": True})
        sys.stdin.readline()


class Stopwatch:
    """Wall time (comparable between processes of one machine) and this process's own CPU time."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self._cpu = time.process_time()
        self.finished = self.started
        self.cpu_s = 0.0

    def stop(self) -> None:
        """Keep the time that has passed."""
        self.finished = time.monotonic()
        self.cpu_s = time.process_time() - self._cpu

    @property
    def seconds(self) -> float:
        """Return the wall time between start and stop."""
        return self.finished - self.started
