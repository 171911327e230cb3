"""Any log against a model of a log: random commits, checkpoints, faults, power cuts and restarts, by Hypothesis.

    TestMine = log_machine(MyHarness).TestCase

The model knows what was acknowledged. After a crash the log must hold exactly that and some whole commits that were in
flight, in order; never anything of a commit that is known to have failed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from magnetar.ports.log import (
    Append,
    Committed,
    Drop,
    DropStream,
    Failed,
    Merge,
    Put,
    ReadDone,
    Record,
    Recovered,
    Trim,
)
from magnetar.testing.log_conformance import LogHarness, Session, folded

__all__ = ["log_machine"]

_KEYS = (b"a", b"b")
_SIZES = (0, 1, 30, 400, 3000)

Step = tuple[str, int, int, int]
"""What to do, to which of the open streams, and two numbers of free meaning."""


@dataclass
class _Stream:
    first: int = 0
    end: int = 0
    entries: dict[int, bytes] = field(default_factory=dict)
    state: dict[bytes, frozenset[bytes]] = field(default_factory=dict)


@dataclass
class _Model:
    """What a log would hold after the commits applied to it."""

    streams: dict[int, _Stream] = field(default_factory=dict)
    next_stream: int = 1

    def apply(self, record: Record) -> None:
        if isinstance(record, Append) and not record.entries:
            return
        self.next_stream = max(self.next_stream, record.stream + 1)
        if isinstance(record, DropStream):
            self.streams.pop(record.stream, None)
            return
        stream = self.streams.setdefault(record.stream, _Stream())
        if isinstance(record, Append):
            for entry in record.entries:
                stream.entries[stream.end] = entry
                stream.end += 1
        elif isinstance(record, Trim):
            stream.first = min(max(stream.first, record.offset), stream.end)
        elif isinstance(record, Put):
            stream.state[record.key] = frozenset(record.value.split())
        elif isinstance(record, Merge):
            stream.state[record.key] = stream.state.get(record.key, frozenset()) | {record.delta}
        else:
            stream.state.pop(record.key, None)

    def picture(self) -> dict[int, tuple[int, int, dict[bytes, frozenset[bytes]]]]:
        """First, end and state of every stream that has any of it."""
        return {
            number: (stream.first, stream.end, stream.state)
            for number, stream in self.streams.items()
            if stream.end or stream.state
        }

    def entries(self) -> dict[int, list[bytes | None]]:
        """The entries of the streams that have any."""
        return {
            number: [stream.entries[at] for at in range(stream.first, stream.end)]
            for number, stream in self.streams.items()
            if stream.first < stream.end
        }


def _picture(found: Recovered) -> dict[int, tuple[int, int, dict[bytes, frozenset[bytes]]]]:
    streams = {
        number: (held.first, held.end, {key: folded(state) for key, state in held.state.items()})
        for number, held in found.streams.items()
    }
    return {number: held for number, held in streams.items() if held[1] or held[2]}


def _steps() -> st.SearchStrategy[list[Step]]:
    kinds = ("append",) * 5 + ("put", "merge", "merge", "drop", "trim", "trim", "drop_stream")
    step = st.tuples(st.sampled_from(kinds), st.integers(0, 2), st.integers(0, 4), st.integers(0, 4))
    return st.lists(step, min_size=1, max_size=5)


class LogMachine(RuleBasedStateMachine):
    """The rules. ``make`` is set by ``log_machine``."""

    make: Callable[[int], LogHarness]

    @initialize(seed=st.integers(0, 1 << 16))
    def begin(self, seed: int) -> None:
        self.harness = type(self).make(seed)
        self.session = Session(self.harness)
        self.model = _Model()
        self.ahead = _Model()
        self.open_streams = [1, 2, 3]
        self.word = 0
        self.flying: list[tuple[int, list[Record]]] = []
        self.doubtful: list[list[list[Record]]] = []
        """Commits reported as failed while the store was so bad that a power cut might bring them back; a list for
        each failure, of which one at most can come back, because what follows a failure begins where it began."""
        self.token: int | None = None
        self.collected: list[tuple[int, bytes, bytes]] = []

    def _records(self, steps: list[Step]) -> Iterator[Record]:
        """Turn steps into records that fit what was submitted before, as ``ahead`` has it."""
        for kind, which, one, two in steps:
            number = self.open_streams[which]
            self.word += 1
            word = b"%d" % self.word
            record: Record
            if kind == "append":
                end = self.ahead.streams.get(number, _Stream()).end
                record = Append(number, end, [word + b"." * _SIZES[(one + n) % 5] for n in range(two)])
            elif kind == "put":
                record = Put(number, _KEYS[one % 2], word)
            elif kind == "merge":
                record = Merge(number, _KEYS[one % 2], word)
            elif kind == "drop":
                record = Drop(number, _KEYS[one % 2])
            elif kind == "trim":
                held = self.ahead.streams.get(number, _Stream())
                record = Trim(number, held.first + (held.end - held.first) * one // 4)
            else:
                record = DropStream(number)
                self.open_streams[which] = max(*self.open_streams, self.ahead.next_stream) + 1
            self.ahead.apply(record)
            yield record

    def _submit(self, steps: list[Step]) -> int:
        records = list(self._records(steps))
        number = self.session.store.submit(records)
        self.flying.append((number, records))
        return number

    def _settle(self) -> None:
        """Wait until nothing is in flight, and take over what was decided."""
        while self.flying:
            self._learn(self.session.settle(self.flying[0][0]))

    def _learn(self, event: Committed | Failed | ReadDone) -> None:
        if isinstance(event, Committed):
            self.doubtful.clear()
            while self.flying and self.flying[0][0] <= event.number:
                for record in self.flying.pop(0)[1]:
                    self.model.apply(record)
        elif isinstance(event, Failed):
            assert event.number == self.flying[0][0], "a failure must name the first commit it voids"
            if not self.harness.healthy:
                self.doubtful.append([records for _, records in self.flying])
            self.flying.clear()
            self.ahead = copy.deepcopy(self.model)

    @rule(commits=st.lists(_steps(), min_size=1, max_size=4))
    def commit(self, commits: list[list[Step]]) -> None:
        for steps in commits:
            self._submit(steps)
        self._settle()

    @rule(commits=st.lists(_steps(), min_size=1, max_size=3))
    def submit(self, commits: list[list[Step]]) -> None:
        for steps in commits:
            self._submit(steps)

    @rule(times=st.integers(1, 3))
    def fail(self, times: int) -> None:
        self._settle()
        self.harness.fail_next(times)

    @rule(kind=st.integers(0, 9), amount=st.integers(0, 40))
    def trouble(self, kind: int, amount: int) -> None:
        self._settle()
        self.harness.trouble(kind, amount)

    @precondition(lambda self: self.token is None)
    @rule()
    def begin_checkpoint(self) -> None:
        self._settle()
        self.token = self.session.store.begin_checkpoint()

    @precondition(lambda self: self.token is not None)
    @rule()
    def finish_checkpoint(self) -> None:
        """The state handed over is newer than the beginning: a fuzzy checkpoint."""
        self._settle()
        assert self.token is not None
        self.session.store.finish_checkpoint(self.token, self._state())
        self.token = None

    def _state(self) -> list[tuple[int, bytes, bytes]]:
        return [
            (number, key, b" ".join(sorted(value)))
            for number, stream in self.model.streams.items()
            for key, value in stream.state.items()
        ]

    @precondition(lambda self: self.token is None)
    @rule()
    def checkpoint(self) -> None:
        self._settle()
        self.session.checkpoint(self._state())

    @rule()
    def look(self) -> None:
        self._settle()
        self.harness.relieve()
        assert self._entries(self.model.streams) == self.model.entries()
        for number, stream in self.model.streams.items():
            assert stream.first < stream.end or self.session.store.stream_bytes(number) == 0

    @rule()
    def close_and_open(self) -> None:
        self._settle()
        self.harness.relieve()
        self.session.close()
        self._come_back(self._beginnings(*self.doubtful, []))

    @rule()
    def cut_power(self) -> None:
        in_flight = [records for _, records in self.flying]
        self.harness.cut_power(self.session.store)
        self._come_back(self._beginnings(*self.doubtful, in_flight))

    @staticmethod
    def _beginnings(*lists: list[list[Record]]) -> list[list[list[Record]]]:
        return [commits[:count] for commits in lists for count in range(len(commits) + 1)]

    def _come_back(self, possible: list[list[list[Record]]]) -> None:
        """Recover; what is found must be the model after one of the lists of commits that are possible."""
        self.token = None
        self.flying = []
        self.doubtful = []
        self.session = Session(self.harness)
        found = (_picture(self.session.recovered), self._entries(self.session.recovered.streams))
        seen = []
        for commits in possible:
            model = copy.deepcopy(self.model)
            for records in commits:
                for record in records:
                    model.apply(record)
            seen.append((model.picture(), model.entries()))
            if seen[-1] == found:
                self.model = model
                break
        else:
            raise AssertionError(f"found {found}, expected one of {seen}; notes {self.session.recovered.notes}")
        assert self.session.recovered.next_stream >= self.model.next_stream
        self.ahead = copy.deepcopy(self.model)
        highest = max([self.session.recovered.next_stream, *self.open_streams])
        # Streams that were dropped are not used again; whether a drop in flight survived, the model knows now.
        self.open_streams = [
            number if number in self.model.streams else highest + place
            for place, number in enumerate(self.open_streams)
        ]

    def _entries(self, numbers: Iterable[int]) -> dict[int, list[bytes | None]]:
        """All entries of the streams that have any, by reads of different sizes."""
        found: dict[int, list[bytes | None]] = {}
        for number in numbers:
            offset = 0
            while True:
                done = self.session.answer(number, offset, entries=7, size=2000)
                assert done.error is None, done.error
                if not done.entries:
                    break
                found.setdefault(number, []).extend(done.entries)
                offset = done.offset + len(done.entries)
        return found

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()


def log_machine(make: Callable[[int], LogHarness]) -> type[LogMachine]:
    """The machine for the harness that ``make`` gives for a seed. Its ``TestCase`` is what pytest collects."""

    class Machine(LogMachine):
        pass

    Machine.make = staticmethod(make)
    return Machine
