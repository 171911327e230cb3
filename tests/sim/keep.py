"""Writes a line of the regression file.

``python -m tests.sim.keep NAME``, where NAME is that of a planted fault; or the path of a trace that ``magnetar
simulate`` has written, followed by its story.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.sim.faults import FAULTS
from tests.sim.plant import trace_of

__all__ = ["main"]


def main(name: str, story: str = "") -> None:
    """Append what is named to the file."""
    path = Path(name)
    if path.suffix == ".json":
        trace = json.loads(path.read_text())
        rule = trace["violation"].partition(":")[0]
        line = {"story": story, "rules": [rule], "scenario": trace["scenario"], "actions": trace["actions"]}
    else:
        with tempfile.TemporaryDirectory() as folder:
            line = trace_of(next(fault for fault in FAULTS if fault.name == name), Path(folder))
    with Path(__file__).with_name("regressions.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
