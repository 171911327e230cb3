"""Watchers of topic lists: what each was told, and what it still has to hear.

A watcher is one pattern on one connection. It was told a list once, in the answer to its request, and from then on
hears what has changed, in order. Between two updates it keeps the *difference* between what it was told and what is:
a topic that came and went meanwhile is in none of the two lists, so the difference never grows beyond the topics there
were and the topics there are, however long the connection is not read. Everything that changes in a turn is told in
one update at its end.

The answer and the first update cannot be mixed up: the list is taken and the watcher entered in one step, and nothing
else happens in the core meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from magnetar.core.topiclist.pattern import compiled
from magnetar.core.topiclist.view import View
from magnetar.errors import NotAllowed, TooManyRequests, TopicNotFound
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["UPDATE_BYTES_MAX", "WATCHERS_MAX", "TopicLists", "Watcher"]

UPDATE_BYTES_MAX = 256 * 1024
"""Names in one update; what is more comes in the next one, right behind it."""

WATCHERS_MAX = 1_000
"""Watchers of one connection."""

WATCHED_NAMES_MAX = 2_000_000
"""Names in all lists that are watched, each pattern's for itself."""


class Watcher:
    """See the module's text."""

    def __init__(self, session: Session, ident: int, view: View) -> None:
        self.session: Session = session
        self.id: int = ident
        self.view: View = view
        self.untold: dict[str, bool] = {}
        """Topics that it has to hear of: new (True) or gone (False)."""
        self.stirred: bool = False

    def note(self, name: str, is_new: bool) -> None:
        """The topic has come or gone."""
        if self.untold.get(name) is (not is_new):
            del self.untold[name]
        else:
            self.untold[name] = is_new

    def portions(self) -> Iterator[tuple[list[str], list[str]]]:
        """Take out what is untold, in portions of new and deleted topics that fit into a frame each."""
        while self.untold:
            new: list[str] = []
            gone: list[str] = []
            size = 0
            for name, is_new in self.untold.items():
                size += 3 * len(name)
                if size > UPDATE_BYTES_MAX and (new or gone):
                    break
                (new if is_new else gone).append(name)
            for name in (*new, *gone):
                del self.untold[name]
            yield new, gone


class TopicLists:
    """All that is watched."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self.views: dict[str, dict[str, View]] = {}
        self.stirred: list[Watcher] = []
        self.watchers: dict[int, dict[int, Watcher]] = {}
        """By the number of the session and their own."""
        broker.catalog.listener = self._changed

    def of(self, session: Session) -> dict[int, Watcher]:
        """The watchers of a connection, by their ids."""
        return self.watchers.get(session.number, {})

    def watch(self, session: Session, message: pb.CommandWatchTopicList) -> None:
        """WATCH_TOPIC_LIST. An id that is in use begins anew, which is how a client has its list put right."""
        options = self.broker.options
        if not options.topic_watchers:
            raise NotAllowed("topic lists cannot be watched here (enableBrokerTopicListWatcher); ask for them instead")
        if message.namespace not in self.broker.catalog.namespaces:
            raise TopicNotFound(f"Namespace {message.namespace} does not exist")
        most = options.pattern_length_max
        if len(message.topics_pattern) > most:
            raise NotAllowed(f"the pattern is longer than {most} characters (subscriptionPatternMaxLength)")
        mine = self.of(session)
        known = mine.get(message.watcher_id)
        if known is None and len(mine) >= WATCHERS_MAX:
            raise TooManyRequests(f"a connection may watch {WATCHERS_MAX} patterns; open another connection")
        view = self._view(message.namespace, message.topics_pattern)
        digest = view.digest()
        answer = pb.CommandWatchTopicListSuccess(
            request_id=message.request_id, watcher_id=message.watcher_id, topics_hash=digest
        )
        if not message.HasField("topics_hash") or message.topics_hash != digest:
            answer.topic.extend(view.names)
            if answer.ByteSize() > options.max_message_bytes:
                self._forget_empty(view)
                raise NotAllowed(f"{len(view.names)} topics match, whose names do not fit into one answer")
        if known is not None:
            self.unwatch(session, known.id)
        watcher = Watcher(session, message.watcher_id, self._view(message.namespace, message.topics_pattern))
        watcher.view.watchers.append(watcher)
        self.watchers.setdefault(session.number, {})[watcher.id] = watcher
        session.reply(answer)

    def unwatch(self, session: Session, ident: int) -> None:
        """WATCH_TOPIC_LIST_CLOSE."""
        mine = self.of(session)
        watcher = mine.pop(ident, None)
        if watcher is not None:
            if not mine:
                del self.watchers[session.number]
            watcher.untold.clear()
            watcher.view.watchers.remove(watcher)
            self._forget_empty(watcher.view)

    def ended(self, session: Session) -> None:
        """The connection is gone."""
        for ident in list(self.of(session)):
            self.unwatch(session, ident)

    def resumed(self, session: Session) -> None:
        """The connection takes frames again."""
        for watcher in self.of(session).values():
            if watcher.untold:
                self._stir(watcher)

    def flush(self) -> None:
        """Tell whoever has something to hear and whose connection takes it; the others when theirs does."""
        stirred = self.stirred
        self.stirred = []
        for watcher in stirred:
            watcher.stirred = False
            for new, gone in watcher.portions() if watcher.session.writable else ():
                watcher.session.reply(
                    pb.CommandWatchTopicUpdate(
                        watcher_id=watcher.id,
                        new_topics=new,
                        deleted_topics=gone,
                        topics_hash=watcher.view.told(watcher),
                    )
                )
                if not watcher.session.writable:
                    break

    def _stir(self, watcher: Watcher) -> None:
        if not watcher.stirred:
            watcher.stirred = True
            self.stirred.append(watcher)

    def _changed(self, namespace: str, new: list[str], gone: list[str]) -> None:
        for view in self.views.get(namespace, {}).values():
            for watcher in view.change(new, gone):
                self._stir(watcher)

    def _view(self, namespace: str, pattern: str) -> View:
        """The list of the pattern, shared by all who watch the same one."""
        view = self.views.get(namespace, {}).get(pattern)
        if view is None:
            wanted = compiled(pattern, self.broker.options.pattern_length_max)
            if wanted is None or not self.broker.options.pattern_evaluation:
                raise NotAllowed(
                    "this pattern is not evaluated by the broker: it is no regular expression, or matching it could "
                    "take too long; ask for the topics of the namespace and match them yourself"
                )
            if sum(len(other.names) for known in self.views.values() for other in known.values()) > WATCHED_NAMES_MAX:
                raise TooManyRequests(f"more than {WATCHED_NAMES_MAX} names are watched; try later")
            names = self.broker.catalog.topic_names(namespace, system=False)
            view = View(namespace, pattern, wanted, names)
            self.views.setdefault(namespace, {})[pattern] = view
        return view

    def _forget_empty(self, view: View) -> None:
        if not view.watchers:
            views = self.views.get(view.namespace, {})
            if views.get(view.pattern) is view:
                del views[view.pattern]
            if not views:
                self.views.pop(view.namespace, None)
