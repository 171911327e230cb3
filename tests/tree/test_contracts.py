"""The import contracts hold, and each of them has been seen to break on an import that it forbids."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}
PURE = ("wire", "core", "ports")


def lint(root: Path) -> tuple[bool, str]:
    """Whether all contracts of the tree are kept, and what import-linter says."""
    program = "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", program, "--config", "pyproject.toml", "--no-cache"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(root: Path, package: str, *imports: str) -> None:
    file = root / "src" / "magnetar" / package / "planted.py"
    file.parent.mkdir(exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text("".join(f"import {name}\n" for name in imports), encoding="utf-8")


def test_the_contracts_hold() -> None:
    kept, said = lint(ROOT)
    assert kept, said


UPWARDS = [
    ("wire", "ports"),
    ("ports", "core"),
    ("core", "log"),
    ("core", "metadata"),
    ("log", "server"),
    ("metadata", "server"),
    ("server", "admin"),
    ("admin", "client"),
    ("client", "testing"),
    ("testing", "cli"),
]


def test_no_package_imports_one_above_its_own(copy: Path) -> None:
    with (copy / "src" / "magnetar" / "errors.py").open("a", encoding="utf-8") as errors:
        errors.write("import magnetar.wire\n")
    for lower in {lower for lower, _ in UPWARDS}:
        plant(copy, lower, *(f"magnetar.{higher}" for other, higher in UPWARDS if other == lower))
    kept, said = lint(copy)
    assert not kept
    missed = [
        (lower, higher)
        for lower, higher in [("errors", "wire"), *UPWARDS]
        if f"magnetar.{lower} is not allowed to import magnetar.{higher}:" not in said
    ]
    assert missed == [], said


def test_the_two_stores_do_not_know_each_other(copy: Path) -> None:
    plant(copy, "log", "magnetar.metadata")
    kept, said = lint(copy)
    assert not kept
    assert "magnetar.log is not allowed to import magnetar.metadata" in said, said


def test_a_new_package_must_be_given_its_place(copy: Path) -> None:
    plant(copy, "novelty")
    kept, said = lint(copy)
    assert not kept
    assert "magnetar.novelty" in said, said


@pytest.mark.parametrize("package", PURE)
def test_the_pure_packages_import_nothing_that_is_not(copy: Path, package: str) -> None:
    forbidden = CONTRACTS["pure"]["forbidden_modules"]
    plant(copy, package, *forbidden)
    kept, said = lint(copy)
    assert not kept
    missed = [name for name in forbidden if f"magnetar.{package} is not allowed to import {name}:" not in said]
    assert missed == [], said


def test_nor_by_way_of_another_module(copy: Path) -> None:
    (copy / "src" / "magnetar" / "errors.py").write_text("import socket\n", encoding="utf-8")
    plant(copy, "core", "magnetar.errors")
    kept, said = lint(copy)
    assert not kept
    assert "magnetar.core is not allowed to import socket:" in said, said


def test_the_client_side_imports_nothing_of_the_broker(copy: Path) -> None:
    forbidden = CONTRACTS["client"]["forbidden_modules"]
    plant(copy, "client", *forbidden)
    kept, said = lint(copy)
    assert not kept
    missed = [name for name in forbidden if f"magnetar.client is not allowed to import {name}:" not in said]
    assert missed == [], said
