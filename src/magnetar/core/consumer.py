"""A consumer: one client's end of a subscription, with its permits and what it holds unacknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.batchmask import mask_words
from magnetar.core.dispatch.waiting import Line
from magnetar.core.entryinfo import COUNT
from magnetar.wire.entry import strip_broker_metadata
from magnetar.wire.replies import MessageHeads, message_head

if TYPE_CHECKING:
    from magnetar.core.session import Session
    from magnetar.core.subscription import Subscription

__all__ = ["TICK_MS", "Consumer", "pending_count", "pending_hash", "pending_word"]

_TICK_SHIFT: Final = 20
"""As many bits as COUNT has."""
_HASH_SHIFT: Final = 31
_TICKS: Final = 1 << 11

TICK_MS: Final = 100
"""How exactly the time is known at which an entry was sent, as long as nothing is pending for long."""


def pending_word(key_hash: int, tick: int, count: int) -> int:
    """What ``pending`` keeps of an entry, in the 62 bits of a number that compiled code handles without an object.

    The hash of its key (31 bits, 0 where keys do not matter), when it was sent (11 bits, in ticks of its consumer), and
    its open messages (20 bits), which stand lowest, so that some are taken off by subtraction.
    """
    return key_hash << _HASH_SHIFT | tick << _TICK_SHIFT | count


def pending_hash(word: int) -> int:
    """The key's hash in a pending word."""
    return word >> _HASH_SHIFT


def pending_count(word: int) -> int:
    """The messages in a pending word that are not acknowledged."""
    return word & COUNT


class Consumer:
    """Permits count messages and may go below zero, because an entry is sent whole or not at all."""

    def __init__(self, session: Session, consumer_id: int, name: str, subscription: Subscription) -> None:
        self.session: Session = session
        self.id: int = consumer_id
        self.name: str = name
        self.subscription: Subscription = subscription
        self.priority: int = 0
        self.epoch: int = -1
        self.read_compacted: bool = False
        self.strips: bool = subscription.topic.stamps.any and not session.entry_metadata
        """Whether entries may have broker entry metadata that this peer does not get."""
        self.heads: MessageHeads = MessageHeads(consumer_id, subscription.topic.name.partition, -1)
        self.permits: int = 0
        self.unacked: int = 0
        self.pending: dict[int, int] = {}
        """Offset to pending word, in the order in which the entries were sent."""
        self.tick: int = 0
        """The tick of what is sent now; they count from ``tick_base_ms`` and last ``tick_ms`` each."""
        self.tick_ms: int = TICK_MS
        self.tick_base_ms: int = 0
        self.tick_end_ms: int = 0
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
        self.auto_consume: bool = False
        """Takes the topic's schema, whatever it is."""
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
        if self.strips:
            entry = strip_broker_metadata(entry)
        size = len(entry)
        if left < 0 and not redeliveries:
            heads = self.heads
            if heads.epoch != self.epoch:
                heads = self.heads = MessageHeads(self.id, partition, self.epoch)
            head = heads.head(ledger, number, size)
        else:
            ack_set: list[int] | None = None
            if left >= 0:
                # A mask is what a client said, and may have more bits than the batch has messages.
                count = min(left.bit_count(), count)
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

    def next_tick(self, now_ms: int) -> None:
        """The tick has ended: go to the present one.

        Ticks count anew when nothing is pending. When they run out, they count from the oldest pending entry on, and
        last as long as it takes for half of them to reach back to it; then the pending words are rewritten.
        """
        if not self.pending:
            self.tick_ms = TICK_MS
            self.tick_base_ms = now_ms
        elif now_ms - self.tick_base_ms >= self.tick_ms * _TICKS:
            self._renumber(now_ms)
        self.tick = (now_ms - self.tick_base_ms) // self.tick_ms
        self.tick_end_ms = self.tick_base_ms + (self.tick + 1) * self.tick_ms

    def _renumber(self, now_ms: int) -> None:
        base_ms, unit_ms = self.oldest_sent_ms(), TICK_MS
        while (now_ms - base_ms) * 2 >= unit_ms * _TICKS:
            unit_ms *= 2
        for offset, word in self.pending.items():
            tick = (self.pending_sent_ms(word) - base_ms) // unit_ms
            self.pending[offset] = pending_word(pending_hash(word), tick, pending_count(word))
        self.tick_ms = unit_ms
        self.tick_base_ms = base_ms

    def pending_sent_ms(self, word: int) -> int:
        """When the entry of a pending word was sent, at most a tick before it really was."""
        return self.tick_base_ms + ((word >> _TICK_SHIFT) & (_TICKS - 1)) * self.tick_ms

    def oldest_sent_ms(self) -> int:
        """When the entry was sent that has been pending longest, 0 when nothing is."""
        for word in self.pending.values():
            return self.pending_sent_ms(word)
        return 0

    def flowed(self, permits: int, now_ms: int) -> None:
        """The client is ready for ``permits`` more messages."""
        self.permits += permits
        self.last_flow_ms = now_ms
        if not self.first_flow_ms:
            self.first_flow_ms = now_ms
