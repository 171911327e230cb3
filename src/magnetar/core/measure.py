"""How large entries are and how long their writes take, counted in buckets for each topic.

Nothing is counted before somebody has asked for it (``Meter.on``), and a topic owns counters only once
something was published to it after that: a broker whose metrics nobody reads pays one test for each run of entries.
The counters only rise; what a window of time saw of them is the difference, which the admin interface takes.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from magnetar.core.commit import Commit, Run
    from magnetar.core.topic import Topic

__all__ = ["LATENCY_BOUNDS_US", "SIZE_BOUNDS_BYTES", "Measure", "Meter", "measure"]

SIZE_BOUNDS_BYTES: Final[list[int]] = [128, 512, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 100 << 10, 1 << 20]
"""The upper ends of the buckets of entry sizes, as in Pulsar; one more bucket holds what is larger."""

LATENCY_BOUNDS_US: Final[list[int]] = [500, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000]
"""The same for latencies, in millionths of a second."""


class Meter:
    """What is measured by for all topics. Nothing is decided by its clock, which is finer than the core's."""

    def __init__(self, now_ms: int) -> None:
        self.on: bool = False
        self.now_us: int = now_ms * 1000
        self.write_us: int = 0
        """How long the log took for the commit that has just become durable."""

    def tick(self, now_us: int) -> int:
        """It is so late; the same in thousandths of a second."""
        self.now_us = now_us
        return now_us // 1000

    def wrote(self, commit: Commit) -> None:
        """The commit is durable."""
        self.write_us = max(self.now_us - commit.began_us, 0)


class Measure:
    """The counters of one topic. Each list ends with the bucket of what is above all bounds."""

    def __init__(self) -> None:
        self.sizes: list[int] = [0] * (len(SIZE_BOUNDS_BYTES) + 1)
        self.sizes_sum: int = 0
        self.waits: list[int] = [0] * (len(LATENCY_BOUNDS_US) + 1)
        """From an entry's arrival until it was durable."""
        self.waits_sum_us: int = 0
        self.writes: list[int] = [0] * (len(LATENCY_BOUNDS_US) + 1)
        """From handing the commit to the log until it was durable."""
        self.writes_sum_us: int = 0

    def figures(self) -> list[int]:
        """All counters in one row: sizes, waits and writes, the sum of each behind its buckets."""
        sizes, waits, writes = self.sizes, self.waits, self.writes
        return [*sizes, self.sizes_sum, *waits, self.waits_sum_us, *writes, self.writes_sum_us]


def measure(topic: Topic, run: Run) -> None:
    """The run is durable: count its entries."""
    found = topic.measure
    if found is None:
        found = topic.measure = Measure()
    sizes = found.sizes
    for entry in run.entries:
        sizes[bisect_left(SIZE_BOUNDS_BYTES, len(entry))] += 1
    count = len(run.entries)
    found.sizes_sum += run.size_bytes
    meter = topic.broker.meter
    wait_us = max(meter.now_us - run.began_us, 0)
    found.waits[bisect_left(LATENCY_BOUNDS_US, wait_us)] += count
    found.waits_sum_us += wait_us * count
    write_us = meter.write_us
    found.writes[bisect_left(LATENCY_BOUNDS_US, write_us)] += count
    found.writes_sum_us += write_us * count
