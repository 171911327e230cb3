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


def test_each_customer_is_at_one_worker_and_in_order(broker: Broker) -> None:
    program = (EXAMPLES / "keyed.py").read_text().replace("pulsar://localhost:6650", broker.service_url)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    orders = [f"order {number}" for number in (1, 2, 3)]
    expected = {("worker-0", "alice"), ("worker-0", "bob"), ("worker-1", "dave")}
    lines = done.stdout.splitlines()
    for worker, customer in expected:
        start = f"{worker}: {customer}, "
        assert [line.removeprefix(start) for line in lines if line.startswith(start)] == orders
    assert len(lines) == len(expected) * len(orders)


def rolling_restart(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / "rolling_restart.py", "--rounds", "1", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)


def test_a_rolling_restart_keeps_every_key_at_one_worker() -> None:
    done = rolling_restart()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "0 deliveries while another worker held the key" in lines
    assert "0 deliveries out of the order of their key" in lines
    assert any(line.startswith("DRAINING: worker-0 holds ") for line in lines)
    assert lines[-1] == "no key was at two workers, and none out of order"


def test_the_classic_dispatcher_breaks_the_contract_in_the_same_play() -> None:
    done = rolling_restart("--classic")
    assert done.returncode == 1, done.stdout + done.stderr
    assert " deliveries while another worker held the key\n    key-" in done.stdout
    assert done.stdout.splitlines()[-1] == "the contract of a key was broken"


def test_the_demo_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "nothing was lost, every key in order"
