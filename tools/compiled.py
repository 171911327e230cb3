"""Compiled modules in the source tree: builds them, removes them, and takes away those that are out of date.

Python prefers ``hot.cpython-311-….so`` to the ``hot.py`` beside it whatever their age, so that after an edit the old
code would go on running without a word. ``stale`` is therefore part of every ``make check`` and ``make test``.

    python tools/compiled.py build | pure | stale | status
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUFFIXES = (".so", ".pyd")
GROUP = "magnetar__mypyc"
"""The library with the code of all compiled modules; their own files beside the sources only point to it."""


def compiled(root: Path) -> list[Path]:
    """The files that the compiler has left in the source tree."""
    return sorted(path for path in (root / "src").rglob("*") if path.suffix in SUFFIXES)


def sources(root: Path) -> list[Path]:
    """The modules that setup.py would compile."""
    listed: dict[str, object] = {"__name__": "magnetar_setup"}
    exec(compile((root / "setup.py").read_text(encoding="utf-8"), "setup.py", "exec"), listed)
    modules = listed["MODULES"]
    assert isinstance(modules, tuple)
    return [root / module for module in modules if (root / module).exists()]


def is_current(root: Path) -> bool:
    """Whether exactly the modules that should be are compiled, from their present text, by this Python."""
    wanted = sources(root)
    found = compiled(root)
    by_module = {path.parent / path.name.partition(".")[0] for path in found if not path.name.startswith(GROUP)}
    if by_module != {source.with_suffix("") for source in wanted}:
        return False
    tag = sys.implementation.cache_tag
    newest = max((source.stat().st_mtime for source in [*wanted, root / "setup.py"]), default=0)
    return all(tag in path.name and path.stat().st_mtime >= newest for path in found)


def remove(root: Path) -> int:
    found = compiled(root)
    for path in found:
        path.unlink()
    return len(found)


def build(root: Path) -> None:
    if is_current(root):
        return
    remove(root)
    # Object files of an earlier build are trusted by their age alone, and the headers they depend on are not looked at.
    shutil.rmtree(root / "build", ignore_errors=True)
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=root, check=True)


def main(what: str, root: Path = ROOT) -> None:
    if what == "build":
        build(root)
    elif what == "pure":
        remove(root)
    elif what == "stale" and not is_current(root) and remove(root):
        print("compiled modules were older than their sources and are removed; `make compiled` builds them again")
    count = sum(not path.name.startswith(GROUP) for path in compiled(root))
    print(f"magnetar runs with {count} compiled modules" if count else "magnetar runs as plain Python")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "status", Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT)
