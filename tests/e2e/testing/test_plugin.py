"""The pytest plugin, in a pytest of its own, as users have it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run_pytest(folder: Path, *words: str) -> str:
    """Run the tests in ``folder`` with the plugin, loaded by name whether or not its entry point is installed."""
    plugins = ["-p", "no:magnetar", "-p", "magnetar.testing.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--strict-markers", "--rootdir", ".", "-c", os.devnull, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_of_the_guide_works_and_is_in_the_guide() -> None:
    assert "1 passed" in run_pytest(ROOT / "examples", "test_orders.py")
    example = (ROOT / "examples" / "test_orders.py").read_text()
    assert f"```python\n{example}```" in (ROOT / "docs" / "guides" / "testing.md").read_text()


FIXTURES = """
import json
import urllib.request

import pulsar
import pytest

seen = []


def ask(url, path):
    with urllib.request.urlopen(f"{url}/admin/v2/{path}") as answer:
        return json.load(answer)


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_has_its_own(magnetar_broker, magnetar_url, magnetar_admin_url, turn):
    assert (magnetar_broker.service_url, magnetar_broker.admin_url) == (magnetar_url, magnetar_admin_url)
    assert ask(magnetar_admin_url, "persistent/public/default") == []
    client = pulsar.Client(magnetar_url)
    client.create_producer("orders").send(b"x")
    client.close()
    assert len(ask(magnetar_admin_url, "persistent/public/default")) == 1


def test_a_client_that_is_left_open_is_nobodys_trouble(magnetar_url):
    seen.append(pulsar.Client(magnetar_url))
    seen.append(seen[0].subscribe("orders", "s"))


@pytest.mark.magnetar(allowAutoTopicCreationType="partitioned")
class TestMarks:
    @pytest.mark.magnetar(defaultNumPartitions=4)
    def test_settings(self, magnetar_url):
        client = pulsar.Client(magnetar_url)
        client.create_producer("orders")
        assert len(client.get_topic_partitions("orders")) == 4
        client.close()
"""


def test_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_fixtures.py").write_text(FIXTURES)
    assert "4 passed" in run_pytest(tmp_path)


def test_a_session_that_wants_no_broker_imports_none(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text(
        "import sys\n\n\ndef test_none():\n    assert not [n for n in sys.modules if n.startswith('magnetar.server')]\n"
    )
    assert "1 passed" in run_pytest(tmp_path)


OVERHEAD = """
import statistics
import time

import pytest


@pytest.fixture
def began():
    return time.perf_counter()


@pytest.mark.parametrize("turn", range(200))
def test_turn(began, magnetar_broker, turn):
    times.append(time.perf_counter() - began)


times = []


def test_report():
    print(f"first {times[0] * 1000:.1f} ms, median {statistics.median(times) * 1000:.2f} ms")
"""


def test_what_a_broker_costs_a_test_is_printed(tmp_path: Path) -> None:
    """A figure for whoever looks at it (``pytest -s -k printed``); the bound lies with the bench, not here."""
    (tmp_path / "test_overhead.py").write_text(OVERHEAD)
    output = run_pytest(tmp_path, "-s")
    found = re.search(r"first [0-9.]+ ms, median [0-9.]+ ms", output)
    assert found is not None
    sys.stdout.write(f"\na fresh broker for a test: {found[0]}\n")
