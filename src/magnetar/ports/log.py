"""The log port: streams of entries plus a little mergeable state, written in atomic commits.

A *stream* is an unsigned 64-bit number; the broker gives one to each topic. A stream holds *entries* (bytes, numbered
densely by their offset from 0 up) and *state*: values under short byte keys, with the semantics of a merge operator.
``Put`` replaces a value, ``Merge`` adds a delta to it (the log never looks inside; the owner folds deltas over the
value when it reads them back), ``Drop`` forgets a key. Merges must be idempotent and must survive being replayed over a
value that already contains them, because a checkpoint may capture state a little newer than the place where replay
starts (a "fuzzy" checkpoint).

The order of events, for whoever implements or drives this port:

1. ``recover()`` once, blocking, before anything else: what the store holds.
2. ``start(wake)``: from then on ``wake`` is called, from any thread, whenever ``poll()`` has something new.
3. ``submit(records)`` hands over one commit and returns its number at once. Commits are made durable in the order of
   submission and are atomic: after a crash a commit is there whole or not at all. ``Committed(n)`` means that commit n
   and all before it are durable. The driver decides how much goes into a commit and how many are in flight.
4. ``Failed(n, error)``: commit n and every commit submitted after it so far are void, and none of their records will
   ever be seen, neither by ``read`` nor after a restart. (One ``Failed`` for the lowest number only.) The next
   ``submit`` after the driver has polled a ``Failed`` begins afresh; the adapter must by then write to another file,
   because a failed sync is never retried on the same one. While the reason lasts (a full disk), such commits fail
   again.
5. ``read`` asks for durable entries; the answer comes as ``ReadDone`` with the given ticket, in any order. An entry
   whose checksum does not hold is ``None`` in the answer, and the adapter reports its place in its own log. Reads past
   the end give fewer entries, perhaps none.
6. Checkpoints bound recovery: when ``checkpoint_due()`` is true the driver calls ``begin_checkpoint()``, collects the
   current value of every state key it owns (in slices, over several turns if it likes), and hands it to
   ``finish_checkpoint(token, state)``. Replay after a crash then begins where ``begin_checkpoint`` was called.
7. ``close()`` flushes what was submitted and releases everything; the driver writes a checkpoint before it if it can.

Everything but ``wake`` is called from one thread, the loop's. No call but ``recover`` and ``close`` may block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

__all__ = [
    "Append",
    "Committed",
    "Drop",
    "DropStream",
    "Event",
    "Failed",
    "LogStats",
    "LogStore",
    "Merge",
    "Put",
    "ReadDone",
    "Record",
    "Recovered",
    "RecoveredState",
    "RecoveredStream",
    "Trim",
]


class Append:
    """Entries of one stream with consecutive offsets, the first of which is ``offset``."""

    __slots__ = ("entries", "offset", "stream")

    def __init__(self, stream: int, offset: int, entries: list[bytes]) -> None:
        self.stream = stream
        self.offset = offset
        self.entries = entries


class Put:
    """The value under ``key`` becomes ``value``; earlier values and merges of the key are forgotten."""

    __slots__ = ("key", "stream", "value")

    def __init__(self, stream: int, key: bytes, value: bytes) -> None:
        self.stream = stream
        self.key = key
        self.value = value


class Merge:
    """``delta`` is added to what is known of ``key``. Idempotent by contract of the owner."""

    __slots__ = ("delta", "key", "stream")

    def __init__(self, stream: int, key: bytes, delta: bytes) -> None:
        self.stream = stream
        self.key = key
        self.delta = delta


class Drop:
    """``key`` and its value are forgotten."""

    __slots__ = ("key", "stream")

    def __init__(self, stream: int, key: bytes) -> None:
        self.stream = stream
        self.key = key


class Trim:
    """Entries of ``stream`` below ``offset`` are no longer needed; reading them may give nothing."""

    __slots__ = ("offset", "stream")

    def __init__(self, stream: int, offset: int) -> None:
        self.stream = stream
        self.offset = offset


class DropStream:
    """The stream, all its entries and all its state are forgotten. Its number is never used again."""

    __slots__ = ("stream",)

    def __init__(self, stream: int) -> None:
        self.stream = stream


Record = Append | Put | Merge | Drop | Trim | DropStream


class Committed:
    """Commit ``number`` and all before it are durable."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Failed:
    """Commit ``number`` and all submitted after it so far are void; ``error`` says why and what to do."""

    __slots__ = ("error", "number")

    def __init__(self, number: int, error: Exception) -> None:
        self.number = number
        self.error = error


class ReadDone:
    """The answer to ``read``: entries from ``offset`` on, ``None`` where one is damaged, or ``error``."""

    __slots__ = ("entries", "error", "offset", "ticket")

    def __init__(
        self, ticket: int, offset: int, entries: Sequence[bytes | None], error: Exception | None = None
    ) -> None:
        self.ticket = ticket
        self.offset = offset
        self.entries = entries
        self.error = error


Event = Committed | Failed | ReadDone


@dataclass(slots=True)
class RecoveredState:
    """One state key: the last value put (``None`` if only merges were found) and the merges after it, in order."""

    value: bytes | None = None
    merges: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class RecoveredStream:
    """What the log holds of one stream: entries ``first`` up to, not including, ``end``, and its state."""

    first: int = 0
    end: int = 0
    size_bytes: int = 0
    state: dict[bytes, RecoveredState] = field(default_factory=dict)


@dataclass(slots=True)
class Recovered:
    """What ``recover`` found. ``next_stream`` is larger than any stream number ever used."""

    streams: dict[int, RecoveredStream] = field(default_factory=dict)
    next_stream: int = 1
    notes: list[str] = field(default_factory=list)
    """Sentences about what was repaired (a torn tail cut, a damaged record passed over), for the operator."""


@dataclass(slots=True)
class LogStats:
    """Figures for stats and metrics."""

    commits: int = 0
    synced_bytes: int = 0
    segments: int = 0
    disk_bytes: int = 0
    live_bytes: int = 0
    failures: int = 0


class LogStore(Protocol):
    """See the module's text for the order of calls."""

    def recover(self) -> Recovered: ...

    def start(self, wake: Callable[[], None]) -> None: ...

    def submit(self, records: Sequence[Record]) -> int: ...

    def poll(self) -> list[Event]: ...

    def read(self, ticket: int, stream: int, offset: int, max_entries: int, max_bytes: int) -> None: ...

    def checkpoint_due(self) -> bool: ...

    def begin_checkpoint(self) -> int: ...

    def finish_checkpoint(self, token: int, state: Iterable[tuple[int, bytes, bytes]]) -> None: ...

    def stream_bytes(self, stream: int) -> int: ...

    def stats(self) -> LogStats: ...

    def close(self) -> None: ...
