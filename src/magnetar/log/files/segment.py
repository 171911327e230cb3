"""Segment files: their names, their header, and the scan that reads one from its beginning.

A segment is ``<number>.seg``; when compaction has rewritten it, ``<number>-<generation>.seg`` takes its place, and of
several generations the highest one counts. The header names the segment before this one *and how much of it is
valid*: whatever an abandoned segment holds behind that length was never acknowledged and is void, and so is every
segment whose number lies between the two. A rewritten segment is whole by construction, so for it the successor's word
does not count.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from google_crc32c import value as crc32c

from magnetar.log.files.disk import Disk
from magnetar.log.files.errors import FormatUnknown
from magnetar.log.files.records import (
    COMMIT,
    COMMIT_BYTES,
    ENTRY,
    ENTRY_HEAD_BYTES,
    RECORD_HEAD,
    RECORD_HEAD_BYTES,
    Entries,
    decode_body,
    decode_commit,
    decode_entry,
)

__all__ = [
    "HEADER_BYTES",
    "LENGTH_UNKNOWN",
    "Damage",
    "Header",
    "Scan",
    "decode_header",
    "encode_header",
    "parse_name",
    "pread_all",
    "segment_name",
    "sidecar_name",
    "write_all",
]

MAGIC: Final = b"MGNTRSEG"
VERSION: Final = 1
_HEADER: Final = Struct("<8sIQIQI")
"""Magic, version, number, generation, number of the segment before, its valid length; a CRC32C follows."""
_CRC: Final = Struct("<I")
HEADER_BYTES: Final = _HEADER.size + 4
LENGTH_UNKNOWN: Final = 0xFFFF_FFFF
"""For the valid length of the segment before: all of it."""
_WINDOW_BYTES: Final = 1 << 20
_IOV_MAX: Final = 1024
_JOIN_BELOW_BYTES: Final = 4096
_NAME = re.compile(r"^(\d{20})(?:-(\d{4}))?\.seg$")


@dataclass(slots=True, frozen=True)
class Header:
    """The first bytes of a segment."""

    number: int
    generation: int
    previous: int
    previous_valid: int


def segment_name(number: int, generation: int = 0) -> str:
    """The file name of a segment."""
    return f"{number:020d}-{generation:04d}.seg" if generation else f"{number:020d}.seg"


def sidecar_name(number: int, generation: int = 0) -> str:
    """The file name of the index of a segment."""
    return segment_name(number, generation)[:-4] + ".idx"


def parse_name(name: str) -> tuple[int, int] | None:
    """Number and generation, if ``name`` is that of a segment."""
    match = _NAME.match(name)
    return None if match is None else (int(match[1]), int(match[2] or 0))


def encode_header(header: Header) -> bytes:
    """The bytes a segment begins with."""
    data = _HEADER.pack(MAGIC, VERSION, header.number, header.generation, header.previous, header.previous_valid)
    return data + _CRC.pack(crc32c(data))


def decode_header(data: bytes, path: str) -> Header | None:
    """The header in ``data``, ``None`` if it is torn or damaged; a later format raises ``FormatUnknown``."""
    if len(data) < HEADER_BYTES or _CRC.unpack_from(data, _HEADER.size)[0] != crc32c(data[: _HEADER.size]):
        return None
    magic, version, number, generation, previous, valid = _HEADER.unpack_from(data)
    if magic != MAGIC:
        return None
    if version != VERSION:
        raise FormatUnknown(f"{path} has format version {version}, this Magnetar knows {VERSION}: use a later release")
    return Header(number, generation, previous, valid)


def write_all(disk: Disk, fd: int, chunks: list[bytes], size: int) -> None:
    """Write all of ``chunks``, ``size`` bytes together, going on after short writes."""
    if size < _JOIN_BELOW_BYTES * len(chunks):
        # Many small pieces: one copy costs less than handing each of them to the kernel.
        chunks = [b"".join(chunks)]
    at = 0
    while at < len(chunks):
        part = chunks[at : at + _IOV_MAX]
        written = disk.write(fd, part)
        for chunk in part:
            if written < len(chunk):
                break
            written -= len(chunk)
            at += 1
        if written:
            chunks[at] = chunks[at][written:]


@dataclass(slots=True, frozen=True)
class Damage:
    """Bytes of a segment that are not what they should be."""

    position: int
    size: int
    expected: str
    record: bytes = b""


Found = Entries | tuple[int, bytes] | Damage
"""What a scan comes upon: entries, another record with its position, or something that is not what it should be."""


class Scan:
    """A segment read from the front, a window at a time.

    Iterating gives the records of whole commits, and a ``Damage`` for what cannot be read but lies below the proven
    length. Afterwards ``valid`` is where the last whole commit ends, and ``torn`` says what
    stopped the scan before the end of the file, if anything did.
    """

    def __init__(self, disk: Disk, path: str, limit: int | None = None, proven: int = 0) -> None:
        self._disk = disk
        self._fd = disk.open(path)
        self.size = disk.size(path)
        self._end = self.size if limit is None else min(limit, self.size)
        self._proven = min(proven, self._end)
        self._window = b""
        self._window_at = 0
        self.valid = min(HEADER_BYTES, self._end)
        self.torn: Damage | None = None
        self.commits = 0

    def close(self) -> None:
        """Give the file back."""
        self._disk.close(self._fd)

    def header(self) -> bytes:
        """The first bytes, whatever they are."""
        return self._bytes(0, min(HEADER_BYTES, self.size))

    def _bytes(self, position: int, size: int) -> bytes:
        at = position - self._window_at
        if at < 0 or at + size > len(self._window):
            self._window = pread_all(self._disk, self._fd, max(size, _WINDOW_BYTES), position)
            self._window_at = position
            at = 0
        return self._window[at : at + size]

    def _whole(self, position: int, end: int) -> bytes | None:
        """The record at ``position`` if it is sound and ends by ``end``."""
        if position + RECORD_HEAD_BYTES > end:
            return None
        crc, length, _ = RECORD_HEAD.unpack(self._bytes(position, RECORD_HEAD_BYTES))
        if length < 1 or position + 8 + length > end:
            return None
        record = self._bytes(position, 8 + length)
        return record if len(record) == 8 + length and crc32c(record[4:]) == crc else None

    def find_proven(self) -> int:
        """How far the commits of this file prove it durable. To be called before iterating; it reads only heads."""
        position = HEADER_BYTES
        proven = self._proven
        head_expected = True
        while position + COMMIT_BYTES <= self._end:
            record = self._whole(position, self._end) if head_expected or self._kind(position) == COMMIT else None
            if record is None or record[8] != COMMIT:
                # The head of a commit is damaged; walk the records behind it by their lengths.
                step = COMMIT_BYTES if head_expected else self._plausible(position, self._end)
                if step is None:
                    break
                position += step
                head_expected = False
                continue
            head_expected = True
            size, _, synced = decode_commit(record)
            if position + COMMIT_BYTES + size <= self._end:
                proven = max(proven, synced)
            position += COMMIT_BYTES + size
        self._proven = min(proven, self._end)
        return self._proven

    def _kind(self, position: int) -> int:
        return self._bytes(position, RECORD_HEAD_BYTES)[8]

    def _plausible(self, position: int, end: int) -> int | None:
        """How long the record at ``position`` says it is, if that can be."""
        if position + RECORD_HEAD_BYTES > end:
            return None
        _, length, kind = RECORD_HEAD.unpack(self._bytes(position, RECORD_HEAD_BYTES))
        if length < 1 or position + 8 + length > end or not 0 < kind <= COMMIT:
            return None
        return 8 + int(length)

    def __iter__(self) -> Iterator[Found]:
        position = self.valid
        end = self._end
        while position < end:
            head = self._whole(position, end)
            if head is not None and head[8] == COMMIT:
                size, count, _ = decode_commit(head)
                stop = position + COMMIT_BYTES + size
                if stop <= end:
                    body = position + COMMIT_BYTES
                    sound = decode_body(self._bytes(body, size), body, count)
                    if sound is not None or stop <= self._proven:
                        yield from sound if sound is not None else self._records(body, stop)
                        self.commits += 1
                        self.valid = position = stop
                        continue
                    damage = (found for found in self._records(body, stop) if isinstance(found, Damage))
                    self.torn = next(damage, None)
            if position >= self._proven:
                if self.torn is None:
                    self.torn = Damage(position, end - position, "a whole commit")
                return
            # A commit's head is damaged below the proven length: what follows are its records, one by one.
            yield Damage(position, COMMIT_BYTES, "the head of a commit")
            position = yield from self._headless(position + COMMIT_BYTES)
            self.valid = position

    def _records(self, position: int, stop: int) -> Iterator[Found]:
        """A commit that is not sound, record by record."""
        while position < stop:
            record = self._whole(position, stop)
            if record is not None:
                yield _found(position, record)
                position += len(record)
                continue
            step = self._plausible(position, stop)
            if step is not None and (position + step == stop or self._whole(position + step, stop) is not None):
                yield Damage(position, step, "a record whose checksum holds", self._bytes(position, step))
                position += step
                continue
            yield Damage(position, stop - position, "a record with a possible length")
            return

    def _headless(self, position: int) -> Generator[Found, None, int]:
        while position < self._proven:
            record = self._whole(position, self._proven)
            if record is None:
                step = self._plausible(position, self._proven) or self._proven - position
                yield Damage(position, step, "a record whose checksum holds", self._bytes(position, step))
                position += step
                continue
            if record[8] == COMMIT:
                break
            yield _found(position, record)
            position += len(record)
        return position


def _found(position: int, record: bytes) -> Found:
    if record[8] == ENTRY and len(record) >= ENTRY_HEAD_BYTES:
        return decode_entry(position, record)
    return position, record


def pread_all(disk: Disk, fd: int, size: int, position: int) -> bytes:
    """``size`` bytes from ``position`` on, fewer only at the end of the file."""
    data = disk.pread(fd, size, position)
    if len(data) == size or not data:
        return data
    parts = [data]
    got = len(data)
    while got < size:
        more = disk.pread(fd, size - got, position + got)
        if not more:
            break
        parts.append(more)
        got += len(more)
    return b"".join(parts)
