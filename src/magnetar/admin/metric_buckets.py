"""Histograms as Pulsar writes them: a metric for each bucket, with what it counted in the last window."""

from __future__ import annotations

from collections.abc import Callable

from magnetar.core.measure import LATENCY_BOUNDS_US, SIZE_BOUNDS_BYTES

__all__ = ["BUCKETS"]

Row = list[int]
"""What ``Measure.figures`` has: sizes, waits and writes, the sum of each behind its buckets."""

_SIZES = ("le_128", "le_512", "le_1_kb", "le_2_kb", "le_4_kb", "le_16_kb", "le_100_kb", "le_1_mb", "le_overflow")
_LATENCIES = (
    *("le_0_5", "le_1", "le_5", "le_10", "le_20", "le_50", "le_100", "le_200", "le_1000"),
    "overflow",
)
_WAITS_AT = len(SIZE_BOUNDS_BYTES) + 2
_WRITES_AT = _WAITS_AT + len(LATENCY_BOUNDS_US) + 2


def _at(index: int) -> Callable[[Row], int]:
    return lambda row: row[index]


def _histogram(prefix: str, names: tuple[str, ...], start: int) -> dict[str, Callable[[Row], int]]:
    end = start + len(names)
    found = {f"{prefix}_{name}": _at(start + index) for index, name in enumerate(names)}
    found[f"{prefix}_count"] = lambda row: sum(row[start:end])
    found[f"{prefix}_sum"] = _at(end)
    return found


BUCKETS: dict[str, Callable[[Row], int]] = {
    **_histogram("pulsar_entry_size", _SIZES, 0),
    # The name of the last bucket on Grafana boards; Pulsar itself writes le_overflow.
    "pulsar_entry_size_overflow": _at(len(SIZE_BOUNDS_BYTES)),
    **_histogram("pulsar_storage_write_latency", _LATENCIES, _WAITS_AT),
    **_histogram("pulsar_storage_ledger_write_latency", _LATENCIES, _WRITES_AT),
}
