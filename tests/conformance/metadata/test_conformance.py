"""Both adapters of the metadata port against the public conformance suite, and against a model under Hypothesis."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from magnetar.metadata.memory import MemoryMetadata
from magnetar.metadata.paths import prefix_end
from magnetar.metadata.sqlite import SqliteMetadata
from magnetar.ports.metadata import Change, MetadataStore, VersionConflict, Versioned
from magnetar.testing.metadata_conformance import MetadataConformance


class TestMemory(MetadataConformance):
    survives_reopen_as_new_object = False

    def make_store(self, folder: Path) -> MetadataStore:
        return MemoryMetadata()


class TestSqlite(MetadataConformance):
    def make_store(self, folder: Path) -> MetadataStore:
        return SqliteMetadata(folder / "metadata.db")


_segments = st.sampled_from(["a", "b", "ab", "a-", "a!", "\U0010ffff", "é", "0"])
_paths = st.lists(_segments, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
_prefixes = st.one_of(_paths, _paths.map(lambda path: path + "/"), st.sampled_from(["", "/"]))
_expected = st.one_of(st.none(), st.integers(-1, 3))


class Model(RuleBasedStateMachine):
    """The port as one dictionary; whatever a store answers must be what the dictionary says."""

    def store(self, folder: Path) -> MetadataStore:
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.under_test = self.store(self.folder)
        self.runner.run(self.under_test.open())
        self.values: dict[str, tuple[bytes, int]] = {}
        self.changes: list[Change] = []
        self.heard: list[Change] = []
        self.under_test.watch("/a", self.heard.append)

    def teardown(self) -> None:
        self.runner.run(self.under_test.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    @rule(path=_paths, value=st.binary(max_size=8), expected=_expected)
    def put(self, path: str, value: bytes, expected: int | None) -> None:
        there = self.values[path][1] if path in self.values else -1
        if expected not in (None, there):
            with pytest.raises(VersionConflict):
                self.runner.run(self.under_test.put(path, value, expected))
            return
        assert self.runner.run(self.under_test.put(path, value, expected)) == there + 1
        self.values[path] = (value, there + 1)
        self.changes.append(Change(path, value, there + 1))

    @rule(path=_paths, expected=_expected)
    def delete(self, path: str, expected: int | None) -> None:
        there = self.values[path][1] if path in self.values else -1
        if expected not in (None, there):
            with pytest.raises(VersionConflict):
                self.runner.run(self.under_test.delete(path, expected))
            return
        assert self.runner.run(self.under_test.delete(path, expected)) is (path in self.values)
        if self.values.pop(path, None) is not None:
            self.changes.append(Change(path, None, there))

    @rule(prefix=_prefixes, after=st.none() | _paths, limit=st.integers(0, 4))
    def scan(self, prefix: str, after: str | None, limit: int) -> None:
        wanted = sorted(path for path in self.values if path.startswith(prefix) and (after is None or path > after))
        found = self.runner.run(self.under_test.scan(prefix, after, limit))
        assert found == [Versioned(path, *self.values[path]) for path in wanted[:limit]]

    @rule(path=_paths | st.just("/"))
    def children(self, path: str) -> None:
        parent = path.rstrip("/") + "/"
        names = {other[len(parent) :].split("/")[0] for other in self.values if other.startswith(parent)}
        assert self.runner.run(self.under_test.children(path)) == sorted(names)

    @rule(prefix=_prefixes)
    def count(self, prefix: str) -> None:
        assert self.runner.run(self.under_test.count(prefix)) == sum(path.startswith(prefix) for path in self.values)

    @invariant()
    def the_watcher_has_heard_everything(self) -> None:
        if hasattr(self, "heard"):
            assert self.heard == [change for change in self.changes if change.path.startswith("/a")]


class MemoryModel(Model):
    def store(self, folder: Path) -> MetadataStore:
        return MemoryMetadata()


class SqliteModel(Model):
    def store(self, folder: Path) -> MetadataStore:
        return SqliteMetadata(folder / "metadata.db")


TestMemoryModel = MemoryModel.TestCase
TestMemoryModel.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestSqliteModel = SqliteModel.TestCase
TestSqliteModel.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [("/a", "/b"), ("/a/", "/a0"), ("", None), ("\U0010ffff", None), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000")],
)
def test_the_end_of_a_prefix_is_the_next_text_that_does_not_begin_with_it(prefix: str, end: str | None) -> None:
    assert prefix_end(prefix) == end
