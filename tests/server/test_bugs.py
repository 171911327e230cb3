"""A bug in what one client waits for costs nobody else anything: turns go on, and what the log said is heard."""

from __future__ import annotations

import logging

import pytest

from tests.support.served import Served


class BugError(Exception):
    """Something that nobody expected."""


def raises(*_: object) -> None:
    raise BugError


def test_others_are_answered_when_one_answer_fails(caplog: pytest.LogCaptureFixture) -> None:
    with Served() as served, served.wire() as client:
        client.producer("persistent://public/default/t")
        heard: list[Exception | None] = []

        def wait() -> None:
            core = served.core
            for call in (heard.append, raises, heard.append, raises, heard.append):
                core.when_durable(call)
            served.standalone.pump.schedule()

        with caplog.at_level(logging.ERROR):
            served.call(wait)
            served.eventually(lambda: len(heard) == 3)
        assert heard == [None, None, None]
        client.publish(b"alive")
    assert "a bug in the broker" in caplog.text


def test_turns_go_on_when_a_timer_fails(caplog: pytest.LogCaptureFixture) -> None:
    with Served() as served:
        rung: list[int] = []

        def set_timers() -> None:
            core = served.core
            for call in (raises, lambda: rung.append(1), raises, lambda: rung.append(2)):
                core.timers.at(core.now_ms, call)
            served.standalone.pump.schedule()

        with caplog.at_level(logging.ERROR):
            served.call(set_timers)
            served.eventually(lambda: rung == [1, 2])
    assert "a bug in the broker" in caplog.text
