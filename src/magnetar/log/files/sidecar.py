"""Small files next to the segments, written whole or not at all; and the index files, which are among them."""

from __future__ import annotations

import contextlib
import logging
import os

from magnetar.log.files.disk import Disk
from magnetar.log.files.index import SegmentIndex, decode_index, encode_index
from magnetar.log.files.records import Entries
from magnetar.log.files.segment import Scan, segment_name, sidecar_name, write_all

__all__ = ["entry_place", "load_index", "read_file", "replace_file", "scan_index", "write_index"]

_log = logging.getLogger(__name__)


def replace_file(disk: Disk, directory: str, name: str, data: bytes) -> None:
    """Put ``data`` under ``name`` so that after any crash the old content is there or the new one, whole."""
    path = os.path.join(directory, name)
    fd = disk.create(path + ".tmp")
    try:
        write_all(disk, fd, [data], len(data))
        disk.fsync(fd)
    except OSError:
        disk.close(fd)
        with contextlib.suppress(OSError):
            disk.unlink(path + ".tmp")
        raise
    disk.close(fd)
    disk.rename(path + ".tmp", path)
    disk.fsync_directory(directory)


def read_file(disk: Disk, path: str) -> bytes:
    """All bytes of a file."""
    fd = disk.open(path)
    try:
        size = disk.size(path)
        data = b""
        while len(data) < size:
            more = disk.pread(fd, size - len(data), len(data))
            if not more:
                break
            data = data + more if data else more
        return data
    finally:
        disk.close(fd)


def write_index(disk: Disk, directory: str, segment: int, generation: int, valid: int, index: SegmentIndex) -> None:
    """Write the sidecar of a segment."""
    replace_file(disk, directory, sidecar_name(segment, generation), encode_index(index, segment, generation, valid))


def entry_place(record: bytes) -> tuple[int, int]:
    """Stream and offset of an ENTRY record, sound or not."""
    return int.from_bytes(record[9:17], "little"), int.from_bytes(record[17:25], "little")


def scan_index(disk: Disk, directory: str, segment: int, generation: int, valid: int) -> SegmentIndex:
    """The index of a segment as its bytes tell it."""
    index = SegmentIndex()
    scan = Scan(disk, os.path.join(directory, segment_name(segment, generation)), valid, valid)
    try:
        for found in scan:
            if isinstance(found, Entries):
                index.add(found.stream, found.offset, found.position, found.lengths)
    finally:
        scan.close()
    return index


def load_index(disk: Disk, directory: str, segment: int, generation: int, valid: int) -> SegmentIndex:
    """The index of a sealed segment, from its sidecar or, if that is of no use, by a scan that makes it anew."""
    name = sidecar_name(segment, generation)
    index = None
    with contextlib.suppress(OSError):
        index = decode_index(read_file(disk, os.path.join(directory, name)), segment, generation, valid)
    if index is None:
        _log.warning("%s in %s is missing or damaged and is made anew", name, directory)
        index = scan_index(disk, directory, segment, generation, valid)
        with contextlib.suppress(OSError):
            write_index(disk, directory, segment, generation, valid, index)
    return index
