"""Checks the tree itself: sizes with a ratchet, banned calls, dead files, and text that belongs to no repository.

``python -m tools.tree`` lists what is wrong and fails if anything is. ``python -m tools.tree --lower`` writes the sizes
of the files and functions beyond the soft limits into ``tests/tree/ratchet.json``, but never a larger one than is
there. ``--admit NAME...`` lists new exceptions, by the names that the complaints use: say why in the commit.

A rule is a function from the root of a tree to complaints, so that the tests can show each of them a bad tree.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tools.tree_sets import iterated_sets

__all__ = ["RULES", "complaints"]

ROOT = Path(__file__).parents[1]
RATCHET = "tests/tree/ratchet.json"

MODULE_LINES_SOFT, MODULE_LINES_HARD = 250, 600
FUNCTION_LINES_SOFT, FUNCTION_LINES_HARD = 60, 80
RATCHET_SLACK_LINES = 25

PURE = ("src/magnetar/wire", "src/magnetar/core", "src/magnetar/ports")
MAY_PRINT = ("src/magnetar/cli", "tools", "examples", "bench", "setup.py")
BANNED_NAMES = {"open", "print", "input", "breakpoint", "eval", "exec", "compile", "__import__", "hash", "id"}
BANNED_MODULES = {"time", "random", "datetime", "os", "socket", "asyncio", "logging", "threading", "uuid", "secrets"}
NOT_OURS = {
    ".git",
    ".venv",
    "build",
    "dist",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
}

# In pieces, because this file is looked at as well.
_HOSTS = re.compile("|".join(["py" + "pi\\.", "python" + "hosted", "arti" + "factory", "jf" + "rog", "dev" + "pi\\."]))
_OPTIONS = re.compile("--" + "(?:extra-)?index-url|--" + "trusted-host|--" + "find-links")
_PATHS = re.compile(r"(?<![\w.])/" + r"(?:work|tmp|root|home/\w+|Users/\w+|opt/\w+)/")


def own_files(root: Path) -> list[Path]:
    """The files of the repository, or of a copy of it that git knows nothing of."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=False)
        if listed.returncode == 0:
            found = [root / name for name in listed.stdout.decode().split("\0") if name]
            return sorted(path for path in found if path.is_file())
    return sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and not NOT_OURS & set(path.relative_to(root).parts) and path.suffix not in (".so", ".pyc")
    )


def python_files(root: Path, *folders: str) -> Iterator[tuple[str, ast.Module, str]]:
    """Name below the root, tree and text of every Python file that a person wrote under the folders (all if none)."""
    for path in own_files(root):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py" and not path.stem.endswith("_pb2") and (not folders or name.startswith(folders)):
            text = path.read_text(encoding="utf-8")
            yield name, ast.parse(text, name), text


def sizes(root: Path) -> dict[str, int]:
    """Lines of every module and function in the package; a function is called ``file::Class.function``."""
    found = {}
    for name, tree, text in python_files(root, "src/"):
        found[name] = len(text.splitlines())
        for where, node in _functions(tree, ""):
            found[f"{name}::{where}"] = (node.end_lineno or node.lineno) - node.lineno + 1
    return found


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        inner = (
            f"{prefix}{child.name}."
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            else prefix
        )
        yield from _functions(child, inner)


def read_ratchet(root: Path) -> dict[str, int]:
    file = root / RATCHET
    listed: dict[str, int] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return listed


def rule_sizes(root: Path) -> Iterator[str]:
    """Modules and functions stay small; those that are not may only shrink."""
    ratchet = read_ratchet(root)
    found = sizes(root)
    for what, lines in found.items():
        soft, hard = _limits(what)
        if lines > hard:
            yield f"{what} has {lines} lines, and {hard} are the most that is allowed: split it"
        elif lines > soft and what not in ratchet:
            yield f"{what} has {lines} lines, more than {soft}: split it, or list it in {RATCHET} and say why"
        elif lines > ratchet.get(what, soft):
            yield f"{what} has grown from {ratchet[what]} to {lines} lines: split it"
    for what, allowed in ratchet.items():
        if found.get(what, 0) <= _limits(what)[0] or found[what] + RATCHET_SLACK_LINES < allowed:
            yield f"{what} has become smaller than {RATCHET} allows: run python -m tools.tree --lower"


