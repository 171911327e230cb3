"""The programs a newcomer meets first do what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.broker import Broker

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_hello_says_hello(broker: Broker) -> None:
    program = (EXAMPLES / "hello.py").read_text()
    assert "pulsar://localhost:6650" in program
    here = program.replace("pulsar://localhost:6650", broker.service_url)
    done = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "hello"


def test_the_demo_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "nothing was lost, every key in order"
