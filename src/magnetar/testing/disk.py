"""A disk in memory that fails on request, for tests of the log in files.

It keeps apart what was written and what was synced, for the bytes of files as for the names in directories, and a
``power_cut`` loses of the unsynced what a real one may lose: all of it, its end, blocks in the middle, the names.

    disk = FaultDisk(seed=7)
    log = FileLog("data", disk=disk)
    ...
    disk.fail("fdatasync")          # the next one gives EIO
    disk.capacity = 100_000         # then ENOSPC, until it is raised
    survivor = disk.power_cut()     # what the next process finds; this disk is dead

After a failed sync the pages count as clean, as on Linux: a second sync of that file succeeds and makes nothing
durable.
``resynced`` lists the files where somebody tried.
"""

from __future__ import annotations

import errno
import os
import posixpath
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["FaultDisk"]

_BLOCK = 512


@dataclass(slots=True)
class _Node:
    data: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    poisoned: bool = False

    def sync(self) -> None:
        size = len(self.durable)
        if size <= len(self.data):
            self.durable += self.data[size:]
        else:
            del self.durable[len(self.data) :]

    def survive(self, dice: random.Random) -> _Node:
        """What is there after the power comes back."""
        kept = bytearray(self.durable)
        tail = bytearray(self.data[len(kept) :])
        what = dice.randrange(4)
        if what == 1:
            kept += tail
        elif what == 2:
            kept += tail[: dice.randint(0, len(tail))]
        elif what == 3 and tail:
            for start in range(0, len(tail), _BLOCK):
                if dice.random() < 0.3:
                    stop = min(start + _BLOCK, len(tail))
                    tail[start:stop] = bytes(stop - start)
            kept += tail
        if len(self.data) < len(self.durable) and dice.random() < 0.5:
            kept = bytearray(self.data)
        return _Node(bytearray(kept), kept)


@dataclass(slots=True)
class _Fault:
    operation: str
    error: int
    times: int
    skip: int
    within: str


