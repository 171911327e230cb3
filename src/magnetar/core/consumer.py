"""A consumer: one client's end of a subscription, with its permits and what it holds unacknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.wire.replies import message_head

if TYPE_CHECKING:
    from magnetar.core.session import Session
    from magnetar.core.subscription import Subscription

__all__ = ["COUNT_MASK", "Consumer", "mask_words", "words_mask"]

COUNT_MASK = (1 << 32) - 1
"""A pending word holds the messages still unacknowledged in its low half and the key's slot above it."""

_WORD = (1 << 64) - 1


class Consumer:
    """Permits count messages and may go below zero, because an entry is sent whole or not at all."""

    def __init__(self, session: Session, consumer_id: int, name: str, subscription: Subscription) -> None:
        self.session: Session = session
        self.id: int = consumer_id
        self.name: str = name
        self.subscription: Subscription = subscription
        self.priority: int = 0
        self.epoch: int = -1
        self.permits: int = 0
        self.unacked: int = 0
        self.pending: dict[int, int] = {}
        self.queue: list[tuple[int, int]] = []
        """Key_Shared: a heap of (offset, slot) that wait for this consumer's permits."""
        self.blocked: bool = False
        self.closed: bool = False
        self.end_told: bool = False
        self.metadata: dict[str, str] = {}
        self.key_ranges: list[tuple[int, int]] = []
        self.connected_ms: int = 0
        self.messages_out: int = 0
        self.bytes_out: int = 0
        self.redelivered: int = 0
        self.acked: int = 0
        self.last_sent_ms: int = 0
        self.first_sent_ms: int = 0
        self.last_acked_ms: int = 0
        self.last_flow_ms: int = 0
        self.first_flow_ms: int = 0

    def ready(self) -> bool:
        """Whether another entry may be sent to it now."""
        return self.permits > 0 and not self.blocked and self.session.writable

    def send(
        self, ledger: int, number: int, entry: bytes, count: int, left: int, redeliveries: int, partition: int
    ) -> int:
        """Put the entry on the wire; ``left`` is the mask of a partly acknowledged batch or -1. Messages charged."""
        ack_set: list[int] | None = None
        if left >= 0:
            count = left.bit_count()
            ack_set = mask_words(left)
        session = self.session
        size = len(entry)
        session.out.append(message_head(self.id, ledger, number, partition, redeliveries, ack_set, self.epoch, size))
        session.out.append(entry)
        session.wrote(size)
        self.permits -= count
        self.messages_out += count
        self.bytes_out += size
        if redeliveries:
            self.redelivered += count
        return count

    def flowed(self, permits: int, now_ms: int) -> None:
        """The client is ready for ``permits`` more messages."""
        self.permits += permits
        self.last_flow_ms = now_ms
        if not self.first_flow_ms:
            self.first_flow_ms = now_ms


def mask_words(mask: int) -> list[int]:
    """A mask of open messages as the 64-bit words of the wire, lowest first."""
    words: list[int] = []
    while mask:
        words.append(mask & _WORD)
        mask >>= 64
    return words


def words_mask(words: list[int]) -> int:
    """The inverse of ``mask_words``."""
    mask = 0
    for at, word in enumerate(words):
        mask |= word << (64 * at)
    return mask
