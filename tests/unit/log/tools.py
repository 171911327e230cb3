"""What the tests of the log in files have in common: a log on a faulty disk, driven by hand."""

from __future__ import annotations

from magnetar.log.files import FileLog
from magnetar.log.files.segment import segment_name
from magnetar.ports.log import LogStore
from magnetar.testing.disk import FaultDisk
from magnetar.testing.log_conformance import LogHarness, Session

DIRECTORY = "data/log"


class Files(LogHarness):
    """A log whose disk is at hand as ``disk``. Nothing is lost in its power cuts but what ``disk`` decides."""

    def __init__(self, *, segment_bytes: int = 1000, seed: int = 0) -> None:
        self.segment_bytes = segment_bytes
        self.disk = FaultDisk(seed)

    def open(self) -> LogStore:
        return FileLog(DIRECTORY, segment_bytes=self.segment_bytes, compact_bytes_per_second=0, disk=self.disk)

    def cut_power(self, store: LogStore) -> None:
        dead, self.disk = self.disk, self.disk.power_cut()
        store.close()
        assert not dead.resynced

    def kill(self, store: LogStore) -> Session:
        """The process dies, the machine goes on."""
        dead, self.disk = self.disk, self.disk.kill()
        store.close()
        assert not dead.resynced
        return Session(self)

    def fail_next(self, times: int) -> None:
        self.disk.fail("fdatasync", times=times)

    def damage(self, stream: int, offset: int) -> None:
        raise NotImplementedError

    def names(self, suffix: str) -> list[str]:
        """The files that end so."""
        return [name for name in self.disk.listdir(DIRECTORY) if name.endswith(suffix)]

    def bytes_of(self, name: str) -> bytes:
        """The content of a file."""
        path = f"{DIRECTORY}/{name}"
        fd = self.disk.open(path)
        try:
            return self.disk.pread(fd, self.disk.size(path), 0)
        finally:
            self.disk.close(fd)

    def flip(self, name: str, position: int) -> None:
        """Change one bit of a file."""
        self.disk.flip(f"{DIRECTORY}/{name}", position, 2)

    def segment(self, number: int) -> bytes:
        """The content of a segment."""
        return self.bytes_of(segment_name(number))
