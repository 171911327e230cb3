"""A consumer: one client's end of a subscription, with its permits and what it holds unacknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.dispatch.waiting import Line
from magnetar.wire.replies import MessageHeads, message_head

if TYPE_CHECKING:
    from magnetar.core.session import Session
    from magnetar.core.subscription import Subscription

__all__ = ["Consumer", "mask_words", "pending_count", "pending_hash", "pending_word", "words_mask"]

_COUNT_BITS: Final = 24
_COUNT: Final = (1 << 24) - 1

_WORD = (1 << 64) - 1


def pending_word(key_hash: int, count: int) -> int:
    """What ``pending`` keeps of an entry: the hash of its key (0 where keys do not matter) and its open messages."""
    return key_hash << _COUNT_BITS | count


def pending_hash(word: int) -> int:
    """The key's hash in a pending word."""
    return word >> _COUNT_BITS


def pending_count(word: int) -> int:
    """The messages in a pending word that are not acknowledged."""
    return word & _COUNT


class Consumer:
    """Permits count messages and may go below zero, because an entry is sent whole or not at all."""

    def __init__(self, session: Session, consumer_id: int, name: str, subscription: Subscription) -> None:
        self.session: Session = session
        self.id: int = consumer_id
        self.name: str = name
        self.subscription: Subscription = subscription
        self.priority: int = 0
        self.epoch: int = -1
        self.heads: MessageHeads = MessageHeads(consumer_id, subscription.topic.name.partition, -1)
        self.permits: int = 0
        self.unacked: int = 0
        self.pending: dict[int, int] = {}
        self.line: Line = Line()
        """Key_Shared: what waits for this consumer's permits."""
        self.drained_total: int = 0
        """Key_Shared: slots that this consumer held for another and has released."""
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
        session = self.session
        size = len(entry)
        if left < 0 and not redeliveries:
            heads = self.heads
            if heads.epoch != self.epoch:
                heads = self.heads = MessageHeads(self.id, partition, self.epoch)
            head = heads.head(ledger, number, size)
        else:
            ack_set: list[int] | None = None
            if left >= 0:
                count = left.bit_count()
                ack_set = mask_words(left)
            head = message_head(self.id, ledger, number, partition, redeliveries, ack_set, self.epoch, size)
        session.out.append(head)
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
