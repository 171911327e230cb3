"""What settings may be that are one of some words, or a list of some of them."""

from __future__ import annotations

from magnetar.core.failover import SELECTORS

__all__ = ["FAILOVER_SELECTORS", "INACTIVE_MODES", "QUOTA_ACTIONS", "SCHEMA_STRATEGIES", "SUBSCRIPTION_TYPES"]

SUBSCRIPTION_TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
FAILOVER_SELECTORS = ("", *SELECTORS)
QUOTA_ACTIONS = ("producer_request_hold", "producer_exception", "consumer_backlog_eviction")
INACTIVE_MODES = ("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up")
SCHEMA_STRATEGIES = (
    "UNDEFINED", "ALWAYS_INCOMPATIBLE", "ALWAYS_COMPATIBLE", "BACKWARD", "FORWARD", "FULL",
    "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE",
)  # fmt: skip
