"""Changes of the catalogue on their way to the metadata store, one at a time for each row.

Whoever wants a row changed hands in a function from the row as it is to the row as it should be (None: no row). It is
called when every earlier change of that row is stored, so two changes never work on the same state, and a change never
brings back what was deleted before it. The function may refuse by raising an error of the catalogue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from magnetar.core.catalog import MetaWrite, Row, encode_row
from magnetar.core.policies.follow import row_changed
from magnetar.errors import MagnetarError

if TYPE_CHECKING:
    from magnetar.core.broker import Broker

__all__ = ["Change", "RowWrites"]

Change = Callable[[Row | None], Row | None]
Done = Callable[[Exception | None], None]


class _Wanted(NamedTuple):
    change: Change
    create: bool
    done: Done


class RowWrites:
    """See the module's text. What the shell has to hand to the store collects in the broker's ``meta_writes``."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self.count: int = 0
        self.under_way: dict[str, Done] = {}
        self.behind: dict[str, deque[_Wanted]] = {}

    def change(self, path: str, change: Change, create: bool, done: Done) -> None:
        """Change the row at ``path``; with ``create`` the store refuses when there is one already."""
        wanted = _Wanted(change, create, done)
        if path in self.under_way:
            self.behind.setdefault(path, deque()).append(wanted)
        else:
            self._start(path, wanted)

    def _start(self, path: str, wanted: _Wanted) -> None:
        try:
            row = wanted.change(self.broker.catalog.row(path))
        except MagnetarError as refused:
            wanted.done(refused)
            self._next(path)
            return
        self.under_way[path] = wanted.done
        self.count += 1
        value = encode_row(row) if row is not None else None
        self.broker.meta_writes.append(MetaWrite(path, value, wanted.create, self.count))

    def stored(self, write: MetaWrite, error: Exception | None) -> None:
        """The store has made the change, or not. The catalogue follows before anybody hears of it."""
        if error is None:
            self.broker.catalog.apply(write.path, write.value)
            row_changed(self.broker, write.path)
            self.broker.schemas.row_changed(write.path, write.value is None)
        self.under_way.pop(write.path)(error)
        if write.path not in self.under_way:
            self._next(write.path)

    def _next(self, path: str) -> None:
        behind = self.behind.get(path)
        if behind is None:
            return
        wanted = behind.popleft()
        if not behind:
            del self.behind[path]
        self._start(path, wanted)