def _limits(what: str) -> tuple[int, int]:
    return (FUNCTION_LINES_SOFT, FUNCTION_LINES_HARD) if "::" in what else (MODULE_LINES_SOFT, MODULE_LINES_HARD)


def lower_ratchet(root: Path, admitted: Sequence[str] = ()) -> None:
    """Write down what has become smaller, and what is admitted."""
    found = sizes(root)
    listed = read_ratchet(root) | {what: found[what] for what in admitted}
    lowered = {what: min(size, found[what]) for what, size in listed.items() if found.get(what, 0) > _limits(what)[0]}
    (root / RATCHET).parent.mkdir(parents=True, exist_ok=True)
    (root / RATCHET).write_text(json.dumps(lowered, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def rule_banned_calls(root: Path) -> Iterator[str]:
    """The pure packages ask nobody but their arguments."""
    for name, tree, _ in python_files(root, *PURE):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Name) and node.func.id in BANNED_NAMES:
                yield f"{name}:{node.lineno} calls {node.func.id}(), which the pure packages may not"
            elif isinstance(node.func, ast.Attribute):
                owner = node.func.value
                while isinstance(owner, ast.Attribute):
                    owner = owner.value
                if isinstance(owner, ast.Name) and owner.id in BANNED_MODULES:
                    yield f"{name}:{node.lineno} calls {owner.id}.{node.func.attr}(), which the pure packages may not"


def rule_set_order(root: Path) -> Iterator[str]:
    """Nothing in the core depends on the order of a set, which differs from run to run."""
    for name, tree, _ in python_files(root, *PURE):
        for line, what in iterated_sets(tree):
            yield f"{name}:{line} goes through the set {what} in its own order: sort it, or keep a dict"


def rule_print(root: Path) -> Iterator[str]:
    """Only what talks to a person prints."""
    for name, tree, _ in python_files(root):
        if name.startswith(MAY_PRINT):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield f"{name}:{node.lineno} prints: log it, or return it"


def rule_dead_files(root: Path) -> Iterator[str]:
    """Every module of the package is used by something, or is an entry point."""
    used = set(re.findall(r"magnetar(?:\.\w+)+", (root / "pyproject.toml").read_text(encoding="utf-8")))
    modules = {}
    for name, tree, _ in python_files(root):
        module = _module_name(name)
        if module is not None:
            modules[module] = name
        used |= {other for other in _imports(tree, module, name) if other != module}
    for module, name in modules.items():
        if module not in used and not name.endswith(("__init__.py", "__main__.py")):
            yield f"{name} is used by nothing: import it where it is needed, or delete it"


def _module_name(name: str) -> str | None:
    if not name.startswith("src/magnetar/"):
        return None
    return name.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(tree: ast.Module, module: str | None, name: str) -> Iterator[str]:
    """Full names that a file imports, or mentions as text for an import that is put off."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and module is not None:
                parts = module.split(".")
                kept = len(parts) - node.level + name.endswith("__init__.py")
                base = ".".join([*parts[:kept], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("magnetar."):
            yield node.value.partition(":")[0]


def rule_foreign_text(root: Path) -> Iterator[str]:
    """Where packages come from, and where things lie on somebody's machine, is nobody else's business."""
    for path in own_files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            for pattern, what in (
                (_HOSTS, "an index host"),
                (_OPTIONS, "an index option"),
                (_PATHS, "a machine's path"),
            ):
                if (match := pattern.search(line)) is not None:
                    yield f"{path.relative_to(root).as_posix()}:{number} names {what} ({match[0]}): take it out"


RULES: list[Callable[[Path], Iterator[str]]] = [
    rule_sizes,
    rule_banned_calls,
    rule_set_order,
    rule_print,
    rule_dead_files,
    rule_foreign_text,
]


def complaints(root: Path) -> list[str]:
    """What all the rules say."""
    return [complaint for rule in RULES for complaint in rule(root)]


def main() -> int:
    if sys.argv[1:2] in (["--lower"], ["--admit"]):
        lower_ratchet(ROOT, sys.argv[2:])
    found = complaints(ROOT)
    print("\n".join(found) or "the tree is in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
