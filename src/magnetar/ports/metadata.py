"""The metadata port: a small tree of versioned values, for tenants, namespaces, topics, policies and schemas.

Paths look like ``/topics/public/default/persistent/orders``: they begin with a slash, their segments are not empty, and
a segment may hold any character but a slash (names are percent-encoded by the caller). A value is bytes; its version
begins at 0 when the path is created and rises by one with every write. Deleting a path does not need its children to be
gone, and a path may have children without having a value itself.

``put`` and ``delete`` compare and set: ``expected`` None means whatever there is, -1 means that nothing may be there
(create), a number means exactly this version; otherwise ``VersionConflict`` is raised and nothing has changed. A write
that has returned is durable.

``watch`` tells of every change under a prefix, made through this store or by another process that shares it, in order
for each path. Callbacks run in the event loop, after the write is durable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from magnetar.errors import MetadataFailed

__all__ = ["Change", "MetadataStore", "VersionConflict", "Versioned"]


class VersionConflict(MetadataFailed):
    """The path is not in the version that the writer expected; nothing was changed."""

    status = 409
    fault = "client"


@dataclass(slots=True, frozen=True)
class Versioned:
    """A value with the path it stands at and its version."""

    path: str
    value: bytes
    version: int


@dataclass(slots=True, frozen=True)
class Change:
    """One change under a watched prefix; ``value`` None means deleted."""

    path: str
    value: bytes | None
    version: int


class MetadataStore(Protocol):
    """See the module's text. All methods are called from the event loop's thread and never block it."""

    async def open(self) -> None: ...

    async def get(self, path: str) -> Versioned | None: ...

    async def put(self, path: str, value: bytes, expected: int | None = None) -> int: ...

    async def delete(self, path: str, expected: int | None = None) -> bool: ...

    async def children(self, path: str) -> list[str]: ...

    async def scan(self, prefix: str, after: str | None = None, limit: int = 1000) -> list[Versioned]:
        """Values whose path begins with ``prefix``, in order of path, those after ``after`` only, at most ``limit``."""
        ...

    async def count(self, prefix: str) -> int: ...

    def watch(self, prefix: str, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call ``callback`` for changes under ``prefix`` until the returned function is called."""
        ...

    async def close(self) -> None: ...
