"""What the disk itself can do: a bare loop of write and fdatasync in the folder the brokers use."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.stats import percentile

SMALL_BYTES = 256
SMALL_SYNCS = 200


@dataclass(frozen=True, slots=True)
class DiskRun:
    """A run of the loop: how long one write with its sync took, and bytes a second over all."""

    median_ms: float
    p99_ms: float
    bytes_per_s: float


def sync_loop(folder: Path, bytes_each: int, count: int) -> DiskRun:
    """Append `count` pieces of `bytes_each`, each synced before the next, to a new file that is removed again."""
    path = folder / "bare-loop"
    piece = os.urandom(min(bytes_each, 1 << 20)) * (bytes_each // (1 << 20) + 1)
    piece = piece[:bytes_each]
    times: list[float] = []
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_TRUNC, 0o600)
    try:
        started = time.perf_counter()
        for _ in range(count):
            before = time.perf_counter()
            view = memoryview(piece)
            while view:
                view = view[os.write(handle, view) :]
            os.fdatasync(handle)
            times.append(time.perf_counter() - before)
        seconds = time.perf_counter() - started
    finally:
        os.close(handle)
        path.unlink()
    return DiskRun(median(times) * 1e3, percentile(times, 0.99) * 1e3, bytes_each * count / seconds)


def small_sync_ms(folder: Path) -> float:
    """Return the median time of one small synced write, in milliseconds."""
    return sync_loop(folder, SMALL_BYTES, SMALL_SYNCS).median_ms


def in_memory(folder: Path, mounts: str | None = None) -> bool:
    """Tell whether a folder lies in a file system without a disk, where a sync costs nothing and proves nothing."""
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    resolved = str(folder.resolve())
    best = kind = ""
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3:
            continue
        point = words[1]
        inside = resolved == point or resolved.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, words[2]
    return kind in {"tmpfs", "ramfs", "devtmpfs"}
