"""Make ``pulsar_pb2.py`` and its ``.pyi`` from ``pulsar.proto``, or say with ``--check`` whether they are in step.

Run it after every change of the .proto and commit all three: users need no protoc, and reviewers see what changed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"
PROTO = "magnetar/wire/proto/pulsar.proto"


def generate() -> dict[Path, str]:
    """Run protoc and return what each generated file must contain, by its path in the tree."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SOURCES}", f"--python_out={out}", f"--pyi_out={out}"]
        subprocess.run([*command, str(SOURCES / PROTO)], check=True)
        stem = Path(PROTO).with_suffix("")
        result = {}
        for name in (f"{stem}_pb2.py", f"{stem}_pb2.pyi"):
            text = (Path(out) / name).read_text(encoding="utf-8")
            # The stub generator leaves Mapping bare, which strict type checking refuses.
            result[SOURCES / name] = text.replace(", _Mapping]", ", _Mapping[str, object]]")
        return result


def stale() -> list[Path]:
    """Name the generated files that are not what the .proto gives today."""
    return [path for path, text in generate().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    if "--check" in sys.argv[1:]:
        for path in stale():
            sys.stderr.write(f"{path.name} is not in step with {PROTO}; run python tools/gen_proto.py\n")
            return 1
        return 0
    for path, text in generate().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
