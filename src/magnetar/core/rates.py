"""Rates per second out of counters that only rise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.core.broker import Broker

__all__ = ["Rates"]


class Rates:
    """Averages since a point in time; windows over the last minute are the admin interface's business."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker

    def rate(self, count: int, since_ms: int) -> float:
        """``count`` events since ``since_ms``, per second."""
        elapsed = self.broker.now_ms - since_ms
        return count * 1000.0 / elapsed if elapsed > 0 else 0.0
