"""A producer on a connection, and the four ways to share or own a topic.

Access modes as a table; "others" are the producers that are connected to the topic already:

=====================  ======================================================================================
Shared                 refused with ProducerBusy while an exclusive producer is connected or waiting is granted
Exclusive              refused with ProducerFenced while anyone else is connected
WaitForExclusive       joins a queue and becomes exclusive when everyone else has gone
ExclusiveWithFencing   disconnects everyone else, the waiting ones too, and becomes exclusive
=====================  ======================================================================================

Whoever becomes exclusive raises the topic's epoch, durably; a producer that comes back with an older epoch than the
topic's has been fenced and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.core.session import Session
    from magnetar.core.topic import Topic

__all__ = ["EXCLUSIVE", "FENCING", "MODES", "SHARED", "WAITING", "Producer"]

SHARED, EXCLUSIVE, WAITING, FENCING = range(4)
MODES = ("Shared", "Exclusive", "WaitForExclusive", "ExclusiveWithFencing")


class Producer:
    """What the hot path needs stands here; everything about opening and closing is in ``requests/producing``."""

    def __init__(self, session: Session, producer_id: int, name: str, topic: Topic) -> None:
        self.session: Session = session
        self.id: int = producer_id
        self.name: str = name
        self.topic: Topic = topic
        self.mode: int = SHARED
        self.epoch: int = 0
        self.given_name: bool = True
        self.encrypted: bool = False
        self.closed: bool = False
        self.request_id: int = 0
        self.topic_epoch: int = -1
        self.connected_ms: int = 0
        self.metadata: dict[str, str] = {}
        self.messages_in: int = 0
        self.bytes_in: int = 0
        self.entries_in: int = 0
        self.chunks_in: int = 0
        self.pending: int = 0
        """Entries handed to the log and not answered yet."""
