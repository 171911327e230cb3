"""Since when a subscription has no consumer, which is what its expiration counts from.

In the log it is a state of its own beside the cursor, written only where subscriptions may expire: with 0 when the
first consumer comes, with the time when the last one has left. So a subscription that was in use when the broker
crashed counts as used until the restart, and one that was not keeps its age.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from magnetar.ports.log import Put, RecoveredState

if TYPE_CHECKING:
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic

__all__ = ["activity_key", "activity_states", "note_activity", "restore_activity", "write_activity"]

_TIME = struct.Struct("<Q")


def activity_key(name: str) -> bytes:
    """The state key in the topic's stream."""
    return b"a" + name.encode("utf-8", "surrogatepass")


def note_activity(sub: Subscription) -> None:
    """A consumer has come or gone."""
    before = sub.idle_since_ms
    sub.idle_since_ms = 0 if sub.consumers else sub.topic.broker.now_ms
    if sub.durable and before != sub.idle_since_ms and sub.topic.policies.subscription_expiration_ms > 0:
        write_activity(sub)


def write_activity(sub: Subscription) -> None:
    """Make it durable with the open commit."""
    topic = sub.topic
    if not sub.deleted and not topic.deleted:
        topic.broker.commit.records.append(Put(topic.stream, activity_key(sub.name), _TIME.pack(sub.idle_since_ms)))
        topic.broker.note_topic(topic)


def activity_states(topic: Topic) -> list[tuple[int, bytes, bytes]]:
    """All of it, for a checkpoint."""
    if topic.policies.subscription_expiration_ms <= 0:
        return []
    return [
        (topic.stream, activity_key(sub.name), _TIME.pack(sub.idle_since_ms))
        for sub in topic.subscriptions.values()
        if sub.durable and not sub.deleted
    ]


def restore_activity(topic: Topic, state: dict[bytes, RecoveredState]) -> None:
    """Take over what the log has kept; subscriptions without it count as used just now."""
    for sub in topic.subscriptions.values():
        kept = state.get(activity_key(sub.name))
        if kept is not None and kept.value is not None:
            (since,) = _TIME.unpack(kept.value)
            sub.idle_since_ms = since or topic.broker.now_ms
