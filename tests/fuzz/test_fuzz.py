"""The fuzzer for a moment, from the same seed each time; at night for longer, and from a new one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONS = ("-runs=50000", "-seed=0") if os.environ.get("MAGNETAR_NIGHTLY") else ("-runs=500", "-seed=1")


@pytest.mark.timeout(3_000)
def test_sessions(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    command = [sys.executable, "-m", "tests.fuzz.sessions", str(corpus), *OPTIONS, "-max_len=8192", "-len_control=0"]
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    done = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    failing = [each.read_bytes() for each in tmp_path.glob("crash-*")]
    assert done.returncode == 0, f"input {failing}: {done.stderr[-3_000:]}"
    assert "DONE" in done.stderr
