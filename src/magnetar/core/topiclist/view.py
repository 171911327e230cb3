"""The topics of a namespace that a pattern matches, kept up to date for all who watch them."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from magnetar.core.systemtopics import is_system_topic
from magnetar.core.topiclist.pattern import FILTERED_NAME_LENGTH_MAX, matches
from magnetar.wire.hashing import topics_hash

if TYPE_CHECKING:
    from magnetar.core.topiclist.watcher import Watcher

__all__ = ["View"]


class View:
    """Names stand in order, because the hash is over the ordered list: sorting them anew for every topic that is
    created would cost more than everything else together.

    A name too long to be matched quickly is in no view. Clients that watch also ask for the whole list from time to
    time, and filter it for themselves when such a name is in it.
    """

    def __init__(self, namespace: str, pattern: str, wanted: re.Pattern[str], names: list[str]) -> None:
        self.namespace: str = namespace
        self.pattern: str = pattern
        self.wanted: re.Pattern[str] = wanted
        self.names: list[str] = sorted(name for name in names if self._has(name))
        self.watchers: list[Watcher] = []
        self._digest: str = ""

    def _has(self, name: str) -> bool:
        return len(name) <= FILTERED_NAME_LENGTH_MAX and matches(self.wanted, name) and not is_system_topic(name)

    def digest(self) -> str:
        """The hash of the list; made once for however many changes came before it, and for all watchers."""
        if not self._digest:
            self._digest = topics_hash(self.names)
        return self._digest

    def change(self, new: list[str], gone: list[str]) -> list[Watcher]:
        """Topics have come and gone; the watchers that have to be told of it."""
        changed = False
        for name in new:
            if self._has(name):
                insort(self.names, name)
                self._note(name, True)
                changed = True
        for name in gone:
            at = bisect_left(self.names, name)
            if at < len(self.names) and self.names[at] == name:
                del self.names[at]
                self._note(name, False)
                changed = True
        if not changed:
            return []
        self._digest = ""
        return self.watchers

    def _note(self, name: str, is_new: bool) -> None:
        for watcher in self.watchers:
            watcher.note(name, is_new)

    def told(self, watcher: Watcher) -> str:
        """The hash of what the watcher has been told so far."""
        if not watcher.untold:
            return self.digest()
        gone = [name for name, is_new in watcher.untold.items() if not is_new]
        return topics_hash([*(name for name in self.names if name not in watcher.untold), *gone])
