"""The log port in memory: the twin of the log in files, for tests, the pytest fixture and the simulator.

There is no thread and no clock here. A commit is durable when ``step`` says so, or at once with ``auto=True``. What is
durable sits in one ``_Durable``; a crash makes a new log from a copy of it. Checkpoints do what they do on disk: the
values handed over replace all state, and what was committed since the checkpoint began is applied over them again, so a
merge that is not idempotent fails here just as it would after a real crash.

    log = MemoryLog(auto=True)
    log.recover()
    log.start(lambda: None)
    number = log.submit([Append(1, 0, [b"first"])])
    assert [event.number for event in log.poll()] == [number]
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from magnetar.errors import LogFailed
from magnetar.log.rules import check_commit
from magnetar.ports.log import (
    Append,
    Committed,
    Drop,
    DropStream,
    Event,
    Failed,
    LogStats,
    Merge,
    Put,
    ReadDone,
    Record,
    Recovered,
    RecoveredState,
    RecoveredStream,
    Trim,
)

__all__ = ["MemoryLog"]


@dataclass(slots=True)
class _Stream:
    first: int = 0
    entries: deque[bytes | None] = field(default_factory=deque)
    size_bytes: int = 0
    state: dict[bytes, RecoveredState] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.first + len(self.entries)

    def trim(self, offset: int) -> None:
        while self.first < offset and self.entries:
            entry = self.entries.popleft()
            self.first += 1
            if entry is not None:
                self.size_bytes -= len(entry)


@dataclass(slots=True)
class _Durable:
    """What a crash leaves."""

    streams: dict[int, _Stream] = field(default_factory=dict)
    next_stream: int = 1

    def apply(self, record: Record) -> None:
        if record.stream >= self.next_stream:
            self.next_stream = record.stream + 1
        if isinstance(record, DropStream):
            self.streams.pop(record.stream, None)
            return
        if isinstance(record, Trim | Drop) and record.stream not in self.streams:
            return
        stream = self.streams.setdefault(record.stream, _Stream())
        if isinstance(record, Append):
            stream.entries.extend(record.entries)
            stream.size_bytes += sum(map(len, record.entries))
        elif isinstance(record, Trim):
            stream.trim(record.offset)
        else:
            _apply_state(stream.state, record)


def _apply_state(state: dict[bytes, RecoveredState], record: Put | Merge | Drop) -> None:
    if isinstance(record, Put):
        state[record.key] = RecoveredState(record.value)
    elif isinstance(record, Merge):
        state.setdefault(record.key, RecoveredState()).merges.append(record.delta)
    else:
        state.pop(record.key, None)


@dataclass(slots=True)
class _Checkpoint:
    token: int
    since: list[Put | Merge | Drop | DropStream] = field(default_factory=list)
    """State records committed since it began; they are applied over the values it will bring."""


def _nobody() -> None:
    """Nobody is woken before ``start``."""


class MemoryLog:
    """A log that forgets everything with the process; see the module's text.

    With ``auto=True`` every commit completes and every read is answered in the call itself; otherwise ``step`` and
    ``step_read`` do one at a time, in the order the caller (a simulator) likes.
    """

    def __init__(self, *, auto: bool = False, checkpoint_commits: int = 0, _durable: _Durable | None = None) -> None:
        self._auto = auto
        self._checkpoint_commits = checkpoint_commits
        self._durable = _durable if _durable is not None else _Durable()
        self._wake: Callable[[], None] = _nobody
        self._events: list[Event] = []
        self._commits: deque[tuple[int, list[Record]]] = deque()
        self._reads: deque[tuple[int, int, int, int, int]] = deque()
        self._ends: dict[int, int] = {stream: held.end for stream, held in self._durable.streams.items()}
        self._number = 0
        self._failures: deque[Exception] = deque()
        self._void = False
        self._checkpoint: _Checkpoint | None = None
        self._next_token = 1
        self._since_checkpoint = 0
        self._stats = LogStats(segments=1)
        self._closed = False

    # The port.

    def recover(self) -> Recovered:
        streams = {
            number: RecoveredStream(held.first, held.end, held.size_bytes, copy.deepcopy(held.state))
            for number, held in self._durable.streams.items()
        }
        return Recovered(streams, self._durable.next_stream)

    def start(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def submit(self, records: Sequence[Record]) -> int:
        assert not self._closed, "submit after close"
        if not self._void:
            check_commit(records, self._ends)
        self._number += 1
        if self._void:
            return self._number
        taken = [Append(r.stream, r.offset, list(r.entries)) if isinstance(r, Append) else r for r in records]
        self._commits.append((self._number, taken))
        if self._auto:
            self.step()
        return self._number

    def poll(self) -> list[Event]:
        events, self._events = self._events, []
        if self._void and any(isinstance(event, Failed) for event in events):
            self._void = False
            self._ends = {stream: held.end for stream, held in self._durable.streams.items()}
        return events

    def read(self, ticket: int, stream: int, offset: int, max_entries: int, max_bytes: int) -> None:
        self._reads.append((ticket, stream, offset, max_entries, max_bytes))
        if self._auto:
            self.step_read()

    def checkpoint_due(self) -> bool:
        return 0 < self._checkpoint_commits <= self._since_checkpoint

    def begin_checkpoint(self) -> int:
        self._checkpoint = _Checkpoint(self._next_token)
        self._next_token += 1
        self._since_checkpoint = 0
        return self._checkpoint.token

    def finish_checkpoint(self, token: int, state: Iterable[tuple[int, bytes, bytes]]) -> None:
        checkpoint = self._checkpoint
        if checkpoint is None or checkpoint.token != token:
            return
        self._checkpoint = None
        streams = self._durable.streams
        for held in streams.values():
            held.state.clear()
        for number, key, value in state:
            streams.setdefault(number, _Stream()).state[key] = RecoveredState(value)
        for record in checkpoint.since:
            self._durable.apply(record)

    def stream_bytes(self, stream: int) -> int:
        held = self._durable.streams.get(stream)
        return 0 if held is None else held.size_bytes

    def stats(self) -> LogStats:
        live = sum(held.size_bytes for held in self._durable.streams.values())
        self._stats.live_bytes = self._stats.disk_bytes = live
        return copy.copy(self._stats)

    def close(self) -> None:
        self.run()
        self._closed = True

    # For tests and the simulator.

    @property
    def commits_pending(self) -> int:
        """How many commits wait for ``step``."""
        return len(self._commits)

    @property
    def reads_pending(self) -> int:
        """How many reads wait for ``step_read``."""
        return len(self._reads)

    def step(self) -> bool:
        """Complete (or, if a fault is due, fail) the oldest commit in flight; false if there is none."""
        if not self._commits:
            return False
        number, records = self._commits.popleft()
        if self._failures:
            self._commits.clear()
            self._void = True
            self._stats.failures += 1
            self._events.append(Failed(number, self._failures.popleft()))
        else:
            self._complete(records)
            self._events.append(Committed(number))
        self._wake()
        return True

    def step_read(self) -> bool:
        """Answer the oldest read; false if there is none."""
        if not self._reads:
            return False
        ticket, stream, offset, max_entries, max_bytes = self._reads.popleft()
        held = self._durable.streams.get(stream, _Stream())
        start = max(offset, held.first)
        answer: list[bytes | None] = []
        size = 0
        for index in range(start - held.first, min(start - held.first + max_entries, len(held.entries))):
            entry = held.entries[index]
            size += 0 if entry is None else len(entry)
            if answer and size > max_bytes:
                break
            answer.append(entry)
        self._events.append(ReadDone(ticket, start, answer))
        self._wake()
        return True

    def run(self) -> None:
        """Complete everything in flight."""
        while self.step():
            pass
        while self.step_read():
            pass

    def fail_next(self, times: int = 1, error: Exception | None = None) -> None:
        """The next ``times`` commits that ``step`` takes up fail with ``error``."""
        kind = error if error is not None else LogFailed("a fault was injected into the memory log")
        self._failures.extend([kind] * times)

    def damage(self, stream: int, offset: int) -> None:
        """Make one durable entry unreadable, as a flipped bit on a disk would."""
        held = self._durable.streams[stream]
        entry = held.entries[offset - held.first]
        held.size_bytes -= 0 if entry is None else len(entry)
        held.entries[offset - held.first] = None

    def crash(self, keep: int = 0) -> MemoryLog:
        """What a new process would find: all that was completed, and the first ``keep`` commits in flight as well.

        This log must not be used any more.
        """
        for _, records in list(self._commits)[:keep]:
            self._complete(records)
        self._closed = True
        return MemoryLog(
            auto=self._auto, checkpoint_commits=self._checkpoint_commits, _durable=copy.deepcopy(self._durable)
        )

    def _complete(self, records: list[Record]) -> None:
        for record in records:
            self._durable.apply(record)
            if isinstance(record, Append):
                self._stats.synced_bytes += sum(map(len, record.entries))
            elif self._checkpoint is not None and not isinstance(record, Trim):
                self._checkpoint.since.append(record)
        self._stats.commits += 1
        self._since_checkpoint += 1
