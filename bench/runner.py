"""Start loads in processes of their own, let them go together, and read what they report."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

PREPARE_TIMEOUT_S = 60.0
GRACE_S = 15.0

Reply = dict[str, Any]


class LoadProcess:
    """One ``python -m bench.load`` that prepares, waits for `go`, and reports once."""

    def __init__(self, operation: str, address: str, options: Sequence[object], timeout_s: float) -> None:
        self.operation = operation
        self._timeout_s = timeout_s
        command = [sys.executable, "-m", "bench.load", operation, address, "--gate", *map(str, options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._early: Reply | None = None

    def wait_ready(self) -> bool:
        """Wait until all is prepared; False where the load ended before that."""
        reply = self._line(PREPARE_TIMEOUT_S + self._timeout_s)
        if reply is None or not reply.get("ready"):
            self._early = reply or self._silent("it was not ready in time")
            return False
        return True

    def go(self) -> None:
        """Let the load start."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._early = self._silent("it ended before its start")

    def result(self) -> Reply:
        """Wait for the report, and end the process if there is none in time."""
        if self._early is None:
            limit_s = self._timeout_s + GRACE_S
            self._early = self._line(limit_s) or self._silent(f"no report in {limit_s:g} s")
        reply = self._early
        self.close()
        return reply

    def close(self) -> None:
        """End the process, whatever it does."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _silent(self, why: str) -> Reply:
        return {"op": self.operation, "messages": 0, "errors": [f"the load failed: {why}"]}

    def _line(self, timeout_s: float) -> Reply | None:
        if self._process.stdout is None or self._process.stdout.closed:
            return None
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        text = self._process.stdout.readline() if ready else ""
        if not text:
            return None
        reply: Reply = json.loads(text)
        return reply


def together(loads: Sequence[LoadProcess], at_start: Callable[[], None] | None = None) -> Reply:
    """Start loads at the same moment; the time of all runs from the first start to the last end.

    `at_start` is called when all are prepared and none has begun.
    """
    try:
        ready = [load.wait_ready() for load in loads]
        if at_start is not None:
            at_start()
        for load in loads:
            if all(ready):
                load.go()
            else:
                load.close()
        replies = [load.result() for load in loads]
    finally:
        for load in loads:
            load.close()
    alone = len(replies) == 1
    errors = [error if alone else f"{reply['op']}: {error}" for reply in replies for error in reply["errors"]]
    messages = min(reply["messages"] for reply in replies)
    started = min(reply.get("started", 0.0) for reply in replies)
    seconds = max(reply.get("finished", 0.0) for reply in replies) - started
    return {
        "op": replies[0]["op"] if alone else "both",
        "messages": messages,
        "seconds": seconds,
        "rate": messages / seconds if seconds > 0 else 0.0,
        "cpu_s": sum(reply.get("cpu_s", 0.0) for reply in replies),
        "parts": {reply["op"]: reply for reply in replies},
        "notes": [note for reply in replies for note in reply.get("notes", [])],
        "errors": errors,
    }