class FaultDisk:
    """See the module's text. All randomness comes from ``seed``, the name of the file and the count of power cuts."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.capacity: int | None = None
        self.short_write_bytes: int | None = None
        self.resynced: list[str] = []
        self.operations = 0
        self._cuts = 0
        self._dead_at: int | None = None
        self._faults: list[_Fault] = []
        self._names: dict[str, _Node] = {}
        self._durable_names: dict[str, _Node] = {}
        self._pending: list[tuple[str, str, _Node | None]] = []
        """Changes to directories that are not synced: directory, path, and the node now there."""
        self._open: dict[int, tuple[str, _Node]] = {}
        self._next_fd = 3
        self._locks: dict[str, int] = {}
        self._mutex = threading.Lock()

    # Faults.

    def fail(self, operation: str, *, error: int = errno.EIO, times: int = 1, skip: int = 0, within: str = "") -> None:
        """The next ``times`` calls of ``operation`` on paths that contain ``within`` fail, after ``skip`` good ones."""
        with self._mutex:
            self._faults.append(_Fault(operation, error, times, skip, within))

    @property
    def healthy(self) -> bool:
        """Whether nothing is about to fail."""
        with self._mutex:
            return not self._faults and self.capacity is None and self._dead_at is None

    def heal(self) -> None:
        """Forget all faults that have not struck; a machine that stands still goes on."""
        with self._mutex:
            self._faults.clear()
            self.capacity = self.short_write_bytes = self._dead_at = None

    @property
    def used(self) -> int:
        """Bytes of all files."""
        with self._mutex:
            return sum(len(node.data) for node in self._names.values())

    def stop_after(self, operations: int) -> None:
        """After so many more changing operations the machine stands still: all fail until ``power_cut`` or ``kill``."""
        with self._mutex:
            self._dead_at = self.operations + operations

    @property
    def stopped(self) -> bool:
        """Whether ``stop_after`` has come to its end."""
        with self._mutex:
            return self._dead_at is not None and self.operations >= self._dead_at

    def flip(self, path: str, position: int, bit: int = 0) -> None:
        """One bit of a file is not what it was."""
        with self._mutex:
            node = self._names[path]
            node.data[position] ^= 1 << bit
            if position < len(node.durable):
                node.durable[position] ^= 1 << bit

    def power_cut(self) -> FaultDisk:
        """The disk as the next process finds it when the power failed just now. This one is dead."""
        with self._mutex:
            after = self._successor()
            dice = self._dice("names")
            names = dict(self._durable_names)
            for _, path, node in self._pending[: dice.randint(0, len(self._pending))]:
                _set(names, path, node)
            for path, node in names.items():
                after._names[path] = node.survive(self._dice(posixpath.basename(path)))
            after._durable_names = dict(after._names)
            return after

    def kill(self) -> FaultDisk:
        """The same when only the process died: all that was written is there, but not all of it is synced."""
        with self._mutex:
            after = self._successor()
            after._names = dict(self._names)
            after._durable_names = dict(self._durable_names)
            after._pending = list(self._pending)
            return after

    def _successor(self) -> FaultDisk:
        self._dead_at = -1
        after = FaultDisk(self.seed)
        after._cuts = self._cuts + 1
        return after

    def _dice(self, name: str) -> random.Random:
        return random.Random(f"{self.seed}/{self._cuts}/{name}")

    def _enter(self, operation: str, path: str, *, changes: bool = True) -> None:
        if self._dead_at is not None and self.operations >= self._dead_at:
            raise OSError(errno.EIO, "the machine stands still", path)
        self.operations += changes
        for fault in self._faults:
            if fault.operation == operation and fault.within in path:
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
                raise OSError(fault.error, os.strerror(fault.error), path)

    # What a disk does.

    def create(self, path: str) -> int:
        with self._mutex:
            self._enter("create", path)
            node = _Node()
            self._change(path, node)
            return self._handle(path, node)

    def open(self, path: str) -> int:
        with self._mutex:
            self._enter("open", path, changes=False)
            return self._handle(path, self._node(path))

    def _handle(self, path: str, node: _Node) -> int:
        self._next_fd += 1
        self._open[self._next_fd] = (path, node)
        return self._next_fd

    def _node(self, path: str) -> _Node:
        node = self._names.get(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return node

    def _change(self, path: str, node: _Node | None) -> None:
        _set(self._names, path, node)
        self._pending.append((posixpath.dirname(path), path, node))

    def close(self, fd: int) -> None:
        with self._mutex:
            path, _ = self._open.pop(fd)
            if self._locks.get(path) == fd:
                del self._locks[path]

    def write(self, fd: int, chunks: Sequence[bytes]) -> int:
        with self._mutex:
            path, node = self._open[fd]
            self._enter("write", path)
            data = b"".join(chunks)
            if self.short_write_bytes is not None:
                data = data[: self.short_write_bytes]
            if self.capacity is not None:
                room = self.capacity - sum(len(other.data) for other in self._names.values())
                if room <= 0 and data:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
                data = data[:room]
            node.data += data
            return len(data)

    def fdatasync(self, fd: int) -> None:
        self._sync("fdatasync", fd)

    def fsync(self, fd: int) -> None:
        self._sync("fsync", fd)

    def _sync(self, operation: str, fd: int) -> None:
        with self._mutex:
            path, node = self._open[fd]
            if node.poisoned:
                self.resynced.append(path)
                return
            try:
                self._enter(operation, path)
            except OSError:
                node.poisoned = True
                raise
            node.sync()

    def pread(self, fd: int, size: int, position: int) -> bytes:
        with self._mutex:
            path, node = self._open[fd]
            self._enter("pread", path, changes=False)
            return bytes(node.data[position : position + size])

    def size(self, path: str) -> int:
        with self._mutex:
            self._enter("size", path, changes=False)
            return len(self._node(path).data)

    def truncate(self, path: str, size: int, *, sync: bool) -> None:
        with self._mutex:
            self._enter("truncate", path)
            node = self._node(path)
            del node.data[size:]
            if sync and node.poisoned:
                self.resynced.append(path)
            elif sync:
                node.sync()

    def rename(self, old: str, new: str) -> None:
        with self._mutex:
            self._enter("rename", new)
            node = self._node(old)
            self._change(new, node)
            self._change(old, None)

    def unlink(self, path: str) -> None:
        with self._mutex:
            self._enter("unlink", path)
            self._node(path)
            self._change(path, None)

    def listdir(self, path: str) -> list[str]:
        with self._mutex:
            self._enter("listdir", path, changes=False)
            return sorted(posixpath.basename(name) for name in self._names if posixpath.dirname(name) == path)

    def make_directory(self, path: str) -> None:
        with self._mutex:
            self._enter("make_directory", path)

    def fsync_directory(self, path: str) -> None:
        with self._mutex:
            self._enter("fsync_directory", path)
            for directory, name, node in self._pending:
                if directory == path:
                    _set(self._durable_names, name, node)
            self._pending = [change for change in self._pending if change[0] != path]

    def lock(self, path: str) -> int | None:
        with self._mutex:
            self._enter("lock", path)
            if path in self._locks:
                return None
            fd = self._locks[path] = self._handle(path, _Node())
            return fd


def _set(names: dict[str, _Node], path: str, node: _Node | None) -> None:
    if node is None:
        names.pop(path, None)
    else:
        names[path] = node
