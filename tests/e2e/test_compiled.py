"""Compiling the hot modules in place, in a copy of the tree with one small hot module, with the real compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOT = "src/magnetar/wire/hot.py"
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("pyproject.toml", "setup.py", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "README.md").touch()
    for package in ("", "wire/"):
        file = tmp_path / "src" / "magnetar" / package / "__init__.py"
        file.parent.mkdir(parents=True)
        file.touch()
    write(tmp_path, 1)
    return tmp_path


def write(root: Path, number: int, kind: str = "int") -> None:
    """The next text of the module, which is newer than whatever was made of the last one."""
    text = f'"""Hot."""\n\n\ndef answer(value: int) -> {kind}:\n    assert value >= 0\n    return value + {number}\n'
    (root / HOT).write_text(text, encoding="utf-8")
    newest = max((path.stat().st_mtime for path in root.rglob("*")), default=0)
    os.utime(root / HOT, (newest + 1, newest + 1))
    for made in root.rglob("*.so"):
        os.utime(made, (newest - 1, newest - 1))


def tool(root: Path, what: str, **environment: str) -> str:
    command = [sys.executable, str(ROOT / "tools" / "compiled.py"), what, str(root)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def answer(root: Path, *flags: str) -> tuple[str, int]:
    """The kind of file that the module is run from, and what it answers."""
    program = "import sys; sys.path.insert(0, 'src'); import magnetar.wire.hot as h; print(h.__file__, h.answer(40))"
    done = subprocess.run([sys.executable, *flags, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    file, number = done.stdout.split()
    return Path(file).suffix, int(number)


def test_modules_are_compiled_kept_up_to_date_and_removed(copy: Path) -> None:
    suffix = ".so" if shutil.which(COMPILER) else ".py"
    assert answer(copy) == (".py", 41)
    tool(copy, "build")
    assert answer(copy) == (suffix, 41)
    write(copy, 2)
    tool(copy, "stale")
    assert answer(copy) == (".py", 42)
    tool(copy, "build")
    assert answer(copy) == (suffix, 42)
    # Without the packages around: what mypyc makes needs nothing of mypy's at run time.
    assert answer(copy, "-I", "-S") == (suffix, 42)
    tool(copy, "stale")
    assert answer(copy) == (suffix, 42)
    tool(copy, "pure")
    assert answer(copy) == (".py", 42)


def test_what_cannot_be_compiled_is_plain_python(copy: Path) -> None:
    assert "compiler failed" in tool(copy, "build", CC="false")
    assert answer(copy) == (".py", 41)
    assert "no C compiler" in tool(copy, "build", CC="a-compiler-that-is-not-there")
    assert answer(copy) == (".py", 41)
    assert "mypyc refuses" not in tool(copy, "build", MAGNETAR_COMPILE="0")
    assert answer(copy) == (".py", 41)
    write(copy, 3, kind="str")
    assert "mypyc refuses" in tool(copy, "build")
    assert answer(copy) == (".py", 43)
