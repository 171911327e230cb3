"""The command in processes of its own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src"
SECONDS = 60
LINE = re.compile(r"Magnetar listens on (pulsar://127\.0\.0\.1:(\d+)) and (http://127\.0\.0\.1:(\d+)), data in (.+)\n")


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours without settings, with the source on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PULSAR_PREFIX_")}
    return kept | {"PYTHONPATH": str(SOURCE)} | dict(more or {})


def run(
    *words: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end."""
    command = [sys.executable, "-m", "magnetar", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment(env), timeout=SECONDS, check=False)


def start(*words: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the command; nobody waits for anything yet."""
    command = [sys.executable, "-m", "magnetar", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(env))


class Running:
    """A broker that listens."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.process = process
        self.line = process.stdout.readline().decode()
        found = LINE.fullmatch(self.line)
        assert found is not None, (self.line, process.communicate())
        self.url, self.port, self.admin_url, self.http_port, self.data = found.groups()

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal and wait: exit code, and what came on stdout after the line and on stderr."""
        self.process.send_signal(number)
        stdout, stderr = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, stdout.decode(), stderr.decode()


@contextlib.contextmanager
def broker(*words: str | Path, env: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A broker on free ports for the length of a block, unless the words say otherwise."""
    process = start("standalone", "--port", "0", "--http-port", "0", *words, env=env)
    try:
        yield Running(process)
    finally:
        process.kill()
        process.communicate()
