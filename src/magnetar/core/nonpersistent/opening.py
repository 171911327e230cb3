"""Non-persistent topics come and go: opened by their first use, closed when nobody has used them for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.names import TopicName
from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.errors import NotAllowed

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.topic import Topic

__all__ = ["IDLE_CHECK_MS", "close_topic", "open_topic"]

IDLE_CHECK_MS = 60_000
"""How often unused topics are looked for, and how long one stays unused where no policy says so."""


def open_topic(broker: Broker, name: TopicName) -> Topic:
    """The topic, which is there from now on."""
    full = str(name)
    topic = broker.topics.get(full)
    if topic is not None:
        return topic
    if not broker.options.non_persistent_topics:
        raise NotAllowed(f"{full}: non-persistent topics are not served here (enableNonPersistentTopics)")
    topic = broker.topics[full] = NonPersistentTopic(broker, name)
    if not broker.catalog.live:
        broker.timers.at(broker.now_ms + IDLE_CHECK_MS, _Idle(broker))
    broker.catalog.opened(name)
    return topic


def close_topic(broker: Broker, topic: Topic) -> None:
    """The topic is there no longer; nobody is connected to it."""
    if broker.topics.get(str(topic.name)) is topic:
        del broker.topics[str(topic.name)]
        broker.catalog.vanished(topic.name)


class _Idle:
    """Looks for topics that nobody uses, as long as there are any."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker

    def __call__(self) -> None:
        broker = self.broker
        for known in list(broker.catalog.live.values()):
            for full in list(known):
                topic = broker.topics.get(full)
                if isinstance(topic, NonPersistentTopic):
                    self._look(topic)
        if broker.catalog.live:
            broker.timers.at(broker.now_ms + IDLE_CHECK_MS, self)

    def _look(self, topic: NonPersistentTopic) -> None:
        now = self.broker.now_ms
        if topic.in_use():
            topic.used_ms = now
            return
        policy = self.broker.policies.topic_value(topic.name, "inactive_topic_policies")
        wait_ms = IDLE_CHECK_MS
        if policy is not None:
            if not policy["deleteWhileInactive"]:
                return
            wait_ms = int(policy["maxInactiveDurationSeconds"]) * 1000
        if now - topic.used_ms >= wait_ms:
            topic.deleted = True
            for sub in topic.subscriptions.values():
                sub.deleted = True
            close_topic(self.broker, topic)
