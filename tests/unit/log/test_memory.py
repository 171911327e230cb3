"""What the memory log has beyond the port: steps, faults and crashes by hand."""

from __future__ import annotations

import pytest

from magnetar.log.memory import MemoryLog
from magnetar.ports.log import Append, Committed, Failed, Put, ReadDone


def _log() -> MemoryLog:
    log = MemoryLog()
    log.recover()
    log.start(lambda: None)
    return log


def test_nothing_is_durable_before_its_step() -> None:
    log = _log()
    for n in range(3):
        log.submit([Append(1, n, [b"%d" % n])])
    assert log.poll() == []
    assert log.commits_pending == 3
    assert log.step()
    (event,) = log.poll()
    assert isinstance(event, Committed)
    assert event.number == 1
    assert log.crash().recover().streams[1].end == 1


@pytest.mark.parametrize("keep", range(4))
def test_a_crash_keeps_as_many_commits_in_flight_as_it_is_told(keep: int) -> None:
    log = _log()
    for n in range(3):
        log.submit([Append(1, n, [b"%d" % n]), Put(1, b"n", b"%d" % n)])
    after = log.crash(keep)
    streams = after.recover().streams
    assert (streams[1].end if keep else 0) == keep
    assert not keep or streams[1].state[b"n"].value == b"%d" % (keep - 1)


def test_reads_are_answered_in_their_own_step() -> None:
    log = _log()
    log.submit([Append(1, 0, [b"a"])])
    log.read(5, 1, 0, 10, 100)
    assert log.reads_pending == 1
    log.run()
    answer = log.poll()[-1]
    assert isinstance(answer, ReadDone)
    assert (answer.ticket, list(answer.entries)) == (5, [b"a"])
    assert not log.step()
    assert not log.step_read()


def test_a_failure_takes_all_in_flight_along_and_what_is_submitted_until_it_is_polled() -> None:
    log = _log()
    log.fail_next(1, OSError("full"))
    log.submit([Append(1, 0, [b"a"])])
    log.submit([Append(1, 1, [b"b"])])
    log.step()
    log.submit([Append(1, 2, [b"c"])])
    assert log.commits_pending == 0
    (event,) = log.poll()
    assert isinstance(event, Failed)
    assert (event.number, str(event.error)) == (1, "full")
    log.submit([Append(1, 0, [b"d"])])
    log.run()
    assert log.crash().recover().streams[1].end == 1


def test_a_checkpoint_is_due_after_so_many_commits() -> None:
    log = MemoryLog(auto=True, checkpoint_commits=2)
    log.submit([Put(1, b"k", b"v")])
    assert not log.checkpoint_due()
    log.submit([Put(1, b"k", b"w")])
    assert log.checkpoint_due()
    log.finish_checkpoint(log.begin_checkpoint(), [(1, b"k", b"w")])
    assert not log.checkpoint_due()


def test_a_crashed_log_shares_nothing_with_the_old_one() -> None:
    log = MemoryLog(auto=True)
    log.submit([Append(1, 0, [b"a"]), Put(1, b"k", b"v")])
    after = log.crash()
    after.recover().streams[1].state[b"k"].merges.append(b"changed by the reader")
    after.submit([Append(1, 1, [b"b"])])
    assert after.recover().streams[1].state[b"k"].merges == []
    assert log.recover().streams[1].end == 1
