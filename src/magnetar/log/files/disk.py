"""The few things the log asks of a disk, so that a test can stand a faulty one in their place.

Calls may be made from any thread and raise ``OSError``. A descriptor is an integer that only the same disk understands.
``magnetar.testing.disk.FaultDisk`` is the other implementation.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from typing import Protocol

__all__ = ["Disk", "OsDisk"]


class Disk(Protocol):
    """See the module's text."""

    def create(self, path: str) -> int:
        """A new, empty file open for writing; an old one of this name is gone."""
        ...

    def open(self, path: str) -> int:
        """An existing file, open for reading."""
        ...

    def close(self, fd: int) -> None: ...

    def write(self, fd: int, chunks: Sequence[bytes]) -> int:
        """Append as much of ``chunks`` as goes in one call; how many bytes that was."""
        ...

    def fdatasync(self, fd: int) -> None: ...

    def fsync(self, fd: int) -> None: ...

    def pread(self, fd: int, size: int, position: int) -> bytes: ...

    def size(self, path: str) -> int: ...

    def truncate(self, path: str, size: int, *, sync: bool) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def listdir(self, path: str) -> list[str]: ...

    def make_directory(self, path: str) -> None: ...

    def fsync_directory(self, path: str) -> None: ...

    def lock(self, path: str) -> int | None:
        """Take the lock that ``path`` stands for; ``None`` if another holds it. ``close`` gives it back."""
        ...


class OsDisk:
    """The real one."""

    def create(self, path: str) -> int:
        return os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o640)

    def open(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, chunks: Sequence[bytes]) -> int:
        return os.writev(fd, chunks)

    def fdatasync(self, fd: int) -> None:
        os.fdatasync(fd)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def pread(self, fd: int, size: int, position: int) -> bytes:
        return os.pread(fd, size, position)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def truncate(self, path: str, size: int, *, sync: bool) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.fstat(fd).st_size > size:
                os.ftruncate(fd, size)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, mode=0o750, exist_ok=True)

    def fsync_directory(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> int | None:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return fd
