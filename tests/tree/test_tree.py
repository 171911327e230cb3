"""The tree is in order, and each rule that says so has been seen to find what it is for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools import tree

ROOT = Path(__file__).parents[2]
Rule = Callable[[Path], Iterator[str]]


@pytest.mark.parametrize("rule", tree.RULES, ids=lambda rule: rule.__name__)
def test_the_tree_is_in_order(rule: Rule) -> None:
    assert list(rule(ROOT)) == []


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A tree that all rules are content with."""
    write(tmp_path, "pyproject.toml", '[project.scripts]\nmagnetar = "magnetar.cli:main"\n')
    for package in ("", "wire", "core", "ports", "cli"):
        write(tmp_path, f"src/magnetar/{package}/__init__.py", "")
    write(tmp_path, "src/magnetar/core/topic.py", "def size(names: set[str]) -> int:\n    return len(sorted(names))\n")
    write(tmp_path, "tests/test_topic.py", "from magnetar.core import topic\n")
    assert tree.complaints(tmp_path) == []
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def function(lines: int) -> str:
    return "def long():\n" + "    x = 1\n" * (lines - 1)


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (tree.rule_sizes, "src/magnetar/core/topic.py", "x = 1\n" * 251),
        (tree.rule_sizes, "src/magnetar/core/topic.py", function(61)),
        (tree.rule_sizes, "src/magnetar/core/topic.py", "class Topic:\n    " + function(81).replace("\n", "\n    ")),
        (tree.rule_banned_calls, "src/magnetar/wire/a.py", "open('x')"),
        (tree.rule_banned_calls, "src/magnetar/core/a.py", "def f():\n    return eval('1')"),
        (tree.rule_banned_calls, "src/magnetar/core/a.py", "from . import time\nnow = time.monotonic()"),
        (tree.rule_banned_calls, "src/magnetar/ports/a.py", "x = datetime.datetime.now()"),
        (tree.rule_banned_calls, "src/magnetar/core/a.py", "x = random.random()"),
        (tree.rule_banned_calls, "src/magnetar/core/a.py", "x = hash('differs from run to run')"),
        (tree.rule_set_order, "src/magnetar/core/a.py", "for x in {1, 2}:\n    pass"),
        (tree.rule_set_order, "src/magnetar/core/a.py", "y = [x for x in set('ab')]"),
        (tree.rule_set_order, "src/magnetar/core/a.py", "def f(names: set[str]):\n    return list(names)"),
        (tree.rule_set_order, "src/magnetar/core/a.py", "def f(names):\n    a = set(names)\n    for x in a: pass"),
        (tree.rule_set_order, "src/magnetar/core/a.py", "def f(a: frozenset[int] | None):\n    return [*a]"),
        (tree.rule_set_order, "src/magnetar/core/a.py", "def f(a: set[int]):\n    return ','.join(a | {'b'})"),
        (
            tree.rule_set_order,
            "src/magnetar/core/a.py",
            "class A:\n    a: set[int]\n    def f(self):\n        self.a.pop()",
        ),
        (
            tree.rule_set_order,
            "src/magnetar/core/a.py",
            "class A:\n    def __init__(self):\n        self.a = set()\n    def f(self):\n        return [*self.a]",
        ),
        (tree.rule_print, "src/magnetar/core/a.py", "print('x')"),
        (tree.rule_print, "tests/test_topic.py", "def f():\n    print('x')"),
        (tree.rule_dead_files, "src/magnetar/core/a.py", "from magnetar.core import a"),
        (tree.rule_foreign_text, "requirements.lock", "--" + "index-url x"),
        (tree.rule_foreign_text, "docs/guide.md", "see https://py" + "pi.org/simple"),
        (tree.rule_foreign_text, "docs/guide.md", "cd /" + "home/someone/magnetar"),
        (tree.rule_foreign_text, "src/magnetar/core/topic.py", "PATH = '/" + "tmp/x'"),
    ],
)
def test_a_rule_finds_what_it_is_for(small_tree: Path, rule: Rule, name: str, text: str) -> None:
    write(small_tree, name, text)
    found = list(rule(small_tree))
    assert found
    assert all(complaint.startswith(name) for complaint in found)


@pytest.mark.parametrize(
    "text",
    [
        "def f(a: set[int]):\n    return sorted(a), len(a), 3 in a, min(a), sum(x for x in sorted(a))",
        "def f(a: list[int]):\n    return [x for x in a]\ndef g(a: set[int]):\n    a.add(1)",
        "def f(a: dict[str, set[int]]):\n    return list(a)",
        "def f(a: list[int]):\n    a.pop()\n    for x in a: pass",
    ],
)
def test_a_set_whose_order_does_not_matter_is_left_alone(small_tree: Path, text: str) -> None:
    write(small_tree, "src/magnetar/core/topic.py", text)
    assert list(tree.rule_set_order(small_tree)) == []


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ("src/magnetar/core/__init__.py", "from .a import x"),
        ("src/magnetar/core/topic.py", "from . import a"),
        ("src/magnetar/core/topic.py", "from .a import x"),
        ("src/magnetar/cli/__init__.py", "LAZY = {'a': 'magnetar.core.a:main'}"),
        ("tests/test_a.py", "import magnetar.core.a"),
        ("pyproject.toml", 'a = "magnetar.core.a"'),
    ],
)
def test_a_file_that_is_used_is_not_dead(small_tree: Path, user: str, text: str) -> None:
    write(small_tree, "src/magnetar/core/a.py", "x = 1")
    assert list(tree.rule_dead_files(small_tree))
    write(small_tree, user, text)
    assert list(tree.rule_dead_files(small_tree)) == []


def test_the_ratchet_holds_what_is_listed_and_only_goes_down(small_tree: Path) -> None:
    write(small_tree, tree.RATCHET, json.dumps({"src/magnetar/core/topic.py": 300}))
    for lines, content in ((300, True), (280, True), (301, False), (274, False), (250, False), (601, False)):
        write(small_tree, "src/magnetar/core/topic.py", "x = 1\n" * lines)
        assert (list(tree.rule_sizes(small_tree)) == []) is content, lines
    write(small_tree, "src/magnetar/core/topic.py", "x = 1\n" * 270)
    tree.lower_ratchet(small_tree)
    assert tree.read_ratchet(small_tree) == {"src/magnetar/core/topic.py": 270}
    write(small_tree, "src/magnetar/core/topic.py", "x = 1\n" * 290)
    tree.lower_ratchet(small_tree)
    assert tree.read_ratchet(small_tree) == {"src/magnetar/core/topic.py": 270}
    write(small_tree, "src/magnetar/core/topic.py", "x = 1\n")
    tree.lower_ratchet(small_tree)
    assert tree.read_ratchet(small_tree) == {}
    assert tree.complaints(small_tree) == []


def test_a_new_exception_is_admitted_by_name(small_tree: Path) -> None:
    write(small_tree, "src/magnetar/core/topic.py", function(70))
    tree.lower_ratchet(small_tree)
    assert list(tree.rule_sizes(small_tree))
    tree.lower_ratchet(small_tree, ["src/magnetar/core/topic.py::long"])
    assert tree.read_ratchet(small_tree) == {"src/magnetar/core/topic.py::long": 70}
    assert list(tree.rule_sizes(small_tree)) == []
