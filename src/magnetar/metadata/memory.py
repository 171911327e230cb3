"""Metadata in memory: for tests, for the embedded broker, and for the simulator.

What was written stays when the store is closed and opened again, as it would on a disk; it goes with the object.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable

from magnetar.errors import MetadataFailed
from magnetar.metadata.paths import check_path, check_prefix, check_value, check_version, prefix_end
from magnetar.metadata.watches import Watches
from magnetar.ports.metadata import Change, Versioned

__all__ = ["MemoryMetadata"]


class MemoryMetadata:
    """A ``MetadataStore`` whose values live in a dictionary beside a sorted list of their paths.

    >>> store = MemoryMetadata()
    >>> await store.open()
    >>> await store.put("/tenants/public", b"{}", expected=-1)
    0
    """

    def __init__(self) -> None:
        self._values: dict[str, Versioned] = {}
        self._paths: list[str] = []
        self._watches = Watches()
        self._is_open = False

    async def open(self) -> None:
        self._is_open = True

    async def get(self, path: str) -> Versioned | None:
        self._check(path)
        return self._values.get(path)

    async def put(self, path: str, value: bytes, expected: int | None = None) -> int:
        self._check(path)
        check_value(path, value)
        found = self._values.get(path)
        check_version(path, None if found is None else found.version, expected)
        version = 0 if found is None else found.version + 1
        if found is None:
            insort(self._paths, path)
        self._values[path] = Versioned(path, value, version)
        await self._tell(Change(path, value, version))
        return version

    async def delete(self, path: str, expected: int | None = None) -> bool:
        self._check(path)
        found = self._values.get(path)
        check_version(path, None if found is None else found.version, expected)
        if found is None:
            return False
        del self._values[path]
        del self._paths[bisect_left(self._paths, path)]
        await self._tell(Change(path, None, found.version))
        return True

    async def children(self, path: str) -> list[str]:
        prefix = "/" if path == "/" else path + "/"
        self._check(None if path == "/" else path)
        start, end = self._range(prefix)
        return sorted({p[len(prefix) :].partition("/")[0] for p in self._paths[start:end]})

    async def scan(self, prefix: str, after: str | None = None, limit: int = 1000) -> list[Versioned]:
        self._check(None)
        check_prefix(prefix)
        check_prefix(after or "")
        start, end = self._range(prefix)
        if after is not None:
            start = max(start, bisect_right(self._paths, after))
        return [self._values[p] for p in self._paths[start : min(end, start + max(limit, 0))]]

    async def count(self, prefix: str) -> int:
        self._check(None)
        check_prefix(prefix)
        start, end = self._range(prefix)
        return end - start

    def watch(self, prefix: str, callback: Callable[[Change], None]) -> Callable[[], None]:
        return self._watches.add(prefix, callback)

    async def close(self) -> None:
        self._is_open = False

    def _check(self, path: str | None) -> None:
        if not self._is_open:
            raise MetadataFailed("the metadata store is not open: open it first, and do not use it after closing it")
        if path is not None:
            check_path(path)

    def _range(self, prefix: str) -> tuple[int, int]:
        """Where the paths with this prefix begin and end in the sorted list."""
        end = prefix_end(prefix)
        return bisect_left(self._paths, prefix), len(self._paths) if end is None else bisect_left(self._paths, end)

    async def _tell(self, change: Change) -> None:
        if self._watches.tell(asyncio.get_running_loop(), [change]):
            # One turn of the loop, in which the callbacks run: a writer finds its watchers informed, as with SQLite.
            await asyncio.sleep(0)
