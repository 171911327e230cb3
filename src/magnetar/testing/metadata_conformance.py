"""What every metadata adapter must do, as a class of tests that any adapter can inherit.

An adapter's own test module says how its store is made, and pytest finds the rest:

    class TestMine(MetadataConformance):
        def make_store(self, folder: Path) -> MetadataStore:
            return MyMetadata(folder / "mine.db")

``make_store`` is called once per store object; an adapter that keeps its values in the object itself sets
``survives_reopen_as_new_object = False`` and is then reopened as the same object. No test here sleeps or measures time,
and none needs more than the port.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from magnetar.errors import MagnetarError, MetadataFailed
from magnetar.metadata.paths import VALUE_BYTES_MAX
from magnetar.ports.metadata import Change, MetadataStore, VersionConflict, Versioned

__all__ = ["MetadataConformance"]

E = TypeVar("E", bound=Exception)

_AWKWARD = ["/a b", "/a%2Fb", "/é", "/\U0001f4e8", "/a\nb", "/nul\0byte", "/..", "/%", "/_", "/" + "x" * 2000]


class MetadataConformance:
    """Inherit, and say how a store is made."""

    survives_reopen_as_new_object = True

    def make_store(self, folder: Path) -> MetadataStore:
        raise NotImplementedError("say how the store under test is made")

    # Single values.

    def test_a_path_without_a_value_is_none(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            assert await store.get("/nothing") is None
            assert await store.delete("/nothing") is False

        self._run(tmp_path, body)

    def test_a_value_comes_back_with_its_path_and_version(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            for value in (b"", b"one", bytes(range(256)), b"x" * 300_000):
                await store.put("/v", value)
                found = await store.get("/v")
                assert found is not None
                assert (found.path, found.value) == ("/v", value)
                assert isinstance(found.value, bytes)

        self._run(tmp_path, body)

    def test_versions_begin_at_0_and_rise_by_one(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            assert [await store.put("/v", b"x") for _ in range(4)] == [0, 1, 2, 3]
            assert await store.delete("/v") is True
            assert await store.put("/v", b"again") == 0

        self._run(tmp_path, body)

    def test_writing_the_same_value_is_a_new_version(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            await store.put("/v", b"same")
            assert await store.put("/v", b"same", expected=0) == 1

        self._run(tmp_path, body)

    def test_a_segment_may_hold_any_character_but_a_slash(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            for path in _AWKWARD:
                await store.put(path, path.encode())
            for path in _AWKWARD:
                assert await store.get(path) == Versioned(path, path.encode(), 0)
            assert [found.path for found in await store.scan("/")] == sorted(_AWKWARD)
            assert await store.children("/") == sorted(path[1:] for path in _AWKWARD)

        self._run(tmp_path, body)

    def test_what_is_no_path_is_refused(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            for path in ("", "/", "a", "a/b", "/a/", "//a", "/a//b", "/a\ud800"):
                await _refused(ValueError, store.get(path))
                await _refused(ValueError, store.put(path, b""))
                await _refused(ValueError, store.delete(path))
            assert await store.count("") == 0

        self._run(tmp_path, body)

    def test_a_value_beyond_the_limit_is_refused_whole(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            error = await _refused(MetadataFailed, store.put("/v", bytes(VALUE_BYTES_MAX + 1)))
            assert str(VALUE_BYTES_MAX) in str(error)
            assert await store.get("/v") is None

        self._run(tmp_path, body)

    # Compare and set.

    def test_put_compares_before_it_sets(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            assert await store.put("/v", b"0", expected=-1) == 0
            await _refused(VersionConflict, store.put("/v", b"no", expected=-1))
            await _refused(VersionConflict, store.put("/v", b"no", expected=1))
            assert await store.put("/v", b"1", expected=0) == 1
            await _refused(VersionConflict, store.put("/v", b"no", expected=0))
            await _refused(VersionConflict, store.put("/other", b"no", expected=0))
            assert await store.get("/v") == Versioned("/v", b"1", 1)
            assert await store.get("/other") is None

        self._run(tmp_path, body)

    def test_delete_compares_before_it_deletes(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            await store.put("/v", b"0")
            await store.put("/v", b"1")
            await _refused(VersionConflict, store.delete("/v", expected=0))
            await _refused(VersionConflict, store.delete("/v", expected=-1))
            assert await store.get("/v") == Versioned("/v", b"1", 1)
            assert await store.delete("/v", expected=1) is True
            await _refused(VersionConflict, store.delete("/v", expected=1))

        self._run(tmp_path, body)

    def test_a_conflict_says_what_is_there_and_is_the_callers_fault(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            await store.put("/v", b"0")
            error = await _refused(VersionConflict, store.put("/v", b"1", expected=7))
            assert "/v" in str(error)
            assert "7" in str(error)
            assert "0" in str(error)
            assert isinstance(error, MagnetarError)
            assert (error.status, error.fault) == (409, "client")

        self._run(tmp_path, body)

    def test_of_many_writers_at_once_one_wins_each_version(self, tmp_path: Path) -> None:
        async def add_one(store: MetadataStore) -> None:
            while True:
                found = await store.get("/counter")
                count, version = (0, -1) if found is None else (int(found.value), found.version)
                try:
                    await store.put("/counter", b"%d" % (count + 1), expected=version)
                    return
                except VersionConflict:
                    continue

        async def body(store: MetadataStore) -> None:
            await asyncio.gather(*(add_one(store) for _ in range(20)))
            assert await store.get("/counter") == Versioned("/counter", b"20", 19)

        self._run(tmp_path, body)

    def test_calls_made_together_take_effect_in_their_order(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            put = [store.put("/v", b"%d" % n) for n in range(100)]
            results = await asyncio.gather(*put, store.get("/v"), store.delete("/v"), store.get("/v"))
            assert results == [*range(100), Versioned("/v", b"99", 99), True, None]

        self._run(tmp_path, body)

    def test_a_conflict_does_not_hurt_the_calls_beside_it(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            calls = [store.put("/a", b"1"), store.put("/b", b"1", expected=5), store.put("/c", b"1")]
            first, second, third = await asyncio.gather(*calls, return_exceptions=True)
            assert (first, third) == (0, 0)
            assert isinstance(second, VersionConflict)
            assert [found.path for found in await store.scan("/")] == ["/a", "/c"]

        self._run(tmp_path, body)

    # The tree.

    def test_children_are_the_names_one_level_below(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            for path in ("/t/b", "/t/a/x/deep", "/t/a/y", "/t/a-b", "/t/a!/z", "/tt/q", "/t0", "/t/c", "/t/c/v"):
                await store.put(path, b"")
            assert await store.children("/t") == ["a", "a!", "a-b", "b", "c"]
            assert await store.children("/t/a") == ["x", "y"]
            assert await store.children("/") == ["t", "t0", "tt"]
            assert await store.children("/t/b") == []
            assert await store.children("/nothing") == []

        self._run(tmp_path, body)

    def test_deleting_a_path_leaves_what_is_below_it(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            await store.put("/t", b"")
            await store.put("/t/child", b"")
            assert await store.delete("/t") is True
            assert await store.children("/t") == ["child"]
            assert await store.children("/") == ["t"]

        self._run(tmp_path, body)

    def test_scan_goes_through_a_prefix_in_pages(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            wanted = [f"/topics/{n:03}" for n in range(25)]
            for path in [*reversed(wanted), "/topic", "/topics", "/topicsx", "/topics0", "/a", "/z"]:
                await store.put(path, path.encode())
            seen: list[Versioned] = []
            while page := await store.scan("/topics/", after=seen[-1].path if seen else None, limit=10):
                assert len(page) <= 10
                seen += page
            assert seen == [Versioned(path, path.encode(), 0) for path in wanted]

        self._run(tmp_path, body)

    def test_scan_starts_after_a_path_that_is_gone(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            for name in "abde":
                await store.put(f"/p/{name}", b"")
            assert [found.path for found in await store.scan("/p/", after="/p/c")] == ["/p/d", "/p/e"]
            assert [found.path for found in await store.scan("/p/", after="/a")] == ["/p/a", "/p/b", "/p/d", "/p/e"]
            assert await store.scan("/p/", after="/q") == []
            assert await store.scan("/p/", limit=0) == []

        self._run(tmp_path, body)

    def test_count_counts_what_scan_would_list(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            for n in range(30):
                await store.put(f"/n/{n}", b"")
            await store.put("/n0", b"")
            await store.delete("/n/7")
            for prefix in ("", "/", "/n", "/n/", "/n/1", "/x", "/\U0010ffff"):
                assert await store.count(prefix) == len(await store.scan(prefix))
            assert await store.count("/n/") == 29

        self._run(tmp_path, body)

    # Watching.

    def test_a_watcher_hears_every_change_under_its_prefix(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            heard: list[Change] = []
            store.watch("/w/", heard.append)
            await store.put("/w/a", b"0")
            await store.put("/x", b"not watched")
            await store.put("/w/a", b"1")
            await store.delete("/w/a")
            await store.delete("/w/never")
            await _refused(VersionConflict, store.put("/w/a", b"", expected=3))
            wanted = [Change("/w/a", b"0", 0), Change("/w/a", b"1", 1), Change("/w/a", None, 1)]
            assert heard == wanted

        self._run(tmp_path, body)

    def test_who_has_waited_for_a_write_finds_the_watchers_informed(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            heard: list[Change] = []
            store.watch("/", heard.append)
            for n in range(10):
                await store.put(f"/w/{n}", b"")
                assert len(heard) == n + 1

        self._run(tmp_path, body)

    def test_a_cancelled_watch_is_silent(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            heard: list[Change] = []
            other: list[Change] = []
            cancel = store.watch("/", heard.append)
            store.watch("/", other.append)
            await store.put("/a", b"")
            cancel()
            cancel()
            await store.put("/b", b"")
            assert [change.path for change in heard] == ["/a"]
            assert [change.path for change in other] == ["/a", "/b"]

        self._run(tmp_path, body)

    def test_a_watcher_that_fails_hurts_nobody(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            reported: list[object] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
            heard: list[Change] = []

            def fail(change: Change) -> None:
                raise LookupError(change.path)

            store.watch("/", fail)
            store.watch("/", heard.append)
            assert await store.put("/a", b"") == 0
            assert [change.path for change in heard] == ["/a"]
            assert len(reported) == 1

        self._run(tmp_path, body)

    def test_a_watcher_may_write(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            tasks: list[asyncio.Task[int]] = []

            def answer(change: Change) -> None:
                tasks.append(asyncio.ensure_future(store.put("/answer" + change.path, b"")))

            store.watch("/ask/", answer)
            await asyncio.gather(*(store.put(f"/ask/{n}", b"") for n in range(5)))
            await asyncio.gather(*tasks)
            assert await store.count("/answer/ask/") == 5

        self._run(tmp_path, body)

    # Its life.

    def test_values_and_versions_survive_closing(self, tmp_path: Path) -> None:
        async def body() -> None:
            store = self.make_store(tmp_path)
            async with _opened(store):
                await store.put("/v", b"0")
                await store.put("/v", b"1")
                await store.put("/w", b"0")
            again = self.make_store(tmp_path) if self.survives_reopen_as_new_object else store
            async with _opened(again):
                assert await again.scan("/") == [Versioned("/v", b"1", 1), Versioned("/w", b"0", 0)]
                await _refused(VersionConflict, again.put("/v", b"2", expected=0))
                assert await again.put("/v", b"2", expected=1) == 2

        asyncio.run(body())

    def test_closing_finishes_what_was_submitted(self, tmp_path: Path) -> None:
        async def body() -> None:
            store = self.make_store(tmp_path)
            await store.open()
            writes = [asyncio.ensure_future(store.put(f"/v/{n}", b"")) for n in range(50)]
            await asyncio.sleep(0)  # One turn, in which the tasks submit.
            await store.close()
            assert await asyncio.gather(*writes) == [0] * 50

        asyncio.run(body())

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        async def body() -> None:
            store = self.make_store(tmp_path)
            await _refused(MetadataFailed, store.get("/v"))
            async with _opened(store):
                await store.put("/v", b"")
            for call in (store.get("/v"), store.put("/v", b""), store.scan("/"), store.count("/"), store.children("/")):
                error = await _refused(MetadataFailed, call)
                assert "not open" in str(error)
            await store.close()

        asyncio.run(body())

    def test_a_caller_who_gives_up_leaves_the_store_in_order(self, tmp_path: Path) -> None:
        async def body(store: MetadataStore) -> None:
            task = asyncio.ensure_future(store.put("/v", b"0"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            version = await store.put("/v", b"1")
            assert version in (0, 1)
            assert await store.get("/v") == Versioned("/v", b"1", version)

        self._run(tmp_path, body)

    def _run(self, folder: Path, body: Callable[[MetadataStore], Awaitable[None]]) -> None:
        async def main() -> None:
            store = self.make_store(folder)
            async with _opened(store):
                await body(store)

        asyncio.run(main())


@asynccontextmanager
async def _opened(store: MetadataStore) -> AsyncIterator[None]:
    await store.open()
    try:
        yield
    finally:
        await store.close()


async def _refused(kind: type[E], call: Awaitable[object]) -> E:
    """The error that the call ends with, which must be of this kind."""
    try:
        answer = await call
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, and the call answered {answer!r}")
