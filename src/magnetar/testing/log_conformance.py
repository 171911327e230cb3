"""What every log must do: one suite of tests for all adapters of ``magnetar.ports.log``.

A harness stands between the suite and the adapter; it knows how to open the store, cut its power and make it fail.

    class TestMine(LogConformance):
        @pytest.fixture
        def harness(self) -> LogHarness:
            return MyHarness()

    TestMineAgainstTheModel = log_machine(MyHarness).TestCase

Waiting is done on ``wake``, never on the clock; a store that does not wake for that long has failed.
"""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Iterable

import pytest

from magnetar.errors import LogFailed
from magnetar.ports.log import (
    Append,
    Committed,
    Drop,
    DropStream,
    Event,
    Failed,
    LogStore,
    Merge,
    Put,
    ReadDone,
    Record,
    RecoveredState,
    Trim,
)

__all__ = ["LogConformance", "LogHarness", "Session", "folded"]

_PATIENCE_SECONDS = 20.0


class LogHarness(abc.ABC):
    """One place for a log's data that outlives the stores opened on it."""

    @abc.abstractmethod
    def open(self) -> LogStore:
        """A store on what is there now; the one opened before has been closed or has lost its power."""

    @abc.abstractmethod
    def cut_power(self, store: LogStore) -> None:
        """``store`` is gone in this moment, with all that was not durable, or all but some of it."""

    @abc.abstractmethod
    def fail_next(self, times: int) -> None:
        """The next ``times`` attempts to make something durable fail."""

    @abc.abstractmethod
    def damage(self, stream: int, offset: int) -> None:
        """The bytes of a durable entry are not what they were."""

    def trouble(self, kind: int, amount: int) -> None:  # noqa: B027 - most stores know no other trouble
        """Bring about one of the store's own faults, whichever ``kind`` and ``amount`` stand for."""

    def relieve(self) -> None:  # noqa: B027
        """End what ``trouble`` began: reads and clean closes are to work again."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is about to fail, so that what is void by now is surely void after a power cut."""
        return True


class Session:
    """A store from ``open`` to its end, with calls that wait."""

    def __init__(self, harness: LogHarness) -> None:
        self.harness = harness
        self.store = harness.open()
        self.recovered = self.store.recover()
        self._woken = threading.Event()
        self._kept: list[Event] = []
        self._ticket = 0
        self.store.start(self._woken.set)

    def events(self, enough: Callable[[list[Event]], bool]) -> list[Event]:
        """All events up to the poll after which ``enough`` holds for what came."""
        got, self._kept = self._kept, []
        while True:
            self._woken.clear()
            got.extend(self.store.poll())
            if enough(got):
                return got
            assert self._woken.wait(_PATIENCE_SECONDS), f"the store did not wake anybody after {got}"

    def settle(self, number: int) -> Event:
        """Wait until commit ``number`` is decided; what decided it. Later events are kept for later."""

        def decides(event: Event) -> bool:
            if isinstance(event, Committed):
                return event.number >= number
            return isinstance(event, Failed) and event.number <= number

        got = self.events(lambda events: any(map(decides, events)))
        at = next(place for place, event in enumerate(got) if decides(event))
        self._kept = [event for event in got[:at] if isinstance(event, ReadDone)] + got[at + 1 :]
        return got[at]

    def commit(self, *records: Record) -> int:
        """Submit and wait until it is durable."""
        number = self.store.submit(records)
        decided = self.settle(number)
        assert isinstance(decided, Committed), f"commit {number} failed: {decided}"
        return number

    def refused(self, *records: Record) -> Exception:
        """Submit and wait until it has failed; why it did."""
        decided = self.settle(self.store.submit(records))
        assert isinstance(decided, Failed), "the commit was expected to fail"
        return decided.error

    def answer(self, stream: int, offset: int, entries: int = 1000, size: int = 1 << 20) -> ReadDone:
        """Read and wait for the answer."""
        self._ticket += 1
        ticket = self._ticket
        self.store.read(ticket, stream, offset, entries, size)

        def mine(event: Event) -> bool:
            return isinstance(event, ReadDone) and event.ticket == ticket

        got = self.events(lambda events: any(map(mine, events)))
        self._kept = [event for event in got if not mine(event)]
        found = next(event for event in got if mine(event))
        assert isinstance(found, ReadDone)
        return found

    def read(self, stream: int, offset: int = 0, entries: int = 1000, size: int = 1 << 20) -> list[bytes | None]:
        """The entries of an answer that is not an error."""
        done = self.answer(stream, offset, entries, size)
        assert done.error is None, done.error
        return list(done.entries)

    def checkpoint(self, state: Iterable[tuple[int, bytes, bytes]]) -> None:
        """A whole checkpoint at once."""
        self.store.finish_checkpoint(self.store.begin_checkpoint(), state)

    def close(self) -> None:
        """End in order."""
        self.store.close()

    def cut_power(self) -> Session:
        """Lose power and come back."""
        self.harness.cut_power(self.store)
        return Session(self.harness)

    def reopen(self) -> Session:
        """Close in order and come back."""
        self.store.close()
        return Session(self.harness)


