"""Writes requirements.lock and requirements-dev.lock: every package with the hashes of all its files, and no host.

The first holds what the broker needs, the second what its developers need as well. Run ``make lock`` after changing the
dependencies in pyproject.toml, or ``make lock UPGRADE=--upgrade`` to move to the newest versions. It resolves with uv,
fetched into a folder of its own for this one run, from wherever pip of this machine is told to find packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = {
    "requirements.lock": ["pyproject.toml"],
    "requirements-dev.lock": ["pyproject.toml", "--extra", "client", "--extra", "fast", "--group", "dev"],
}
HEAD = "# Made by tools/lock.py from pyproject.toml: change that, then run `make lock`.\n"
OPTIONS = [
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-" + "find-links",
    "--quiet",
]


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        environment = os.environ | from_pip(python)
        for name, what in LOCKS.items():
            lock = ROOT / name
            # uv keeps the versions of the file it writes to, unless it is asked to upgrade.
            command: list[str | Path] = [python, "-m", "uv", "pip", "compile", *what, *OPTIONS, *arguments]
            subprocess.run([*command, "--output-file", name], cwd=ROOT, env=environment, check=True)
            pins = [line for line in lock.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
            lock.write_text(HEAD + "\n".join(pins) + "\n", encoding="utf-8")


def from_pip(python: Path) -> dict[str, str]:
    """What pip is told about where packages are, in the words of uv."""
    said = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.splitlines():
        name, _, value = line.partition("=")
        for ours, theirs in (("index-url", "UV_DEFAULT_INDEX"), ("cert", "SSL_CERT_FILE")):
            if name.endswith("." + ours):
                found[theirs] = value.strip("'\"")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
