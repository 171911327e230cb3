"""WATCH_TOPIC_LIST and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["unwatch_topics", "watch_topics"]


def watch_topics(broker: Broker, session: Session, message: pb.CommandWatchTopicList) -> None:
    """WATCH_TOPIC_LIST: the list now, and from now on what changes in it."""
    broker.topic_lists.watch(session, message)


def unwatch_topics(broker: Broker, session: Session, message: pb.CommandWatchTopicListClose) -> None:
    """WATCH_TOPIC_LIST_CLOSE: an id that is not open is closed already."""
    broker.topic_lists.unwatch(session, message.watcher_id)
    session.success(message.request_id)
