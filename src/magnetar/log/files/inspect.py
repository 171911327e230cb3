"""Looking at a log from outside: what ``magnetar log inspect DIR`` and ``magnetar log verify DIR`` print.

Both read a log that nobody uses, change nothing, and refuse one that a broker holds.

    for line in inspect("data/log"):
        print(line)
    report = verify("data/log")
    if report.first_bad is not None:
        print(report.first_bad)          # file, byte, what was expected
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from magnetar.errors import LogFailed
from magnetar.log.files.checkpoint import decode_checkpoint, parse_checkpoint_name
from magnetar.log.files.disk import Disk, OsDisk
from magnetar.log.files.errors import DirectoryInUse, failure
from magnetar.log.files.index import decode_index
from magnetar.log.files.records import DROP, DROP_STREAM, MERGE, PUT, TRIM, Entries
from magnetar.log.files.segment import Damage, Scan, decode_header, parse_name, sidecar_name
from magnetar.log.files.sidecar import read_file

__all__ = ["Bad", "FileSummary", "Report", "inspect", "summaries", "verify"]

_KINDS = {PUT: "puts", MERGE: "merges", DROP: "drops", TRIM: "trims", DROP_STREAM: "dropped streams"}
_LOCK_NAME = "LOCK"


@dataclass(slots=True, frozen=True)
class Bad:
    """Something that is not what it should be: in which file, from which byte on, and what belongs there."""

    file: str
    position: int
    expected: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.file}, byte {self.position}: expected {self.expected}"


@dataclass(slots=True)
class FileSummary:
    """One file of a log: what it is, how much of it counts, what is in it, what is wrong with it."""

    name: str
    kind: str
    size: int = 0
    valid: int = 0
    commits: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    streams: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For a segment: first and last offset of each stream's entries in it."""
    bad: list[Bad] = field(default_factory=list)
    torn: Bad | None = None
    """The unfinished end of the newest segment: what a crash leaves, and no damage."""
    about: str = ""

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.kind}, {self.size} bytes"]
        if self.about:
            parts.append(self.about)
        if self.kind == "segment":
            parts.append(f"{self.commits} commits")
            parts.extend(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return ", ".join(parts)


@dataclass(slots=True)
class Report:
    """What ``verify`` found."""

    files: int = 0
    commits: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[Bad] = field(default_factory=list)
    torn: list[Bad] = field(default_factory=list)

    @property
    def first_bad(self) -> Bad | None:
        """The first thing found to be damaged, in the order of the files."""
        return self.bad[0] if self.bad else None

    @property
    def ok(self) -> bool:
        """Whether every byte that counts is what it was when it was written."""
        return not self.bad


@contextmanager
def _held(disk: Disk, directory: str) -> Iterator[None]:
    """Keep brokers out while the log is read; refuse if one is in."""
    try:
        names = disk.listdir(directory)
    except OSError as error:
        raise LogFailed(
            f"{directory} cannot be read: {error.strerror}. Name the directory that holds the log"
        ) from error
    if not any(name.endswith(".seg") or name == _LOCK_NAME for name in names):
        raise LogFailed(f"{directory} holds no log. Name the directory in which there are .seg files")
    lock = disk.lock(os.path.join(directory, _LOCK_NAME))
    if lock is None:
        raise DirectoryInUse(f"{directory} is in use by a broker: stop it first, then look at its log")
    try:
        yield
    finally:
        disk.close(lock)


def summaries(directory: str | os.PathLike[str], *, disk: Disk | None = None) -> Iterator[FileSummary]:
    """One summary a file: checkpoints first, then the segments from the oldest on, each with its index."""
    place = os.fspath(directory)
    real = OsDisk() if disk is None else disk
    with _held(real, place):
        try:
            yield from _Examination(real, place).run()
        except OSError as error:
            raise failure(error, place, "reading the log") from error


def inspect(directory: str | os.PathLike[str], *, disk: Disk | None = None) -> Iterator[str]:
    """The log in ``directory`` in lines for a person."""
    for summary in summaries(directory, disk=disk):
        yield str(summary)
        for stream, (first, last) in sorted(summary.streams.items()):
            yield f"  stream {stream}: entries {first} to {last}"
        for bad in summary.bad:
            yield f"  DAMAGED {bad}"
        if summary.torn is not None:
            yield f"  not finished: from byte {summary.torn.position} on, {summary.torn.size} bytes that recovery cuts"


def verify(directory: str | os.PathLike[str], *, disk: Disk | None = None) -> Report:
    """Read every byte of the log in ``directory`` and check it."""
    report = Report()
    for summary in summaries(directory, disk=disk):
        report.files += 1
        report.commits += summary.commits
        report.counts.update(summary.counts)
        report.bad.extend(summary.bad)
        if summary.torn is not None:
            report.torn.append(summary.torn)
    return report


class _Examination:
    """One pass over the files of a directory."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._names = set(disk.listdir(directory))
        self._generations: dict[int, int] = {}
        for name in self._names:
            parsed = parse_name(name)
            if parsed is not None:
                number, generation = parsed
                self._generations[number] = max(generation, self._generations.get(number, 0))

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def run(self) -> Iterator[FileSummary]:
        """All of it."""
        for name in sorted(self._names):
            if parse_checkpoint_name(name) is not None:
                yield self._checkpoint(name)
        limits = self._limits()
        numbers = sorted(self._generations)
        for number in numbers:
            name = sidecar_name(number, self._generations[number])[:-4] + ".seg"
            summary = self._segment(name, limits.get(number), number == numbers[-1])
            yield summary
            sidecar = sidecar_name(number, self._generations[number])
            if sidecar in self._names:
                yield self._index(sidecar, number, summary.valid)

    def _limits(self) -> dict[int, int]:
        """How much of each segment its successor says is valid; 0 for those declared void."""
        limits: dict[int, int] = {}
        for number, generation in self._generations.items():
            name = sidecar_name(number, generation)[:-4] + ".seg"
            scan = Scan(self._disk, self._path(name))
            header = decode_header(scan.header(), self._path(name))
            scan.close()
            if header is not None:
                if not self._generations.get(header.previous, 0):
                    limits[header.previous] = header.previous_valid
                limits.update(dict.fromkeys(range(header.previous + 1, number), 0))
        return limits

    def _checkpoint(self, name: str) -> FileSummary:
        data = read_file(self._disk, self._path(name))
        summary = FileSummary(name, "checkpoint", len(data), len(data))
        found = decode_checkpoint(data, self._path(name))
        if found is None:
            summary.bad.append(Bad(name, 0, "a checkpoint whose checksum holds", len(data)))
        else:
            summary.about = (
                f"{len(found.streams.streams)} streams, {len(found.state)} state values, "
                f"replay from segment {found.start}"
            )
        return summary

    def _index(self, name: str, number: int, valid: int) -> FileSummary:
        data = read_file(self._disk, self._path(name))
        summary = FileSummary(name, "index", len(data), len(data))
        if decode_index(data, number, self._generations[number], valid) is None:
            summary.bad.append(Bad(name, 0, f"the index of the first {valid} bytes of segment {number}", len(data)))
        return summary

    def _segment(self, name: str, limit: int | None, newest: bool) -> FileSummary:
        scan = Scan(self._disk, self._path(name), limit, 0 if newest else 1 << 62)
        summary = FileSummary(name, "segment", scan.size)
        try:
            if decode_header(scan.header(), self._path(name)) is None and limit != 0:
                where = Bad(name, 0, "the header of a segment", min(scan.size, scan.valid))
                if newest and scan.size <= scan.valid:
                    summary.torn = where
                else:
                    summary.bad.append(where)
            if newest:
                scan.find_proven()
            for found in scan:
                if isinstance(found, Damage):
                    summary.bad.append(Bad(name, found.position, found.expected, found.size))
                elif isinstance(found, Entries):
                    self._count_entries(summary, found)
                else:
                    summary.counts[_KINDS.get(found[1][8], "unknown records")] += 1
            summary.commits = scan.commits
            summary.valid = scan.valid
            if scan.torn is not None:
                torn = scan.torn
                summary.torn = Bad(name, torn.position, torn.expected, scan.size - scan.valid)
        finally:
            scan.close()
        return summary

    def _count_entries(self, summary: FileSummary, found: Entries) -> None:
        count = len(found.lengths) - 1
        summary.counts["entries"] += count
        first, last = summary.streams.get(found.stream, (found.offset, found.offset))
        summary.streams[found.stream] = (min(first, found.offset), max(last, found.offset + count - 1))
