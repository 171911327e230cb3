"""A broker in a child process, to be stopped, killed and started again while clients look on.

A start is complete when the broker has answered: first it prints where it listens, then a handshake and a request are
made. Nothing is waited for by sleeping. The ports stay the same over restarts, so that clients find their broker again.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import magnetar
from magnetar.errors import MagnetarError
from magnetar.server.settings import Value
from magnetar.testing.embedded import option
from magnetar.wire.commands import encode, pb

__all__ = ["BrokerFailedError", "BrokerProcess"]

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_LISTENS = re.compile(rb"pulsar://\S+:(\d+) and http://\S+:(\d+), data in ")


class BrokerFailedError(MagnetarError):
    """The broker's process did not start, or ended badly; the message has what it said."""


class BrokerProcess:
    """``magnetar standalone`` as a child process, between ``start`` and ``stop`` or for the length of a ``with`` block.

    ``data`` is its data folder; without one it gets a temporary folder, which ``close`` removes.
    ``settings`` have the names of broker.conf; those in the environment of this process are kept from the child.

    >>> with BrokerProcess() as broker:
    ...     broker.kill()       # as a crash
    ...     broker.restart()    # on the same data and the same ports
    """

    def __init__(
        self, *, data: str | os.PathLike[str] | None = None, settings: Mapping[str, Value] | None = None
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="magnetar-")
        self.data = Path(self._temporary.name) / "data" if data is None else Path(data)
        self._said = Path(self._temporary.name) / "stderr"
        self._settings: dict[str, Value] = {"brokerServicePort": 0, "webServicePort": 0, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def service_url(self) -> str:
        """Where clients connect: ``pulsar://127.0.0.1:PORT``."""
        return f"pulsar://127.0.0.1:{self._settings['brokerServicePort']}"

    @property
    def admin_url(self) -> str:
        """Where the REST interface is: ``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._settings['webServicePort']}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        assert self._process is not None, "the broker is not started"
        return self._process.pid

    def said(self) -> str:
        """What the broker has said on stderr since the last start."""
        return self._said.read_text(errors="replace") if self._said.exists() else ""

    def start(self) -> BrokerProcess:
        """Start; when this returns, both ports have answered."""
        assert self._process is None, "the broker is started already"
        command = [sys.executable, "-m", "magnetar", "standalone", "--data", str(self.data)]
        for name, value in self._settings.items():
            command += ["-o", option(name, value)]
        with self._said.open("wb") as stderr:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, env=_environment()
            )
        self._process = process
        try:
            self._wait(process)
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> int:
        """Ask the broker to stop cleanly and wait for it; its exit code, 0 if it was not running."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process as a crash does, with SIGKILL. What was not yet durable is lost."""
        self._end(signal.SIGKILL)

    def restart(self) -> BrokerProcess:
        """Stop the broker, if it still runs, and start it again on the same data and ports."""
        self.stop()
        return self.start()

    def close(self) -> None:
        """Stop the broker and remove its temporary folder."""
        try:
            self.stop()
        finally:
            self._temporary.cleanup()

    def __enter__(self) -> BrokerProcess:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self, number: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        process.send_signal(number)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise BrokerFailedError(f"the broker did not stop within {STOP_SECONDS} s: {self.said()}") from None
        finally:
            self._process = None
            if process.stdout is not None:
                process.stdout.close()
        return code

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None, "it was opened with a pipe"
        line = _line(process.stdout)
        found = _LISTENS.search(line)
        if found is None:
            process.kill()
            code = process.wait()
            raise BrokerFailedError(f"the broker did not start (exit code {code}): {self.said() or line!r}")
        port, http_port = int(found[1]), int(found[2])
        self._settings |= {"brokerServicePort": port, "webServicePort": http_port}
        _shake_hands(port)
        with urllib.request.urlopen(f"{self.admin_url}/admin/v2/brokers/health", timeout=START_SECONDS) as answer:
            answer.read()


def _line(stdout: IO[bytes]) -> bytes:
    """What the broker prints first; empty if it ends instead, or takes too long."""
    got = b""
    deadline = time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while not got.endswith(b"\n") and selector.select(deadline - time.monotonic()):
            chunk = os.read(stdout.fileno(), 1024)
            if not chunk:
                break
            got += chunk
    return got


def _shake_hands(port: int) -> None:
    """CONNECT, and wait for any answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=START_SECONDS) as connection:
        connection.sendall(encode(pb.CommandConnect(client_version="magnetar.testing", protocol_version=21)))
        if not connection.recv(8):
            raise BrokerFailedError("the broker hung up on the first client")


def _environment() -> dict[str, str]:
    """Ours, with this same Magnetar first on the path, and without what would be settings of the broker."""
    from magnetar.server.settings import keys
    from magnetar.server.settings_load import ENVIRONMENT_PREFIX

    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(ENVIRONMENT_PREFIX) and name not in keys()
    }
    source = str(Path(magnetar.__file__).parent.parent)
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [source, kept.get("PYTHONPATH", "")]))
    return kept
