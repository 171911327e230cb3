"""What happens to topics as time goes by: retention drops what nobody needs, time to live expires what nobody took.

Retention works on whole ledgers, as in Pulsar: a closed ledger goes when every durable subscription has acknowledged it
and it is older than the retention time or lies beyond the retention size. The open ledger always stays, so a reader
that comes late still finds what was published lately; a ledger is closed when it is full and old enough, or too old.

Time to live moves a subscription's floor past entries published too long ago. Entries need not be read one by one: the
place is found by a search over publish times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.rounds import start_rounds
from magnetar.core.timesearch import search_time
from magnetar.core.topic import LEDGERS_KEY
from magnetar.ports.log import Put, Trim

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic

__all__ = ["Upkeep", "expire", "expire_to", "trim"]

TAIL_CHECK_MS = 10_000


class Upkeep:
    """The three rounds, each on a timer of its own."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self.searching: dict[Subscription, bool] = {}
        """Subscriptions whose place to expire to is being looked for. A slow log must not be asked again and again."""

    def start(self) -> None:
        self._set(self.broker.options.retention_check_ms, self._retention)
        self._set(self.broker.options.expiry_check_ms, self._expiry)
        self._set(TAIL_CHECK_MS, self._tails)
        start_rounds(self.broker)

    def _set(self, wait_ms: int, call: Callable[[], None]) -> None:
        self.broker.timers.at(self.broker.now_ms + wait_ms, call)

    def _retention(self) -> None:
        self._set(self.broker.options.retention_check_ms, self._retention)
        for topic in self.broker.topics.values():
            if topic.touched and topic.ledgers.due(topic.broker.options, topic.next_offset, self.broker.now_ms):
                topic.roll()
            trim(topic)

    def _expiry(self) -> None:
        self._set(self.broker.options.expiry_check_ms, self._expiry)
        for topic in self.broker.topics.values():
            ttl = topic.policies.message_ttl_ms
            if ttl <= 0:
                continue
            for sub in topic.subscriptions.values():
                waits = sub.durable and sub.acks.floor < topic.tail.end and sub.name != COMPACTION_CURSOR
                if waits and sub not in self.searching:
                    self.searching[sub] = True
                    expire(sub, self.broker.now_ms - ttl, partial(self._searched, sub))

    def _searched(self, sub: Subscription, moved: bool) -> None:
        del self.searching[sub]

    def _tails(self) -> None:
        """Entries that every subscription has acknowledged need not stay in memory."""
        self._set(TAIL_CHECK_MS, self._tails)
        for topic in self.broker.topics.values():
            tail = topic.tail
            if tail.base < tail.end:
                floor = tail.end
                for sub in topic.subscriptions.values():
                    if sub.name != COMPACTION_CURSOR:
                        floor = min(floor, sub.acks.floor)
                tail.drop_to(floor)
        self.broker.budget.sweep()


def trim(topic: Topic) -> int:
    """Drop the closed ledgers that retention no longer keeps; how many."""
    ledgers, policies = topic.ledgers, topic.policies
    low = _lowest_held(topic, topic.low_water())
    held = topic.size_bytes
    gone = 0
    for row in range(len(ledgers.ids) - 1):
        closed_ms = ledgers.opened[row + 1]
        if ledgers.bases[row + 1] > low:
            break
        expired = 0 <= policies.retention_ms <= topic.broker.now_ms - closed_ms
        oversize = 0 <= policies.retention_bytes < held
        if not expired and not oversize:
            break
        held -= ledgers.sizes[row]
        gone += 1
    if gone:
        topic.first_offset = ledgers.bases[gone]
        ledgers.drop_below(topic.first_offset)
        topic.size_bytes = max(held, 0)
        topic.tail.drop_to(topic.first_offset)
        for sub in topic.subscriptions.values():
            if not sub.durable:
                # A reader may have read some of it already, but what it has not got yet has no id any more.
                sub.move_floor(topic.first_offset)
        records = topic.broker.commit.records
        records.append(Put(topic.stream, LEDGERS_KEY, ledgers.encode()))
        records.append(Trim(topic.stream, topic.first_offset))
        topic.broker.note_topic(topic)
    return gone


def _lowest_held(topic: Topic, low: int) -> int:
    """What a Key_Shared consumer holds may lie below every cursor. Its ledger stays: without it the consumer's
    acknowledgement would name nothing, and its keys would be held for ever."""
    for consumer in topic.consumers():
        for offset in consumer.pending:
            low = min(low, offset)
    return low


def expire(sub: Subscription, before_ms: int, call: Callable[[bool], None] | None = None) -> None:
    """Acknowledge what was published before the given time; ``call`` hears whether there was any of it."""

    def found(offset: int) -> None:
        moved = expire_to(sub, offset)
        if call is not None:
            call(moved)

    search_time(sub.topic, sub.acks.floor, before_ms, found)


def expire_to(sub: Subscription, offset: int) -> bool:
    """Acknowledge as expired what lies before ``offset``; whether there was any of it."""
    before = sub.backlog()
    if sub.deleted or sub.fenced or not sub.move_floor(offset):
        return False
    sub.expired_count += before - sub.backlog()
    sub.last_expired_ms = sub.topic.broker.now_ms
    return True
