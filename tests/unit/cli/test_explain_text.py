"""What is said of a finding, and of answers that nobody has seen before."""

from __future__ import annotations

import pytest

from magnetar.cli.explain_screen import explanation, history_lines
from magnetar.cli.explain_text import _SAID, sentence, span
from magnetar.core.explain.codes import FREED_BY


def test_every_code_has_a_sentence() -> None:
    assert _SAID.keys() == FREED_BY.keys()


def test_a_code_of_a_newer_broker_is_shown_as_it_came() -> None:
    assert sentence({"code": "TIRED", "yawns": 3, "freedBy": "sleep"}, 0) == "{'yawns': 3}"


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (-5, "0.0 s"),
        (1_500, "1.5 s"),
        (61_000, "1 min 1 s"),
        (7_260_000, "2 h 1 min"),
        (3 * 86_400_000, "3 days"),
    ],
)
def test_spans(ms: int, said: str) -> None:
    assert span(ms) == said


def test_the_screen_of_a_drain_names_who_holds_what_since_when_and_the_command_that_ends_it() -> None:
    finding = {
        "code": "DRAINING",
        "consumers": ["a"],
        "consumerCount": 1,
        "messages": [{"messageId": "3:7", "key": "alice"}, {"messageId": "3:9", "keyB64": "/w=="}],
        "messageCount": 3,
        "keys": 2,
        "slots": 2,
        "waiting": 5,
        "sinceTimestamp": 90_000,
        "sentTimestamp": 60_000,
        "freedBy": "patience",
    }
    answer = {
        "topic": "persistent://public/default/t",
        "subscription": "s",
        "type": "Key_Shared",
        "timestamp": 100_000,
        "findings": [finding],
        "msgBacklog": 8,
        "msgInReplay": 5,
        "unreadEntries": 0,
        "unackedMessages": 3,
        "consumerCount": 1,
        "consumers": [
            {
                "consumerName": "a",
                "availablePermits": 10,
                "unackedMessages": 3,
                "oldestSentTimestamp": 60_000,
                "lastAckedTimestamp": 0,
                "slots": 0,
                "blockedConsumerOnUnackedMsgs": True,
                "connectionSlow": False,
            }
        ],
    }
    said = " ".join(" ".join(explanation(answer, lambda name: f"magnetar disconnect t s {name}")).split())
    assert "DRAINING: a holds 3 entries (3:7 of 'alice', 3:9 of base64 /w== and 1 more) of 2 keys" in said
    assert "for 10.0 s now, the oldest of them sent 40.0 s ago; 5 entries wait behind. What frees it: patience." in said
    assert "To disconnect it: magnetar disconnect t s a" in said
    assert "a 10 3 40.0 s - - blocked" in said


def test_history_says_what_happened() -> None:
    events = [
        {"timestamp": 0, "what": "joined", "consumerName": "a", "slotsMoved": 65_535},
        {"timestamp": 1_000, "what": "drained", "lastedMillis": 900},
        {"timestamp": 1_000, "what": "sang", "consumerName": "b"},
    ]
    lines = [line.split("ago  ")[-1] for line in history_lines(events, 2_000)]
    assert lines == ["", "Lately:", "a joined: 65,535 slots moved", "the drain is over, it took 0.9 s", "sang"]
    assert history_lines([], 0)[1].startswith("Nothing has happened")
