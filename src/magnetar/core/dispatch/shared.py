"""Shared: every consumer gets some of the entries, in turns.

Consumers of the best priority level that are ready take turns, each getting up to ``round_robin_entries`` entries;
lower levels get what the better ones have no room for. What was given back goes first, lowest offset first.

All chunks of one large message must meet at one consumer: the first chunk chooses, and the choice stands until the last
chunk is sent or that consumer leaves, in which case all of it starts again elsewhere. A chunk whose consumer is not
ready is parked, so that it does not hold up the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.core.dispatch.delaying import DelayingDispatcher
from magnetar.core.entryinfo import CHUNK, COUNT, DELAYED, chunk_of
from magnetar.core.replay import Replay

if TYPE_CHECKING:
    from magnetar.core.consumer import Consumer
    from magnetar.core.subscription import Subscription

__all__ = ["Shared"]

_REPLAY_READ: Final = 64
PARKED_CHUNKS_MAX = 1_000
CHUNKED_MESSAGES_MAX = 10_000
"""Large messages that are known to have begun. A producer that is lost leaves the one it was at without an end, so
beyond this the oldest is forgotten: if more of its chunks come, any consumer may get them."""
CHUNK_ID_BYTES_MAX = 8_192
"""Far more than a client makes of a producer's name and a sequence id."""


class Shared(DelayingDispatcher):
    """The dispatcher of Shared subscriptions."""

    kind = "Shared"

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.replay: Replay = Replay()
        self.turn: int = 0
        self.chunks: dict[bytes, Consumer] = {}
        self.parked: dict[int, bool] = {}

    def add(self, consumer: Consumer) -> None:
        self.subscription.topic.broker.wake(self.subscription)

    def remove(self, consumer: Consumer) -> None:
        self.give_back_all(consumer)
        for uuid in [uuid for uuid, owner in self.chunks.items() if owner is consumer]:
            del self.chunks[uuid]
        if not self.subscription.consumers:
            self.redelivered.clear()
            self.chunks.clear()
            if self.delayed_count() == 0:
                self.forget_delayed()
                self.replay.clear()
                self.parked.clear()
                self.read_next = self.subscription.acks.floor
        self.subscription.topic.broker.wake(self.subscription)

    def requeue(self, offset: int, key_hash: int) -> None:
        if not self.subscription.acks.contains(offset):
            self.replay.add(offset)

    def unqueue(self, offset: int) -> None:
        if not self.replay.discard(offset) and not self.parked.pop(offset, False) and self.delayed is not None:
            self.acked_unheld(offset)

    def settle_below(self, floor: int) -> None:
        super().settle_below(floor)
        self.replay.discard_below(floor)

    def reset(self) -> None:
        super().reset()
        self.replay.clear()
        self.chunks.clear()
        self.parked.clear()

    def waiting(self) -> int:
        return len(self.replay) + len(self.parked)

    def _next_consumer(self) -> Consumer | None:
        """Whose turn it is among the ready consumers of the best priority level that has one."""
        consumers = self.subscription.consumers
        count = len(consumers)
        found: Consumer | None = None
        found_at = 0
        turn = self.turn
        for step in range(count):
            at = (turn + step) % count
            consumer = consumers[at]
            if (found is None or consumer.priority < found.priority) and consumer.ready():
                found = consumer
                found_at = at
        if found is not None:
            self.turn = found_at + 1
        return found

    def dispatch(self) -> None:
        sub = self.subscription
        if self.blocked or not sub.consumers:
            return
        if self.parked:
            for offset in self.parked:
                self.replay.add(offset)
            self.parked.clear()
        if self.delayed is not None:
            self.run_delays()
        most = sub.topic.broker.options.round_robin_entries
        while True:
            consumer = self._next_consumer()
            if consumer is None or not self._serve(consumer, most) or self.blocked:
                break
        if self.delayed is not None:
            self.watch_delays()

    def _take_due(self, most: int) -> None:
        """Delayed entries whose time has come go the way of those for redelivery, few at a time."""
        if self.delayed is not None and self.delayed.due:
            for offset, _ in self.delayed.take(most, self.subscription.acks):
                self.replay.add(offset)

    def _serve(self, consumer: Consumer, most: int) -> bool:
        """Send the consumer up to ``most`` entries; False when there is nothing more to send now."""
        sub = self.subscription
        topic = sub.topic
        acks, ledgers, replay = sub.acks, topic.ledgers, self.replay
        partition = topic.name.partition
        end = topic.tail.end
        charged, more = 0, True
        if self.delayed is not None and len(replay) < most:
            self._take_due(most)
        while most > 0 and consumer.permits > 0 and not consumer.blocked and not self.blocked:
            again = len(replay) > 0
            offset = replay.first() if again else self.read_next
            if offset >= end:
                more = self.delayed is not None and len(self.delayed.due) > 0
                break
            if acks.contains(offset):
                self._took(offset, again)
                continue
            source = self.again if again else self.source
            if not source.load(offset, _REPLAY_READ if again else end - offset):
                more = False
                break
            entry = source.entry
            if not entry:
                self._took(offset, again)
                self.lose(offset)
                continue
            if source.count & DELAYED and not again and self.put_off(offset, entry, 0):
                self.read_next = offset + 1
                if self.put_off_left <= 0:
                    more = False
                    break
                continue
            receiver = consumer
            if source.count & CHUNK:
                pinned = self._chunk_owner(entry, consumer)
                if not pinned.ready():
                    if len(self.parked) >= PARKED_CHUNKS_MAX:
                        more = False
                        break
                    self._took(offset, again)
                    self.parked[offset] = True
                    continue
                receiver = pinned
            ledger, number = ledgers.position(offset)
            redeliveries = self.redelivered.get(offset, 0) if self.redelivered else 0
            count = receiver.send(
                ledger, number, entry, source.count & COUNT, acks.part(offset), redeliveries, partition
            )
            self.charge(receiver, offset, 0, count)
            self._took(offset, again)
            if receiver is consumer:
                charged += count
            else:
                sub.sent(receiver, count)
            most -= 1
        if charged:
            sub.sent(consumer, charged)
        return more

    def _took(self, offset: int, again: bool) -> None:
        """The entry is out of the queue it came from."""
        if again:
            self.replay.discard(offset)
        else:
            self.read_next = offset + 1

    def _chunk_owner(self, entry: bytes, consumer: Consumer) -> Consumer:
        """The consumer that gets all chunks of this message."""
        uuid, last = chunk_of(entry)
        if uuid is None or len(uuid) > CHUNK_ID_BYTES_MAX:
            return consumer
        owner = self.chunks.get(uuid)
        if owner is None or owner.closed:
            owner = consumer
            self.chunks[uuid] = owner
            if len(self.chunks) > CHUNKED_MESSAGES_MAX:
                del self.chunks[next(iter(self.chunks))]
        if last and owner.ready():
            del self.chunks[uuid]
        return owner
