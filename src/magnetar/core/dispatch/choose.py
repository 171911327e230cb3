"""Which dispatcher serves which subscription type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.dispatch.classic import ClassicKeyShared
from magnetar.core.dispatch.compacted import CompactedActive
from magnetar.core.dispatch.keyed import KeyedDispatcher
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.dispatch.shared import Shared
from magnetar.core.selector.names import wanted_selector
from magnetar.core.selector.ring import Ring

if TYPE_CHECKING:
    from magnetar.core.subscription import Subscription

__all__ = ["KINDS", "make_dispatcher", "outdated"]

KINDS = ("Exclusive", "Shared", "Failover", "Key_Shared")
"""Subscription types by their number on the wire."""


def make_dispatcher(subscription: Subscription, kind: str) -> Dispatcher:
    """The dispatcher of a subscription of type ``kind``."""
    if kind == "Shared":
        return Shared(subscription)
    if kind == "Key_Shared":
        classic = subscription.topic.broker.options.key_shared_classic
        return ClassicKeyShared(subscription) if classic else KeyShared(subscription)
    return CompactedActive(subscription, kind)


def outdated(subscription: Subscription) -> bool:
    """Whether there is no dispatcher yet, or one that was made under other settings than those of now."""
    dispatcher = subscription.dispatcher
    if subscription.kind != "Key_Shared" or not isinstance(dispatcher, KeyedDispatcher):
        return dispatcher is None
    options = subscription.topic.broker.options
    if isinstance(dispatcher, ClassicKeyShared) != options.key_shared_classic:
        return True
    selector = dispatcher.selector
    if dispatcher.selector_name != wanted_selector(subscription):
        return True
    return isinstance(selector, Ring) and selector.points != options.ring_points
