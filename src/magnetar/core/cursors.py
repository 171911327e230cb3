"""Cursors as the log has kept them become subscriptions again; ``Subscription.encode`` is the other direction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from magnetar.core.ackset import AckSet
from magnetar.core.subscription import CURSOR_HEAD, CURSOR_VERSION, Subscription

if TYPE_CHECKING:
    from magnetar.core.topic import Topic

__all__ = ["decode_cursor"]


def decode_cursor(topic: Topic, name: str, value: bytes, merges: list[bytes]) -> Subscription:
    """The subscription of a value and the deltas that came after it."""
    version, size = CURSOR_HEAD.unpack_from(value)
    if version != CURSOR_VERSION:
        raise ValueError(f"cursor '{name}' has format {version}; this broker reads {CURSOR_VERSION}")
    found = Subscription(topic, name, True, 0)
    found.acks = AckSet.decode(value, CURSOR_HEAD.size + size)
    for delta in merges:
        found.acks.merge(delta)
    found.properties = json.loads(value[CURSOR_HEAD.size : CURSOR_HEAD.size + size]) if size else {}
    return found