def folded(state: RecoveredState) -> frozenset[bytes]:
    """The suite's own merge: a value is a set of words joined by blanks, a merge adds one. It is idempotent."""
    return frozenset((state.value or b"").split()) | frozenset(state.merges)


class LogConformance:
    """The tests; subclass it and give it a ``harness``."""

    @pytest.fixture
    def harness(self) -> LogHarness:
        """The subject of the tests."""
        raise NotImplementedError("a subclass gives the harness")

    @pytest.fixture
    def session(self, harness: LogHarness) -> Iterable[Session]:
        """An open store on a fresh harness."""
        opened = Session(harness)
        yield opened
        opened.close()

    def test_a_new_log_is_empty(self, session: Session) -> None:
        assert session.recovered.streams == {}
        assert session.recovered.next_stream == 1
        assert session.recovered.notes == []

    def test_commits_are_numbered_and_reported_in_order(self, session: Session) -> None:
        numbers = [session.store.submit([Append(1, n, [b"%d" % n])]) for n in range(20)]
        assert numbers == sorted(set(numbers))
        got = session.events(lambda events: any(getattr(event, "number", 0) == numbers[-1] for event in events))
        reported = [event.number for event in got if isinstance(event, Committed)]
        assert reported == sorted(set(reported))
        assert session.read(1) == [b"%d" % n for n in range(20)]

    def test_entries_come_back_as_they_were(self, session: Session) -> None:
        entries = [b"", b"a", bytes(range(256)) * 40, b"\0" * 5000]
        session.commit(Append(1, 0, entries), Append(2, 0, [b"other"]), Append(1, 4, [b"last"]))
        assert session.read(1) == [*entries, b"last"]
        assert session.read(2) == [b"other"]

    def test_a_read_is_bounded_by_entries_and_by_bytes_but_gives_at_least_one(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"x" * 100] * 10))
        assert len(session.read(1, 2, entries=3)) == 3
        assert len(session.read(1, 2, size=250)) == 2
        assert len(session.read(1, 2, size=1)) == 1

    def test_reads_past_the_end_or_of_nothing_give_nothing(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"a", b"b"]))
        assert session.read(1, 1) == [b"b"]
        assert session.read(1, 2) == []
        assert session.read(1, 99) == []
        assert session.read(77) == []

    def test_an_entry_can_be_read_once_its_commit_was_reported(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"a"]))
        number = session.store.submit([Append(1, 1, [b"b"])])
        session.settle(number)
        assert session.read(1) == [b"a", b"b"]

    def test_a_trimmed_stream_starts_at_the_first_entry_kept(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"%d" % n for n in range(10)]))
        session.commit(Trim(1, 4))
        done = session.answer(1, 0)
        assert done.offset == 4
        assert list(done.entries) == [b"%d" % n for n in range(4, 10)]
        again = session.cut_power()
        assert (again.recovered.streams[1].first, again.recovered.streams[1].end) == (4, 10)
        again.commit(Trim(1, 99))
        assert again.read(1) == []
        again.commit(Append(1, 10, [b"next"]))
        assert again.read(1, 10) == [b"next"]
        again.close()

    def test_an_append_that_leaves_a_gap_is_refused_at_once(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"a"]))
        with pytest.raises(ValueError, match="ends at offset 1"):
            session.store.submit([Append(2, 0, [b"x"]), Append(1, 2, [b"c"])])
        session.commit(Append(2, 0, [b"x"]), Append(1, 1, [b"b"]))
        assert session.read(2) == [b"x"]

    def test_all_that_was_committed_is_there_after_a_power_cut(self, session: Session) -> None:
        for n in range(30):
            session.commit(Append(1, n, [b"%d" % n]), Put(1, b"n", b"%d" % n), Append(2, 2 * n, [b"a", b"b"]))
        after = session.cut_power()
        assert after.recovered.streams[1].end == 30
        assert after.recovered.streams[2].end == 60
        assert after.recovered.streams[1].state[b"n"].value == b"29"
        assert after.recovered.next_stream == 3
        assert after.read(1) == [b"%d" % n for n in range(30)]
        after.close()

    def test_commits_in_flight_are_there_whole_or_not_at_all_after_a_power_cut(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"0"]), Append(2, 0, [b"0"]))
        for n in range(1, 40):
            session.store.submit([Append(1, n, [b"%d" % n]), Put(1, b"n", b"%d" % n), Append(2, n, [b"%d" % n])])
        after = session.cut_power()
        held = after.recovered.streams[1]
        assert 1 <= held.end == after.recovered.streams[2].end
        if held.end > 1:
            assert held.state[b"n"].value == b"%d" % (held.end - 1)
        assert after.read(1) == after.read(2) == [b"%d" % n for n in range(held.end)]
        after.close()

    def test_state_is_folded_as_the_port_says(self, session: Session) -> None:
        session.commit(Put(1, b"a", b"x"), Merge(1, b"a", b"y"), Merge(1, b"b", b"m"), Put(1, b"c", b"gone"))
        session.commit(Merge(1, b"a", b"z"), Drop(1, b"c"), Put(2, b"a", b"other"))
        state = session.cut_power()
        one = state.recovered.streams[1].state
        assert (one[b"a"].value, one[b"a"].merges) == (b"x", [b"y", b"z"])
        assert (one[b"b"].value, one[b"b"].merges) == (None, [b"m"])
        assert b"c" not in one
        assert state.recovered.streams[2].state[b"a"].value == b"other"
        state.commit(Put(1, b"a", b"new"))
        last = state.reopen()
        assert (last.recovered.streams[1].state[b"a"].value, last.recovered.streams[1].state[b"a"].merges) == (
            b"new",
            [],
        )
        last.close()

    def test_a_dropped_stream_is_forgotten_but_its_number_is_not_given_out_again(self, session: Session) -> None:
        session.commit(Append(9, 0, [b"a"] * 5), Put(9, b"k", b"v"), Append(3, 0, [b"kept"]))
        session.commit(DropStream(9))
        assert session.read(9) == []
        assert session.store.stream_bytes(9) == 0
        after = session.cut_power()
        assert set(after.recovered.streams) == {3}
        assert after.recovered.next_stream == 10
        after.checkpoint([])
        last = after.reopen()
        assert last.recovered.next_stream == 10
        last.close()

    def test_stream_bytes_follow_appends_and_trims(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"x" * 10] * 10), Append(2, 0, [b"y" * 7]))
        assert (session.store.stream_bytes(1), session.store.stream_bytes(2)) == (100, 7)
        session.commit(Trim(1, 3))
        assert session.store.stream_bytes(1) == 70
        after = session.reopen()
        assert after.recovered.streams[1].size_bytes == after.store.stream_bytes(1) == 70
        assert after.store.stream_bytes(5) == 0
        after.close()

    def test_a_failure_voids_the_commit_and_all_behind_it(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"good"]))
        session.harness.fail_next(1)
        first = session.store.submit([Append(1, 1, [b"bad"]), Put(1, b"k", b"bad")])
        later = session.store.submit([Append(1, 2, [b"worse"])])
        decided = session.settle(first)
        assert isinstance(decided, Failed)
        assert decided.number == first
        assert isinstance(decided.error, LogFailed)
        # The next commit begins afresh, where the last good one ended.
        number = session.commit(Append(1, 1, [b"better"]))
        assert number > later
        assert session.read(1) == [b"good", b"better"]
        after = session.cut_power()
        assert after.read(1) == [b"good", b"better"]
        assert after.recovered.streams[1].state == {}
        after.close()

    def test_only_one_failure_is_reported_however_many_commits_it_takes_along(self, session: Session) -> None:
        session.harness.fail_next(1)
        numbers = [session.store.submit([Append(1, n, [b"void"])]) for n in range(10)]
        assert isinstance(session.settle(numbers[0]), Failed)
        number = session.store.submit([Append(1, 0, [b"kept"])])
        got = session.events(lambda events: any(isinstance(event, Committed) for event in events))
        assert [(type(event), getattr(event, "number", 0)) for event in got] == [(Committed, number)]
        assert session.store.stats().failures == 1

    def test_failures_repeat_while_their_reason_lasts(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"0"]))
        for _ in range(3):
            session.harness.fail_next(1)
            assert isinstance(session.refused(Append(1, 1, [b"void"])), LogFailed)
            assert session.read(1) == [b"0"]
        session.commit(Append(1, 1, [b"1"]))
        after = session.reopen()
        assert after.read(1) == [b"0", b"1"]
        after.close()

    def test_what_was_void_stays_void_after_a_power_cut(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"good"]))
        session.harness.fail_next(1)
        session.refused(Append(1, 1, [b"void"] * 50))
        after = session.cut_power()
        assert after.recovered.streams[1].end == 1
        assert after.read(1) == [b"good"]
        after.close()

    def test_a_damaged_entry_is_none_and_costs_nothing_else(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"a" * 50, b"b" * 50, b"c" * 50]), Append(2, 0, [b"d" * 50]))
        session.commit(Append(1, 3, [b"e" * 50]))
        session.harness.damage(1, 1)
        expected = [b"a" * 50, None, b"c" * 50, b"e" * 50]
        assert session.read(1) == expected
        assert session.read(2) == [b"d" * 50]
        after = session.reopen()
        assert after.read(1) == expected
        assert after.recovered.streams[1].end == 4
        assert after.read(2) == [b"d" * 50]
        after.close()

    def test_recovery_uses_a_checkpoint_and_what_came_after(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"a"]), Put(1, b"k", b"one"), Put(1, b"old", b"x"))
        session.checkpoint([(1, b"k", b"one"), (1, b"old", b"x")])
        session.commit(Append(1, 1, [b"b"]), Merge(1, b"k", b"two"), Drop(1, b"old"))
        after = session.reopen()
        assert folded(after.recovered.streams[1].state[b"k"]) == {b"one", b"two"}
        assert set(after.recovered.streams[1].state) == {b"k"}
        assert after.read(1) == [b"a", b"b"]
        after.close()

    def test_commits_between_the_begin_and_the_end_of_a_checkpoint_are_replayed(self, session: Session) -> None:
        session.commit(Put(1, b"k", b"one"), Append(1, 0, [b"a"]), Append(2, 0, [b"x", b"y"]))
        token = session.store.begin_checkpoint()
        session.commit(Merge(1, b"k", b"two"), Append(1, 1, [b"b"]), Put(3, b"n", b"new"), Trim(2, 1))
        session.store.finish_checkpoint(token, [(1, b"k", b"one two")])
        session.commit(Merge(1, b"k", b"three"), Append(1, 2, [b"c"]))
        after = session.reopen()
        assert folded(after.recovered.streams[1].state[b"k"]) == {b"one", b"two", b"three"}
        assert after.recovered.streams[3].state[b"n"].value == b"new"
        assert after.read(1) == [b"a", b"b", b"c"]
        assert after.answer(2, 0).offset == 1
        after.close()

    def test_a_checkpoint_that_was_begun_again_makes_the_first_token_void(self, session: Session) -> None:
        session.commit(Put(1, b"k", b"v"))
        old = session.store.begin_checkpoint()
        new = session.store.begin_checkpoint()
        session.store.finish_checkpoint(old, [(1, b"k", b"never")])
        session.store.finish_checkpoint(new, [(1, b"k", b"v")])
        after = session.reopen()
        assert after.recovered.streams[1].state[b"k"].value == b"v"
        after.close()

    def test_many_checkpoints_and_restarts_lose_nothing(self, session: Session) -> None:
        for n in range(6):
            session.commit(Append(1, n, [b"%d" % n]), Merge(1, b"k", b"%d" % n))
            session.checkpoint([(1, b"k", b" ".join(b"%d" % m for m in range(n + 1)))])
            session = session.cut_power() if n % 2 else session.reopen()
            assert session.read(1) == [b"%d" % m for m in range(n + 1)]
            assert folded(session.recovered.streams[1].state[b"k"]) == {b"%d" % m for m in range(n + 1)}
        session.close()

    def test_close_finishes_what_was_submitted(self, session: Session) -> None:
        last = 0
        for n in range(50):
            last = session.store.submit([Append(1, n, [b"%d" % n])])
        session.store.close()
        assert any(isinstance(event, Committed) and event.number == last for event in session.store.poll())
        after = Session(session.harness)
        assert after.recovered.streams[1].end == 50
        after.close()

    def test_an_empty_commit_is_a_commit(self, session: Session) -> None:
        session.commit()
        session.commit(Append(1, 0, []))
        assert session.read(1) == []

    def test_figures_are_kept(self, session: Session) -> None:
        session.commit(Append(1, 0, [b"x" * 1000]))
        stats = session.store.stats()
        assert (stats.commits, stats.failures) == (1, 0)
        assert stats.synced_bytes >= 1000
        assert stats.live_bytes >= 1000
        assert stats.disk_bytes >= stats.live_bytes
