"""The selectors by the names that settings, policies and properties give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from magnetar.core.options import Options
    from magnetar.core.subscription import Subscription

__all__ = [
    "AUTO_SPLIT",
    "CONSISTENT_HASHING",
    "RATE_AWARE",
    "SELECTORS",
    "SELECTOR_PROPERTY",
    "STICKY",
    "default_selector",
    "wanted_selector",
]

CONSISTENT_HASHING: Final = "consistentHashing"
AUTO_SPLIT: Final = "autoSplit"
RATE_AWARE: Final = "rateAware"
STICKY: Final = "sticky"
"""Not to be chosen: it is what consumers get that name their own ranges."""

SELECTORS: Final = {
    CONSISTENT_HASHING: CONSISTENT_HASHING,
    AUTO_SPLIT: AUTO_SPLIT,
    RATE_AWARE: RATE_AWARE,
    "Key_Failover": RATE_AWARE,
}
"""What may be said, and what is meant. PIP-32 called a subscription with such ranges Key_Failover."""

SELECTOR_PROPERTY: Final = "magnetar.keySharedSelector"
"""The property of a subscription that chooses its selector, over what its topic says."""


def default_selector(options: Options) -> str:
    """The broker's choice; Pulsar's older switch counts where the newer one is not set."""
    named = SELECTORS.get(options.key_shared_selector)
    return named or (CONSISTENT_HASHING if options.key_shared_ring else AUTO_SPLIT)


def wanted_selector(sub: Subscription) -> str:
    """What the subscription should have now. A property that names no selector says nothing."""
    if sub.sticky:
        return STICKY
    return SELECTORS.get(sub.properties.get(SELECTOR_PROPERTY, "")) or sub.topic.policies.key_shared_selector
