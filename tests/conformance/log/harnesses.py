"""The harnesses of the adapters that Magnetar has itself."""

from __future__ import annotations

import contextlib
import errno
import random
from collections.abc import Sequence
from pathlib import Path

from magnetar.errors import LogFailed
from magnetar.log.files import FileLog
from magnetar.log.files.disk import OsDisk
from magnetar.log.memory import MemoryLog
from magnetar.ports.log import LogStore
from magnetar.testing.disk import FaultDisk
from magnetar.testing.log_conformance import LogHarness

DIRECTORY = "data/log"


class MemoryHarness(LogHarness):
    """The memory log, completing everything at once."""

    def __init__(self, seed: int = 0) -> None:
        self.dice = random.Random(seed)
        self.log = MemoryLog(auto=True)
        self.failures = 0

    def open(self) -> LogStore:
        self.log = self.log.crash()
        return self.log

    def cut_power(self, store: LogStore) -> None:
        assert store is self.log

    def fail_next(self, times: int) -> None:
        self.log.fail_next(times)

    def damage(self, stream: int, offset: int) -> None:
        self.log.damage(stream, offset)


class FilesHarness(LogHarness):
    """The log in files, on a disk in memory that loses what it may lose."""

    segment_bytes = 2048

    def __init__(self, seed: int = 0) -> None:
        self.disk = FaultDisk(seed)
        self.dice = random.Random(seed)
        self.cuts = 0

    def open(self) -> LogStore:
        return FileLog(
            DIRECTORY,
            segment_bytes=self.segment_bytes,
            checkpoint_bytes=4096,
            index_cache_bytes=2000,
            compact_bytes_per_second=0,
            disk=self.disk,
        )

    def cut_power(self, store: LogStore) -> None:
        self.cuts += 1
        # Every third time it is only the process that dies.
        dead, self.disk = self.disk, self.disk.kill() if self.cuts % 3 == 2 else self.disk.power_cut()
        store.close()
        assert not dead.resynced, "a file was synced again after its sync had failed"
        if self.cuts % 4 == 3:
            self._interrupt_a_recovery()

    def _interrupt_a_recovery(self) -> None:
        """The power fails once more while the log is being recovered, or just after."""
        self.disk.stop_after(self.dice.randrange(25))
        store = self.open()
        with contextlib.suppress(LogFailed):
            store.recover()
        store.close()
        assert not self.disk.resynced
        self.disk = self.disk.power_cut()

    def fail_next(self, times: int) -> None:
        self.disk.fail("fdatasync", times=times)

    def trouble(self, kind: int, amount: int) -> None:
        disk = self.disk
        if kind < 3:
            disk.stop_after(amount)
        elif kind == 3:
            disk.short_write_bytes = amount + 1
        elif kind == 4:
            disk.capacity = disk.used + amount * 100
        elif kind == 5:
            disk.fail("write", skip=amount % 3, error=errno.ENOSPC)
        elif kind == 6:
            disk.fail("fsync", skip=amount % 5)
        elif kind == 7:
            disk.fail("fsync_directory", skip=amount % 5)
        elif kind == 8:
            disk.fail("create", skip=amount % 5)
        else:
            disk.fail("rename", skip=amount % 3)

    def relieve(self) -> None:
        self.disk.heal()

    def damage(self, stream: int, offset: int) -> None:
        head = stream.to_bytes(8, "little") + offset.to_bytes(8, "little")
        for name in self.disk.listdir(DIRECTORY):
            path = f"{DIRECTORY}/{name}"
            fd = self.disk.open(path)
            at = self.disk.pread(fd, self.disk.size(path), 0).find(head)
            self.disk.close(fd)
            if name.endswith(".seg") and at >= 0:
                self.disk.flip(path, at + len(head) + 2, 3)
                return
        raise AssertionError("no such entry")

    @property
    def healthy(self) -> bool:
        return self.disk.healthy


class _FailingDisk(OsDisk):
    """The real disk, but that its syncs can fail and that it can go away under a log."""

    def __init__(self) -> None:
        self.failures = 0
        self.gone = False

    def write(self, fd: int, chunks: Sequence[bytes]) -> int:
        self._check()
        return super().write(fd, chunks)

    def fdatasync(self, fd: int) -> None:
        self._check()
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EIO, "injected")
        super().fdatasync(fd)

    def create(self, path: str) -> int:
        self._check()
        return super().create(path)

    def _check(self) -> None:
        if self.gone:
            raise OSError(errno.EIO, "the disk is gone")


class OsHarness(LogHarness):
    """The log in files on the real disk. Its power cut is a process that dies: what was written stays."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.disk = _FailingDisk()

    def open(self) -> LogStore:
        self.disk = _FailingDisk()
        return FileLog(self.directory, segment_bytes=2048, checkpoint_bytes=4096, disk=self.disk)

    def cut_power(self, store: LogStore) -> None:
        self.disk.gone = True
        store.close()

    def fail_next(self, times: int) -> None:
        self.disk.failures = times

    def damage(self, stream: int, offset: int) -> None:
        head = stream.to_bytes(8, "little") + offset.to_bytes(8, "little")
        for path in sorted(self.directory.glob("*.seg")):
            data = bytearray(path.read_bytes())
            at = data.find(head)
            if at >= 0:
                data[at + len(head) + 2] ^= 8
                with path.open("r+b") as file:
                    file.write(data)
                return
        raise AssertionError("no such entry")
