"""``magnetar top``: reading a metrics page, rates out of two looks, sorting, pages and keys."""

from __future__ import annotations

import pytest

from magnetar.cli.admin.scrape import Scrape, read_metrics
from magnetar.cli.admin.toprows import SORTS, make_rows, slow_consumers, totals
from magnetar.cli.admin.topscreen import View, amount, screen


def line(name: str, topic: str, sub: str, value: float, more: str = "") -> bytes:
    labels = f'cluster="c",namespace="public/default",topic="persistent://public/default/{topic}"'
    if sub:
        labels += f',subscription="{sub}"'
    return f"{name}{{{labels}{more}}} {value}\n".encode()


def page(messages: int = 0, at_s: float = 0.0) -> Scrape:
    lines = [
        b"# TYPE pulsar_in_messages_total gauge\n",
        b"jvm_something 5\n",
        b'pulsar_topics_count{cluster="c",namespace="public/default"} 2\n',
    ]
    for number, topic in enumerate(("a", "b", "c")):
        lines += [
            line("pulsar_in_messages_total", topic, "", messages * number),
            line("pulsar_rate_in", topic, "", 7),
            line("pulsar_storage_backlog_age_seconds", topic, "", 90 * number),
            line("pulsar_some_other_family", topic, "", 1),
        ]
    for topic, sub, backlog in (("a", "s", 0), ("b", "s", 10), ("b", 'q\\"', 30)):
        lines += [
            line("pulsar_subscription_back_log", topic, sub, backlog),
            line("pulsar_out_messages_total", topic, sub, messages),
            line("pulsar_subscription_consumers_count", topic, sub, 1 if sub == "s" else 0),
        ]
    lines += [
        line("pulsar_subscription_blocked_on_unacked_messages", "b", "s", 1),
        line("magnetar_subscription_draining_slots", "b", "s", 3),
        line("magnetar_subscription_oldest_pending_ack_age_seconds", "b", "s", 35.2),
        line("pulsar_consumer_unacked_messages", "b", "s", 50, ',consumer_name="w1",consumer_id="0"'),
        line("pulsar_consumer_unacked_messages", "b", "s", 9, ',consumer_name="w2",consumer_id="1"'),
        line("pulsar_consumer_unacked_messages", "b", "s", 0, ',consumer_name="w3",consumer_id="2"'),
    ]
    found = read_metrics(lines)
    found.at_s = at_s
    return found


def test_one_look_has_the_rates_of_the_broker_and_says_what_is_wrong() -> None:
    rows = make_rows(page(), None, "backlog")
    assert [(row.topic[-1], row.subscription, row.backlog) for row in rows] == [
        ("b", 'q"', 30),
        ("b", "s", 10),
        ("a", "s", 0),
        ("c", "", 0),
    ]
    assert [row.state for row in rows] == ["no consumer", "blocked, draining 3, holds since 35s", "", ""]
    assert {row.rate_in for row in rows} == {7}
    assert [row.backlog_age_s for row in rows] == [90, 90, 0, 0]


def test_two_looks_have_what_came_between_them() -> None:
    before, now = page(100, 10.0), page(300, 14.0)
    rows = {(row.topic[-1], row.subscription): row for row in make_rows(now, before, "topic")}
    assert rows["b", "s"].rate_in == 50
    assert rows["c", ""].rate_in == 100
    assert rows["a", "s"].rate_out == 50
    sums = totals(now, before)
    assert (sums.topics, sums.subscriptions, sums.rate_in, sums.rate_out, sums.backlog) == (3, 3, 150, 150, 40)


def test_a_topic_that_came_or_began_anew_between_two_looks_has_no_false_rate() -> None:
    before, now = page(300, 10.0), page(100, 14.0)
    assert {row.rate_out for row in make_rows(now, before, "out") if row.subscription} == {0}
    assert make_rows(now, Scrape(10.0), "in")[0].rate_in == 7


def test_only_topics_that_were_asked_for() -> None:
    lines = [line("pulsar_rate_in", "orders", "", 1), line("pulsar_rate_in", "bills", "orders", 1)]
    assert list(read_metrics(lines, "orders").topics) == ["persistent://public/default/orders"]


@pytest.mark.parametrize("sort", SORTS)
def test_every_way_of_sorting_is_stable(sort: str) -> None:
    rows = make_rows(page(), None, sort)
    assert rows == make_rows(page(), None, sort)
    assert len(rows) == 4


def test_consumers_that_hold_most_come_first() -> None:
    found = slow_consumers(page(), 5)
    assert [(one["consumer"], one["unacked"]) for one in found] == [("w1", 50), ("w2", 9)]


def test_the_screen_fits_and_has_pages() -> None:
    now = page()
    view = View()
    lines = screen(now, None, view, (80, 13))
    assert len(lines) <= 13
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("1-2 of 4, by backlog; q ends")
    view.press("n")
    assert screen(now, None, view, (80, 13))[-1].startswith("3-4 of 4")
    view.press("n")
    assert screen(now, None, view, (80, 13))[-1].startswith("3-4 of 4"), "there is no page behind the last"
    view.press("p")
    view.press("s")
    assert (view.sort, view.page) == ("age", 0)


def test_without_a_terminal_names_are_whole_and_nothing_speaks_of_keys() -> None:
    lines = screen(page(), None, View(most=1), (0, 0))
    assert lines[-1] == "1-1 of 4, by backlog"
    assert lines[3].split()[:2] == ["TOPIC", "SUBSCRIPTION"]
    assert lines[4].split()[:2] == ["b", 'q"']


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (123_456, "123k"), (5.6e6, "5.6M"), (3e13, "30.0T")]
)
def test_amounts(number: float, text: str) -> None:
    assert amount(number) == text
