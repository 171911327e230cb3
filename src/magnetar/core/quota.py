"""Backlog quotas: what happens when a topic's backlog is too large or too old.

A round looks at every topic with a quota. Where it is exceeded, one of three things happens. With
``consumer_backlog_eviction`` the oldest messages of the slowest subscriptions count as acknowledged, down to nine
tenths of the limit; what a Key_Shared consumer holds stays held, and keeps its key, until it says otherwise. With the
other two the topic's producers are sent away, and are refused for as long as the quota is exceeded:
``producer_request_hold`` with an error on which clients try again and keep what they have, ``producer_exception`` with
one on which they fail it.

Producers are sent away in two steps, so that nothing is stored twice: first nothing more is taken from them, then, when
everything taken is durable and answered, they are told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.backlog import backlog_bytes, backlog_floor, known_age_ms, offset_with, with_age
from magnetar.core.compaction.state import COMPACTION_CURSOR
from magnetar.core.history import EVICTED, Event
from magnetar.core.policies.values import EVICT, HOLD
from magnetar.core.requests.notices import close_producer
from magnetar.core.timesearch import search_time
from magnetar.errors import BacklogQuotaExceeded, BacklogQuotaHold

if TYPE_CHECKING:
    from collections.abc import Callable

    from magnetar.core.producer import Producer
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic

__all__ = ["blocking", "check_quotas", "refuse_over_quota", "with_quota_known"]

_KEEP_TENTHS = 9
"""Of the limit; evicting down to the limit itself would be evicting all the time."""
_UNTIL_TOLD_MS = 1 << 62


def _over_size(topic: Topic) -> bool:
    limit = topic.policies.quota_size.limit
    return limit >= 0 and backlog_bytes(topic, backlog_floor(topic)) >= max(limit, 1)


def _over_age(topic: Topic) -> bool:
    """As far as that is known without reading."""
    limit = topic.policies.quota_age.limit
    return 0 < limit < known_age_ms(topic)


def blocking(topic: Topic) -> tuple[str, str]:
    """The quota that keeps producers away now: what it does, and why in words; both empty when none does."""
    size, age = topic.policies.quota_size, topic.policies.quota_age
    if (size.limit < 0 and age.limit <= 0) or not topic.broker.options.quota_check:
        return "", ""
    if size.action != EVICT and _over_size(topic):
        found = backlog_bytes(topic, backlog_floor(topic))
        return size.action, f"the backlog has {found} bytes and may have {size.limit} (destination_storage)"
    if age.action != EVICT and _over_age(topic):
        seconds = known_age_ms(topic) // 1000
        return age.action, f"the backlog is {seconds} s old and may be {age.limit // 1000} s (message_age)"
    return "", ""


def refuse_over_quota(topic: Topic) -> None:
    """Raise when a quota keeps producers away."""
    action, reason = blocking(topic)
    if not action:
        return
    topic.limits.held_back += 1
    text = f"Cannot create producer on topic with backlog quota exceeded: {topic.name}: {reason}; consume or clear it"
    if action == HOLD:
        raise BacklogQuotaHold(text)
    raise BacklogQuotaExceeded(text)


def with_quota_known(topic: Topic, call: Callable[[], None]) -> None:
    """Call when ``refuse_over_quota`` can judge without reading."""
    if topic.policies.quota_age.limit > 0:
        with_age(topic, lambda age_ms: call())
    else:
        call()


def check_quotas(topic: Topic) -> None:
    """Look at both quotas of the topic, and do what they say."""
    size, age = topic.policies.quota_size, topic.policies.quota_age
    if not topic.broker.options.quota_check or topic.deleted:
        return
    if _over_size(topic):
        if size.action == EVICT:
            _evict_for_size(topic, size.limit)
        else:
            send_away(topic)
    if age.limit > 0:
        with_age(topic, lambda age_ms: _act_on_age(topic))


def _act_on_age(topic: Topic) -> None:
    age = topic.policies.quota_age
    if topic.deleted or not _over_age(topic):
        return
    if age.action != EVICT:
        send_away(topic)
        return
    before_ms = topic.broker.now_ms - age.limit * _KEEP_TENTHS // 10

    def found(offset: int) -> None:
        topic.limits.evicted_for_age += _evict(topic, offset)

    search_time(topic, backlog_floor(topic), before_ms, found)


def _evict_for_size(topic: Topic, limit: int) -> None:
    offset = offset_with(topic, backlog_floor(topic), limit * _KEEP_TENTHS // 10)
    topic.limits.evicted_for_size += _evict(topic, offset)


def _evict(topic: Topic, offset: int) -> int:
    """Every subscription that is further behind goes on from ``offset``; how many that were."""
    moved = 0
    for sub in list(topic.subscriptions.values()):
        if sub.durable and not sub.deleted and not sub.fenced and sub.name != COMPACTION_CURSOR:
            moved += _move(sub, offset)
    return moved


def _move(sub: Subscription, offset: int) -> bool:
    before = sub.backlog()
    if not sub.move_floor(offset):
        return False
    sub.history.note(Event(sub.topic.broker.now_ms, EVICTED, held=before - sub.backlog()))
    return True


def send_away(topic: Topic) -> None:
    """Disconnect the topic's producers; each comes back by itself, to be refused or served."""
    leaving: list[Producer] = list(topic.producers.values())
    for producer in leaving:
        if producer.session.producers.get(producer.id) is producer:
            del producer.session.producers[producer.id]
            # What it sends is dropped for as long as the log takes, and then for a while longer.
            producer.session.retired.add(producer.id, topic.broker.now_ms, _UNTIL_TOLD_MS)

    def durable(error: Exception | None) -> None:
        for producer in leaving:
            if producer.closed:
                continue
            if producer.id not in producer.session.producers:
                producer.session.push(close_producer(producer.id))
                producer.session.retire(producer.id)
            producer.topic.broker.close_producer(producer)

    if leaving:
        topic.limits.held_back += len(leaving)
        topic.broker.when_durable(durable)
