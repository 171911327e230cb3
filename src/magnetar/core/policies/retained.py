"""Backlog quotas beside retention: a backlog may not become larger or older than what is kept, as in Pulsar.

Each of the two is refused where it does not fit to the other. A retention or a quota without a limit fits to
everything; so does no retention at all, because then a backlog keeps itself.
"""

from __future__ import annotations

from typing import Any

__all__ = ["quota_fits"]

_MB = 1 << 20
_MINUTE_S = 60


def quota_fits(retention: Any, quotas: Any) -> bool:
    """Whether every one of the quotas, each as it is stored, stays below the retention."""
    if retention is None or not quotas:
        return True
    size, seconds = retention["retentionSizeInMB"] * _MB, retention["retentionTimeInMinutes"] * _MINUTE_S
    return not any(0 < size <= quota["limitSize"] or 0 < seconds <= quota["limitTime"] for quota in quotas.values())
