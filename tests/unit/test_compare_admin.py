"""The comparison with Pulsar's admin interface: its list of requests can be read, and it sees what differs."""

from __future__ import annotations

import pytest

from tools.admin_compare.script import REQUESTS, Answer, Line, read
from tools.admin_compare.shape import differences
from tools.compare_admin import page


def answer(status: int, body: bytes = b"", **headers: str) -> Answer:
    return Answer(status, "application/json", {name.replace("_", "-"): text for name, text in headers.items()}, body)


def test_the_list_is_long_and_every_line_of_it_is_understood() -> None:
    lines = read(REQUESTS.read_text(encoding="utf-8"))
    assert sum(line.method != "!" for line in lines) >= 150
    assert not any(line.because.startswith("@") for line in lines)
    assert {line.path.split()[0] for line in lines if line.method == "!"} == {"publish", "consume", "close"}


def test_a_line_that_is_no_request_is_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        read("GET a\nFETCH b\n")


def test_explanations_may_be_said_once() -> None:
    first, second = read('@why: because\nGET a\n~ @why\nPUT b @x/y {"c": 1}\n~ of this\n')
    assert (first.because, second.because) == ("because", "of this")
    assert (second.content_type, second.body) == ("x/y", '{"c": 1}')


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (answer(204), answer(204)),
        (answer(200, b'{"a": 1}'), answer(200, b'{"a": 2.5}')),
        (answer(200, b"[]"), answer(200, b'["x"]')),
        (answer(404, b'{"reason": "no 127.0.0.1:1"}'), answer(404, b'{"reason": "no 127.0.0.1:2"}')),
        (answer(200, b'{"ns/0x00000000_0x1": {"a": 1}}'), answer(200, b'{"ns/0x00000001_0x2": {"a": 3}}')),
    ],
)
def test_what_says_the_same(theirs: Answer, ours: Answer) -> None:
    assert differences(theirs, ours) is None


@pytest.mark.parametrize(
    ("theirs", "ours", "rule"),
    [
        (answer(200), answer(204), "empty"),
        (answer(404, b"<html>"), answer(404, b'{"reason": "no"}'), "page"),
        (answer(500, b'{"reason": "trace"}'), answer(412, b'{"reason": "no"}'), "failed"),
        (answer(404, b'{"reason": "no"}'), answer(404, b'{"reason": "no: try again"}'), "more"),
        (answer(200, b"[]"), answer(404, b'{"reason": "no"}'), ""),
        (answer(404, b'{"reason": "no"}'), answer(404, b'{"reason": "never"}'), ""),
        (answer(200, b'{"a": 1, "b": 1}'), answer(200, b'{"a": 1}'), ""),
        (answer(200, b'{"a": "1"}'), answer(200, b'{"a": 1}'), ""),
        (answer(200, b'[{"a": {"b": 1}}]'), answer(200, b'[{"a": {"c": 1}}]'), ""),
        (answer(200, b"x", x_pulsar_a="1"), answer(200, b"x"), ""),
    ],
)
def test_what_differs(theirs: Answer, ours: Answer, rule: str) -> None:
    found = differences(theirs, ours)
    assert found is not None
    assert found.rule == rule


def test_the_page_tells_everything() -> None:
    line = Line(1, "Part", "GET", "a|b", because="so it is")
    found = differences(answer(200, b"[]"), answer(404, b'{"reason": "no"}'))
    assert found is not None
    text = page("1.2.3", 7, [(line, found)])
    assert "| GET a\\|b | 200 | 404 no | so it is |" in text
    assert "**6** were answered alike" in text
