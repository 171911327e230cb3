"""Start and stop the brokers under test as child processes, and read what they cost from ``/proc``."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.session import BrokerError, Session

OURS = (
    f"{shlex.quote(sys.executable)} -m magnetar standalone"
    " --data {data} --host 127.0.0.1 --port {port} --http-port {http}"
)
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0
CONNECT_PAUSE_S = 0.002

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Broker:
    """A contender: a command with ``{data}``, ``{port}`` and ``{http}`` in it, or only an address."""

    name: str
    command: str = ""
    address: str = ""
    folder: Path = field(default_factory=Path)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start the broker, wait for its first answer to CONNECT, and return the seconds that took."""
        if not self.command:
            Session(self.address, START_TIMEOUT_S).close()
            return 0.0
        data = self.folder / self.name / "data"
        data.mkdir(parents=True, exist_ok=True)
        port, http = free_port(), free_port()
        self.address, self.http = f"127.0.0.1:{port}", f"127.0.0.1:{http}"
        command = [part.format(data=data, port=port, http=http) for part in shlex.split(self.command)]
        started = time.monotonic()
        with (data.parent / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=data.parent,
                env=_environment(),
            )
        while time.monotonic() - started < START_TIMEOUT_S:
            if self.process.poll() is not None:
                raise BrokerError(f"{self.name} ended with code {self.process.returncode}: {self.last_words()}")
            try:
                Session(self.address, START_TIMEOUT_S).close()
                return time.monotonic() - started
            except BrokerError:
                time.sleep(CONNECT_PAUSE_S)
        self.stop()
        raise BrokerError(f"{self.name} did not answer CONNECT in {START_TIMEOUT_S:g} s: {self.last_words()}")

    def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """Ask the broker to stop, and kill it where it does not."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal_number)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def wipe(self) -> None:
        """Forget the data of a broker of ours to start; an address is left alone."""
        if self.command:
            shutil.rmtree(self.folder / self.name, ignore_errors=True)

    def last_words(self) -> str:
        """Return the last line the broker has written."""
        log = self.folder / self.name / "log"
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return lines[-1][:200] if lines else "it wrote nothing"

    def cpu_s(self) -> float | None:
        """Return the CPU seconds of the process with all its threads, ended ones included."""
        return read_cpu_s(self.process.pid) if self.process is not None else None

    def memory_mb(self) -> Memory | None:
        """Return the resident memory of the process."""
        return read_memory(self.process.pid) if self.process is not None else None


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory in megabytes: now, at its highest, and its proportional share of what is mapped."""

    resident: float
    highest: float
    proportional: float


def read_cpu_s(pid: int) -> float:
    """Read user and system time of a process; the name in the second field may hold anything."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


def read_memory(pid: int) -> Memory:
    """Read the memory of a process from its status and its summed mappings."""
    status = kilobyte_lines(Path(f"/proc/{pid}/status").read_text())
    rollup: dict[str, int] = {}
    with contextlib.suppress(OSError):
        rollup = kilobyte_lines(Path(f"/proc/{pid}/smaps_rollup").read_text())
    megabyte = 1024
    return Memory(status["VmRSS"] / megabyte, status["VmHWM"] / megabyte, rollup.get("Pss", 0) / megabyte)


def kilobyte_lines(text: str) -> dict[str, int]:
    """Return the lines of the form ``name: number kB``."""
    out: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB":
            out[name] = int(words[0])
    return out


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def rival_command() -> str:
    """Return the command of the rival, empty where it is not installed."""
    spec = importlib.util.find_spec("pulsar_lite")
    if spec is None or spec.origin is None:
        return ""
    binary = Path(spec.origin).parent / "bin" / "pulsar-lite"
    if not binary.exists():
        return ""
    return f"{shlex.quote(str(binary))} --addr 127.0.0.1:{{port}} --db-path {{data}}/db --log-level error"


def _environment() -> dict[str, str]:
    """Let a broker that is started from a checkout find its package as this process does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
