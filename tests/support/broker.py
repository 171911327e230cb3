"""Brokers for black-box tests: one started as a child process, or one that is already there.

`StartedBroker` runs `magnetar standalone` unless the environment variable `MAGNETAR_TEST_COMMAND` gives another command
with the words {data}, {port} and {http} in it, to which settings are added as `-o key=value`. That is how tests that
restart or configure their broker are proved against another broker that speaks the same protocol.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from tests.support.wireclient import ConnectionEndedError, WireClient, WireError

START_SECONDS = 60.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.02


def eventually(condition: Callable[[], object], seconds: float = 10.0, what: str = "") -> None:
    """Ask again and again until the condition holds; fail when it does not hold in time."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or condition}")
        pause.wait(POLL_SECONDS)


def free_ports(count: int) -> list[int]:
    """Find ports nobody listens on; all are held until the last is found, so that they differ."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


class Broker:
    """A broker that is there: its addresses, and plain requests to its REST interface."""

    def __init__(self, service_url: str, admin_url: str, settings: Mapping[str, str] | None = None) -> None:
        self.service_url = service_url
        self.admin_url = admin_url
        self.settings = dict(settings or {})

    def wire(self) -> WireClient:
        """Open a raw connection."""
        return WireClient.open(self.service_url)

    def rest(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        """Send a request to `/admin/v2/` and give the status and the answer, read as JSON where it is JSON."""
        address = urlsplit(self.admin_url)
        connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=20)
        with contextlib.closing(connection):
            sent = None if body is None else json.dumps(body)
            connection.request(method, f"/admin/v2/{path}", sent, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text

    def topic_rest(self, method: str, topic: str, action: str, body: object = None) -> object:
        """Do something to a topic over REST; it must succeed."""
        path = topic.replace("://", "/")
        status, answer = self.rest(method, f"{path}/{action}".rstrip("/"), body)
        assert status in (200, 204), f"{method} {path}/{action}: {status} {answer}"
        return answer

    def is_serving(self) -> bool:
        """Say whether the broker shakes hands, serves topics and calls itself healthy."""
        try:
            with self.wire() as wire:
                wire.partitions("persistent://public/default/is-serving", create=False)
        except WireError as error:
            if error.code != 11:
                return False
        except (OSError, ConnectionEndedError):
            return False
        try:
            return self.rest("GET", "brokers/health")[0] == 200
        except OSError:
            return False


class StartedBroker(Broker):
    """A broker in a child process of the test, on free ports and its own data folder."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port, self.http_port = free_ports(2)
        super().__init__(f"pulsar://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.http_port}", settings)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> StartedBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def command(self) -> list[str]:
        """The command line of the broker."""
        template = os.environ.get("MAGNETAR_TEST_COMMAND")
        if template is None:
            template = (
                f"{shlex.quote(sys.executable)} -m magnetar standalone --data {{data}} "
                "--host 127.0.0.1 --port {port} --http-port {http}"
            )
        values = {"data": str(self.folder / "data"), "port": self.port, "http": self.http_port}
        words = [word.format(**values) for word in shlex.split(template)]
        for key, value in self.settings.items():
            words += ["-o", f"{key}={value}"]
        return words

    def start(self) -> None:
        """Start the process and wait until it serves."""
        with (self.folder / "broker.log").open("ab") as log:
            self._process = process = subprocess.Popen(self.command(), stdout=log, stderr=subprocess.STDOUT)
        try:
            eventually(lambda: process.poll() is not None or self.is_serving(), START_SECONDS, "the broker serves")
            assert process.poll() is None, f"the broker ended with {process.returncode}:\n{self.log()}"
        except BaseException:
            self.kill()
            raise

    def log(self) -> str:
        """What the broker has said so far."""
        return (self.folder / "broker.log").read_text(errors="replace")

    def stop(self) -> int:
        """Ask the broker to end, by force when it does not; gives its exit code."""
        process = self._process
        if process is None:
            return 0
        process.terminate()
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self._process = None

    def kill(self) -> None:
        """End the process as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(STOP_SECONDS)
            self._process = None

    def restart(self, *, crash: bool = False) -> None:
        """Stop or crash the broker and start it again on the same ports and data."""
        if crash:
            self.kill()
        else:
            self.stop()
        self.start()


@contextlib.contextmanager
def started_broker(settings: Mapping[str, str] | None = None) -> Iterator[StartedBroker]:
    """Start a broker of our own for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="magnetar-") as folder, StartedBroker(Path(folder), settings) as broker:
        yield broker
