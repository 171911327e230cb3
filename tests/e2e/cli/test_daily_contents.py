"""The daily commands for what is in topics and namespaces: messages, cursors, properties, permissions, compaction."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cli.support import Running, broker, run
from tests.e2e.cli.test_daily import lines, refused, value


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with broker("--memory") as started:
        yield started


@pytest.fixture
def topic(running: Running, request: pytest.FixtureRequest) -> str:
    """A topic with a subscription ``s`` that has consumed nothing."""
    name = f"persistent://public/default/{re.sub(r'[^a-z0-9]+', '-', request.node.name)}"
    lines(running, "topics", "create", name)
    lines(running, "topics", "create-subscription", name, "-s", "s", "-m", "earliest")
    return name


def produce(running: Running, topic: str, *texts: str, key: str = "k") -> list[str]:
    """Publish each text; their ids."""
    words = [word for text in texts for word in ("-m", text)]
    done = run("produce", topic, "--url", running.url, "-k", key, "-p", "of=tests", "--json", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["messageId"] for line in done.stdout.splitlines()]


def backlog(running: Running, topic: str) -> int:
    return int(value(running, "subscriptions", "stats", topic)["s"]["msgBacklog"])


def values(running: Running, *words: str) -> list[Any]:
    return [json.loads(line) for line in lines(running, *words, "--json")]


def test_messages_are_looked_at_and_stay(running: Running, topic: str) -> None:
    for text in ("one", "two", "three"):
        produce(running, topic, text)
    shown = values(running, "topics", "peek-messages", topic, "-s", "s", "-n", "2")
    assert [(one["content"], one["key"], one["properties"]) for one in shown] == [
        ("one", "k", {"of": "tests"}),
        ("two", "k", {"of": "tests"}),
    ]
    said = lines(running, "subscriptions", "peek-messages", topic, "-s", "s", "-n", "9")
    assert [line.strip() for line in said if line.strip() in ("one", "two", "three")] == ["one", "two", "three"]
    (first,) = values(running, "topics", "examine-messages", topic, "-i", "earliest")
    (last,) = values(running, "topics", "examine-messages", topic, "-i", "latest", "-m", "1")
    assert (first["content"], last["content"]) == ("one", "three")
    ledger, entry = first["messageId"].split(":")[:2]
    (again,) = values(running, "topics", "get-message-by-id", topic, "-l", ledger, "-e", entry)
    assert (again["content"], again["key"], again["properties"]) == ("one", "k", {"of": "tests"})
    assert refused(running, "topics", "get-message-by-id", topic, "-l", ledger, "-e", "99")
    found = value(running, "topics", "get-message-id", topic, "-d", "2020-01-01T00:00:00Z")
    assert (found["ledgerId"], found["entryId"]) == (int(ledger), int(entry))
    assert backlog(running, topic) == 3


def test_a_cursor_is_moved_back_and_its_backlog_read(running: Running, topic: str) -> None:
    for text in ("one", "two", "three"):
        produce(running, topic, text)
    analyzed = value(running, "topics", "analyze-backlog", topic, "-s", "s")
    assert (analyzed["entries"], analyzed["messages"]) == (3, 3)
    lines(running, "topics", "clear-backlog", topic, "-s", "s")
    assert value(running, "subscriptions", "analyze-backlog", topic, "-s", "s")["entries"] == 0
    lines(running, "topics", "reset-cursor", topic, "-s", "s", "-t", "1h")
    assert backlog(running, topic) == 3
    last = value(running, "topics", "last-message-id", topic)
    place = f"{last['ledgerId']}:{last['entryId']}"
    lines(running, "subscriptions", "reset-cursor", topic, "-s", "s", "-m", place)
    assert backlog(running, topic) == 1
    lines(running, "topics", "reset-cursor", topic, "-s", "s", "-m", place, "-e")
    assert backlog(running, topic) == 0
    assert "'magnetar topics subscriptions TOPIC'" in refused(
        running, "topics", "reset-cursor", topic, "-s", "no", "-t", "1h"
    )


def test_truncate_takes_what_is_there(running: Running, topic: str) -> None:
    produce(running, topic, "one", "two")
    lines(running, "topics", "truncate", topic)
    assert backlog(running, topic) == 0
    assert value(running, "topics", "stats", topic)["storageSize"] == 0
    produce(running, topic, "three")
    (shown,) = values(running, "topics", "peek-messages", topic, "-s", "s")
    assert shown["content"] == "three"


def test_properties_of_topics_and_subscriptions(running: Running, topic: str) -> None:
    lines(running, "topics", "update-properties", topic, "-p", "owner=a team", "-p", "b=2")
    lines(running, "topics", "update-properties", topic, "-p", "b=3")
    assert value(running, "topics", "get-properties", topic) == {"owner": "a team", "b": "3"}
    lines(running, "topics", "remove-properties", topic, "-k", "b")
    assert value(running, "topics", "get-properties", topic) == {"owner": "a team"}
    lines(running, "subscriptions", "update-properties", topic, "-s", "s", "-p", "a=1")
    assert value(running, "topics", "get-subscription-properties", topic, "-s", "s") == {"a": "1"}
    lines(running, "topics", "update-subscription-properties", topic, "-s", "s", "--clear")
    assert value(running, "subscriptions", "get-properties", topic, "-s", "s") == {}


def test_permissions_are_granted_shown_and_taken_away(running: Running, topic: str) -> None:
    lines(running, "topics", "grant-permission", topic, "--role", "app/1", "--actions", "produce,consume")
    assert sorted(value(running, "topics", "permissions", topic)["app/1"]) == ["consume", "produce"]
    rows = [line.split() for line in lines(running, "topics", "permissions", topic)]
    assert rows == [["ROLE", "MAY"], ["app/1", "consume,", "produce"]]
    lines(running, "topics", "revoke-permission", topic, "--role", "app/1")
    assert value(running, "topics", "permissions", topic) == {}
    lines(running, "namespaces", "grant-permission", "public/default", "--role", "ops", "--actions", "consume")
    assert value(running, "namespaces", "permissions", "public/default") == {"ops": ["consume"]}
    assert value(running, "topics", "permissions", topic) == {"ops": ["consume"]}
    lines(running, "namespaces", "revoke-permission", "public/default", "--role", "ops")
    assert value(running, "namespaces", "permissions", "public/default") == {}


def test_a_compaction_is_asked_for_and_watched(running: Running, topic: str) -> None:
    assert value(running, "topics", "compaction-status", topic) == {"status": "NOT_RUN", "lastError": ""}
    for key in ("a", "b", "a"):
        produce(running, topic, "x", key=key)
    lines(running, "topics", "compact", topic)
    while value(running, "topics", "compaction-status", topic)["status"] == "RUNNING":
        pass
    assert lines(running, "topics", "compaction-status", topic)[0] == "status: SUCCESS"
    assert value(running, "topics", "stats", topic)["compaction"]["lastCompactionRemovedEventCount"] == 1
    assert value(running, "topics", "stats-internal", topic)["compactedLedger"]["entries"] == 2


def test_what_is_done_to_a_whole_namespace(running: Running) -> None:
    lines(running, "namespaces", "create", "public/whole")
    topics = [f"persistent://public/whole/t{number}" for number in range(2)]
    for each in topics:
        lines(running, "topics", "create", each)
        lines(running, "topics", "create-subscription", each, "-s", "s", "-m", "earliest")
        produce(running, each, "x")
    lines(running, "namespaces", "unload", "public/whole")
    assert [backlog(running, each) for each in topics] == [1, 1]
    lines(running, "namespaces", "clear-backlog", "public/whole", "-s", "s", "--force")
    assert [backlog(running, each) for each in topics] == [0, 0]
    produce(running, topics[0], "x")
    for bundle in lines(running, "namespaces", "bundles", "public/whole"):
        lines(running, "namespaces", "unload", "public/whole", "-b", bundle)
        lines(running, "namespaces", "clear-backlog", "public/whole", "-b", bundle, "-f")
    assert backlog(running, topics[0]) == 0
    lines(running, "namespaces", "unsubscribe", "public/whole", "-s", "s")
    assert lines(running, "topics", "subscriptions", topics[0]) == []
    lines(running, "namespaces", "set-property", "public/whole", "-k", "owner", "-v", "a team")
    assert value(running, "namespaces", "get-properties", "public/whole") == {"owner": "a team"}
    lines(running, "namespaces", "remove-property", "public/whole", "-k", "owner")
    assert value(running, "namespaces", "get-properties", "public/whole") == {}
    assert lines(running, "namespaces", "get-clusters", "public/whole") == ["standalone"]
    assert "forced deletion" in refused(running, "namespaces", "delete", "public/whole", "--force")
    for each in topics:
        lines(running, "topics", "delete", each)
    lines(running, "namespaces", "delete", "public/whole")
    assert "public/whole" not in lines(running, "namespaces", "list", "public")
