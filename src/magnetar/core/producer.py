"""A producer on a connection. How several of them share or own a topic is in ``core/access``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.core.sending import SendBatch
    from magnetar.core.session import Session
    from magnetar.core.topic import Topic

__all__ = ["EXCLUSIVE", "FENCING", "MODES", "SHARED", "WAITING", "Producer"]

SHARED, EXCLUSIVE, WAITING, FENCING = range(4)
MODES = ("Shared", "Exclusive", "WaitForExclusive", "ExclusiveWithFencing")


class Producer:
    """What the hot path needs stands here; opening and closing are in ``requests/producing``."""

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
        self.schema_version: int = -1
        self.connected_ms: int = 0
        self.metadata: dict[str, str] = {}
        self.messages_in: int = 0
        self.bytes_in: int = 0
        self.entries_in: int = 0
        self.chunks_in: int = 0
        self.dropped: int = 0
        """Messages to a non-persistent topic that were too many at a time."""
        self.batch: SendBatch | None = None
        """What was received of it in the read at hand."""
        self.pending: int = 0
        """Entries handed to the log and not answered yet."""
