"""Whether a SEND can be stored, and the answer to one that cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.wire.entry import checksum_ok
from magnetar.wire.hot import SEND_CHUNK, SEND_HAS_TXN
from magnetar.wire.metadata import peek_publish_time
from magnetar.wire.replies import send_error

if TYPE_CHECKING:
    from magnetar.core.producer import Producer

__all__ = ["problem_with", "refuse_send"]

DAMAGED: Final = 1
TRANSACTION: Final = 2
TOO_LARGE: Final = 3
TOO_LATE: Final = 4

_CHECKSUM_ERROR: Final = 9
_NOT_ALLOWED: Final = 22


def problem_with(producer: Producer, entry: bytes, flags: int, deliver_at: int) -> int:
    """What is wrong with an entry, 0 when nothing is. ``deliver_at`` is the time that it is to be delivered at, if any.

    A chunk is part of a message that may be larger than the topic allows; what is larger than the broker allows is no
    whole frame to begin with.
    """
    policies = producer.topic.policies
    if flags & SEND_HAS_TXN:
        return TRANSACTION
    if len(entry) > policies.max_entry_bytes and not flags & SEND_CHUNK:
        return TOO_LARGE
    if not checksum_ok(entry):
        return DAMAGED
    if deliver_at and 0 < policies.max_delay_ms < deliver_at - peek_publish_time(entry):
        return TOO_LATE
    return 0


def refuse_send(producer: Producer, sequence: int, problem: int) -> None:
    """Answer the SEND with what is wrong with its entry."""
    topic = producer.topic
    code = _NOT_ALLOWED
    if problem == DAMAGED:
        code = _CHECKSUM_ERROR
        message = "the checksum of the message does not hold: it was damaged on its way, send it again"
    elif problem == TRANSACTION:
        message = "transactions are not supported by this broker: send the message without one"
    elif problem == TOO_LATE:
        limit = topic.policies.max_delay_ms
        message = f"Exceeds max allowed delivery delay of {limit} milliseconds (delayedDeliveryMaxDelayInMillis)"
    else:
        limit = topic.policies.max_entry_bytes
        message = f"a message of {topic.name} may have at most {limit} bytes (maxMessageSize)"
    topic.refuse(producer, send_error(producer.id, sequence, code, message))
