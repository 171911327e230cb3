"""Moving a cursor and emptying a topic, as an operator asks for it; ``done`` is called when it is durable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.requests.cursors import move_cursor
from magnetar.core.timesearch import search_time
from magnetar.core.topic import LEDGERS_KEY
from magnetar.core.topic_ops import refuse_moving
from magnetar.ports.log import Put, Trim

if TYPE_CHECKING:
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic

__all__ = ["reset", "reset_to_time", "set_properties", "truncate"]

Done = Callable[[Exception | None], None]


def reset(sub: Subscription, offset: int, left: int, done: Done) -> None:
    """Deliver again from ``offset`` on; ``left`` (or -1) is what is open of the batch there."""
    refuse_moving(sub)
    move_cursor(sub, min(offset, sub.topic.tail.end), left, done)


def reset_to_time(sub: Subscription, time_ms: int, done: Done) -> None:
    """Deliver again what was published at that time or later."""
    refuse_moving(sub)
    topic = sub.topic
    sub.fenced = True

    def found(offset: int) -> None:
        sub.fenced = False
        if sub.deleted or topic.deleted:
            done(None)
        else:
            move_cursor(sub, offset, -1, done)

    search_time(topic, topic.first_offset, time_ms, found)


def set_properties(sub: Subscription, properties: dict[str, str], done: Done) -> None:
    """The subscription has these properties from now on, and no others."""
    refuse_moving(sub)
    sub.properties = properties
    sub.write_whole()
    if sub.dispatcher is not None:
        sub.dispatcher.follow_policies(sub.topic.policies)
    sub.topic.broker.when_durable(done)


def truncate(topic: Topic, done: Done) -> None:
    """Give up everything that was published so far, whoever has not taken it yet, and free its room in the log.

    A new ledger begins, so that what is dropped ends where a ledger ends. Entries that are still on their way to the
    log belong to what is given up: the second half waits until they are there.
    """
    broker = topic.broker
    topic.ensure_ledger()
    if topic.next_offset > topic.ledgers.base:
        topic.roll()
    end = topic.next_offset

    def durable(error: Exception | None) -> None:
        if error is not None or topic.deleted:
            done(error)
            return
        for sub in list(topic.subscriptions.values()):
            if not sub.fenced:
                sub.move_floor(end)
        _drop_below(topic, min(end, topic.low_water()))
        broker.when_durable(done)

    broker.when_durable(durable)


def _drop_below(topic: Topic, low: int) -> None:
    """Forget the ledgers that lie wholly below ``low``."""
    ledgers = topic.ledgers
    gone = 0
    while gone < len(ledgers.ids) - 1 and ledgers.bases[gone + 1] <= low:
        gone += 1
    if not gone:
        return
    topic.size_bytes = max(topic.size_bytes - sum(ledgers.sizes[:gone]), 0)
    topic.first_offset = ledgers.bases[gone]
    ledgers.drop_below(topic.first_offset)
    topic.tail.drop_to(topic.first_offset)
    records = topic.broker.commit.records
    records.append(Put(topic.stream, LEDGERS_KEY, ledgers.encode()))
    records.append(Trim(topic.stream, topic.first_offset))
    topic.broker.note_topic(topic)
