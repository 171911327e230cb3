"""A process that writes a log on the real disk is killed; what it said was committed must be there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import magnetar
from magnetar.log.files import FileLog
from magnetar.testing.log_conformance import LogHarness, Session

_SOURCE = str(Path(magnetar.__file__).parents[1])
_WRITER = """
import sys, threading
from magnetar.log.files import FileLog
from magnetar.ports.log import Append, Committed, Put

log = FileLog(sys.argv[1], segment_bytes=20_000)
recovered = log.recover()
woken = threading.Event()
log.start(woken.set)
held = recovered.streams.get(1)
offset = held.end if held else 0
base = offset
while True:
    number = log.submit([Append(1, offset, [b"%d" % offset * 50]), Put(1, b"n", b"%d" % offset)])
    offset += 1
    if number % 8 == 0:
        woken.wait()
        woken.clear()
    for event in log.poll():
        print(base + event.number, flush=True)
"""


class _Directory(LogHarness):
    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> FileLog:
        return FileLog(self.path, segment_bytes=20_000)

    def cut_power(self, store: object) -> None:
        raise NotImplementedError

    def fail_next(self, times: int) -> None:
        raise NotImplementedError

    def damage(self, stream: int, offset: int) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("rounds", [3])
def test_what_a_killed_process_called_committed_is_there(tmp_path: Path, rounds: int) -> None:
    committed = 0
    for kill_after in range(20, 20 + 40 * rounds, 40):
        command = [sys.executable, "-c", _WRITER, str(tmp_path)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": _SOURCE}
        )
        assert process.stdout is not None
        for _ in range(kill_after):
            committed = int(process.stdout.readline())
        process.kill()
        rest = [line for line in process.stdout.read().split("\n")[:-1] if line]
        process.wait()
        process.stdout.close()
        committed = int(rest[-1]) if rest else committed
        session = Session(_Directory(tmp_path))
        held = session.recovered.streams[1]
        assert held.end >= committed
        assert held.state[b"n"].value == b"%d" % (held.end - 1)
        entries: list[bytes | None] = []
        while len(entries) < held.end:
            entries.extend(session.read(1, len(entries)))
        assert entries == [b"%d" % n * 50 for n in range(held.end)]
        session.close()
