"""Verdicts: what can be in the way of a message, and what would free it. Documented in docs/guides/explain.md."""

from __future__ import annotations

__all__ = [
    "ACK_STATE_PAUSE",
    "BACKLOG_QUOTA",
    "CHUNKS_PARKED",
    "CONNECTION_SLOW",
    "CONSUMER_UNACKED_LIMIT",
    "CURSOR_MOVING",
    "DELAYED",
    "DELETED",
    "DISPATCH_RATE",
    "DRAINING",
    "FREED_BY",
    "HANDOVER_DELAY",
    "HANDOVER_DRAIN",
    "LOG_FAILING",
    "LOG_READ",
    "LOG_READ_FAILING",
    "LOG_WRITE",
    "LOOK_AHEAD_FULL",
    "NACK_ORDER",
    "NOTHING_TO_DELIVER",
    "NOT_KEYED",
    "NO_CONSUMER",
    "NO_PERMITS",
    "PUBLISH_RATE",
    "READY",
    "RECENTLY_JOINED",
    "SLOT_DRAINING",
    "SLOT_UNCOVERED",
    "SUBSCRIPTION_UNACKED_LIMIT",
    "TERMINATED",
    "UNBLOCKING",
    "WAITING_FOR_ACKS",
]

DELETED = "DELETED"
CURSOR_MOVING = "CURSOR_MOVING"
LOG_FAILING = "LOG_FAILING"
ACK_STATE_PAUSE = "ACK_STATE_PAUSE"
DISPATCH_RATE = "DISPATCH_RATE"
NO_CONSUMER = "NO_CONSUMER"
HANDOVER_DELAY = "HANDOVER_DELAY"
HANDOVER_DRAIN = "HANDOVER_DRAIN"
SUBSCRIPTION_UNACKED_LIMIT = "SUBSCRIPTION_UNACKED_LIMIT"
CONSUMER_UNACKED_LIMIT = "CONSUMER_UNACKED_LIMIT"
CONNECTION_SLOW = "CONNECTION_SLOW"
NO_PERMITS = "NO_PERMITS"
LOG_READ_FAILING = "LOG_READ_FAILING"
LOOK_AHEAD_FULL = "LOOK_AHEAD_FULL"
DRAINING = "DRAINING"
SLOT_DRAINING = "SLOT_DRAINING"
NACK_ORDER = "NACK_ORDER"
UNBLOCKING = "UNBLOCKING"
SLOT_UNCOVERED = "SLOT_UNCOVERED"
RECENTLY_JOINED = "RECENTLY_JOINED"
CHUNKS_PARKED = "CHUNKS_PARKED"
DELAYED = "DELAYED"
LOG_READ = "LOG_READ"
LOG_WRITE = "LOG_WRITE"
WAITING_FOR_ACKS = "WAITING_FOR_ACKS"
TERMINATED = "TERMINATED"
BACKLOG_QUOTA = "BACKLOG_QUOTA"
PUBLISH_RATE = "PUBLISH_RATE"
NOTHING_TO_DELIVER = "NOTHING_TO_DELIVER"
NOT_KEYED = "NOT_KEYED"
READY = "READY"

FREED_BY: dict[str, str] = {
    DELETED: "nothing; a consumer that subscribes again makes a new subscription",
    CURSOR_MOVING: "itself, as soon as the new place is durable",
    ACK_STATE_PAUSE: "a disk that takes writes again, or dispatcherPauseOnAckStatePersistent set to false",
    DISPATCH_RATE: "itself, when the rate allows more; a higher rate takes effect at once",
    BACKLOG_QUOTA: "consumers that acknowledge, an operator who clears or skips the backlog, or a higher quota",
    PUBLISH_RATE: "itself, when the rate allows more; a higher rate takes effect at once",
    LOG_FAILING: "a disk that takes writes again; the broker keeps trying",
    NO_CONSUMER: "a consumer that connects",
    HANDOVER_DELAY: "itself, when the delay is over",
    HANDOVER_DRAIN: "acknowledgements of the active consumer, its leaving, or itself when the time is over",
    SUBSCRIPTION_UNACKED_LIMIT: "acknowledgements, until half of the limit is left, or consumers that leave",
    CONSUMER_UNACKED_LIMIT: "acknowledgements of that consumer, until half of the limit is left, or disconnecting it",
    CONNECTION_SLOW: "the client reading from its connection again, or disconnecting the consumer",
    NO_PERMITS: "the client asking for more, which it does when the application has received what was sent",
    LOG_READ_FAILING: "a disk that can be read; the broker tries again every second",
    LOOK_AHEAD_FULL: "what holds the keys of the entries that wait, see the other findings",
    DRAINING: "acknowledgements of the messages named here, or disconnecting the consumer that holds them",
    SLOT_DRAINING: "the end of the drain of the slot: acknowledgements, or disconnecting the consumer that holds it",
    NACK_ORDER: "acknowledgement of the messages that were given back",
    UNBLOCKING: "itself, within keySharedUnblockingIntervalMs",
    SLOT_UNCOVERED: "a consumer in STICKY mode that names a range with this slot in it",
    RECENTLY_JOINED: "acknowledgement of everything before the position at which the consumer joined",
    CHUNKS_PARKED: "permits for the consumer that has got the first chunks of the same message",
    DELAYED: "itself, when the time has come that their producers named",
    LOG_READ: "itself, as soon as the log has answered",
    LOG_WRITE: "itself, as soon as the log has synced what was published",
    WAITING_FOR_ACKS: "nothing has to be; the consumers have everything and are expected to acknowledge it",
    TERMINATED: "nothing; the topic has ended and everything was delivered",
    NOTHING_TO_DELIVER: "somebody who publishes",
    NOT_KEYED: "nothing; keys do not matter on this type of subscription",
    READY: "nothing has to be; what there is goes out at once",
}
"""Every code, with what ends it."""
