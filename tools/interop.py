"""Starts a broker of this tree on free ports and has the official Java client check it: what ``make interop`` does."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECK = Path(__file__).parent / "interop_java" / "run"
START_SECONDS = 30


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(port: int, broker: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and broker.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.exit(f"interop: the broker did not listen on port {port} within {START_SECONDS} s; what it said is above")


def main() -> int:
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        sys.exit(
            f"interop: {' and '.join(missing)} cannot be found: install a JDK (17 or newer) and Maven, then try again"
        )
    port, http_port = free_ports(2)
    with tempfile.TemporaryDirectory() as data:
        options = ["--data", data, "--port", str(port), "--http-port", str(http_port)]
        broker = subprocess.Popen([sys.executable, "-m", "magnetar", "standalone", *options])
        try:
            wait_for(port, broker)
            wait_for(http_port, broker)
            addresses = [f"pulsar://127.0.0.1:{port}", f"http://127.0.0.1:{http_port}"]
            return subprocess.run([CHECK, *addresses], check=False).returncode
        finally:
            broker.terminate()
            broker.wait()


if __name__ == "__main__":
    sys.exit(main())
