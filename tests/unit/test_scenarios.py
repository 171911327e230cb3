"""Every known failure of Key_Shared has a test that bears its number.

The failures were collected from the issues of Apache Pulsar. D1 is about order and stalls, D2 about memory, permits and
counts. A test is called ``test_d1_08_...``; those that a client can see are shown from outside, over a socket.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_NAME = re.compile(r"^def test_(d[12]_\d\d)_", re.MULTILINE)

SCENARIOS = {
    "d1_01": "a rolling restart",
    "d1_02": "one unacknowledged message and a newcomer",
    "d1_03": "ten consumers are added to a backlog",
    "d1_04": "ranges that move between those who stay",
    "d1_05": "statistics while workers come and go",
    "d1_06": "a slot becomes free in the middle of a pass",
    "d1_07": "replay while reading waits at the end of the topic",
    "d1_08": "a range returns to its owner",
    "d1_09": "delayed messages and blocked keys",
    "d1_10": "starvation in out-of-order mode",
    "d1_11": "order after skip, clear and expiry",
    "d1_12": "eviction of the backlog while messages are under way",
    "d1_13": "slots that no sticky consumer covers",
    "d1_14": "sticky ranges that conflict",
    "d1_15": "a sticky consumer is frozen and comes back",
    "d1_16": "another Key_Shared mode joins",
    "d1_17": "negative acknowledgement",
    "d1_18": "partitions are added",
    "d1_19": "small receiver queues",
    "d1_20": "a consumer closes during a read",
    "d1_21": "uneven distribution",
    "d1_22": "delayed and immediate messages of one key",
    "d1_23": "the classic dispatcher",
    "d1_24": "out-of-order mode is toggled",
    "d1_25": "one hot key at a slow consumer",
    "d1_26": "reading and discarding without end",
    "d1_27": "batches with several keys",
    "d2_28": "one stopped consumer and a long backlog",
    "d2_29": "batches and permits",
    "d2_30": "half-acknowledged batches and permits",
    "d2_31": "blocked on unacknowledged messages",
    "d2_32": "the subscription's limit",
    "d2_33": "counts that drift",
    "d2_34": "redelivery and acknowledgement of one message at once",
    "d2_35": "an answer before it is kept",
    "d2_36": "acknowledged messages of a batch in the dead letter topic",
    "d2_37": "the limit by an estimate",
    "d2_38": "permits for what was not sent",
}
INSIDE = {"d1_26"}
"""What no client can see."""


def _numbers(*folders: str) -> set[str]:
    return {
        number
        for folder in folders
        for path in (TESTS / folder).rglob("test_*.py")
        for number in _NAME.findall(path.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("number", list(SCENARIOS))
def test_every_scenario_has_a_test(number: str) -> None:
    found = _numbers("unit", "property", "interop", "server", "e2e")
    assert number in found, f"no test is called test_{number}_...: {SCENARIOS[number]}"
    if number not in INSIDE:
        assert number in _numbers("interop", "server", "e2e"), f"{number} is not shown from outside"


def test_no_number_is_unknown_and_none_is_overdue() -> None:
    assert _numbers("unit", "property", "interop", "server", "e2e") <= set(SCENARIOS)
