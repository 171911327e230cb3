"""Metrics of who is served: how often that has changed, and what came twice because of it."""

from __future__ import annotations

from collections.abc import Callable

from magnetar.admin.rates import Sampler
from magnetar.core.subscription import Subscription

__all__ = ["SWITCHES"]

SWITCHES: dict[str, Callable[[Subscription, Sampler], int | float]] = {
    "magnetar_subscription_assignment_changes_total": lambda s, r: s.history.changes,
    "magnetar_subscription_failover_switches_total": lambda s, r: s.history.switches,
    "magnetar_subscription_failover_repeated_entries_total": lambda s, r: s.history.repeated,
}
"""Of each subscription."""
