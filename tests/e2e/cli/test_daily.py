"""The daily commands against a broker: what they print, what they change, and how they end."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.support import Running, broker, run, start


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with broker("--memory") as started:
        yield started


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{re.sub(r'[^a-z0-9]+', '-', request.node.name)}"


def daily(running: Running, *words: str) -> subprocess.CompletedProcess[bytes]:
    return run(*words, env={"MAGNETAR_ADMIN_URL": running.admin_url})


def lines(running: Running, *words: str) -> list[str]:
    """Stdout of a command that has to succeed."""
    done = daily(running, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


def value(running: Running, *words: str) -> Any:
    """The JSON that a command prints with ``--json``."""
    (line,) = lines(running, *words, "--json")
    return json.loads(line)


def refused(running: Running, *words: str) -> str:
    """The sentence of a command that the broker refuses."""
    done = daily(running, *words)
    assert (done.returncode, done.stdout) == (1, b""), done
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("magnetar: ")
    return line


def test_tenants_from_begin_to_end(running: Running) -> None:
    assert lines(running, "tenants", "create", "acme", "-r", "alice,bob") == []
    assert "acme" in lines(running, "tenants", "list")
    assert value(running, "tenants", "get", "acme") == {
        "adminRoles": ["alice", "bob"],
        "allowedClusters": ["standalone"],
    }
    lines(running, "tenants", "update", "acme", "--admin-roles", "carol")
    assert lines(running, "tenants", "get", "acme")[:2] == ["adminRoles:", "  carol"]
    assert "already exist" in refused(running, "tenants", "create", "acme")
    lines(running, "tenants", "delete", "acme")
    assert "'magnetar tenants list'" in refused(running, "tenants", "get", "acme")


def test_namespaces_from_begin_to_end(running: Running) -> None:
    lines(running, "tenants", "create", "shop")
    lines(running, "namespaces", "create", "shop/orders")
    assert lines(running, "namespaces", "list", "shop") == ["shop/orders"]
    assert "delete what is in it first" in refused(running, "tenants", "delete", "shop")
    assert len(lines(running, "namespaces", "bundles", "shop/orders")) == 4
    lines(running, "topics", "create", "shop/orders/t")
    assert lines(running, "namespaces", "topics", "shop/orders") == ["persistent://shop/orders/t"]
    assert value(running, "namespaces", "policies", "shop/orders")["replication_clusters"] == ["standalone"]
    assert "non empty" in refused(running, "namespaces", "delete", "shop/orders")
    lines(running, "topics", "delete", "shop/orders/t")
    lines(running, "namespaces", "delete", "shop/orders")
    done = daily(running, "namespaces", "list", "shop")
    assert (done.stdout, done.stderr) == (b"", b"there are no namespaces of shop\n")


def test_topics_from_begin_to_end(running: Running, topic: str) -> None:
    short = topic.rpartition("/")[2]
    lines(running, "topics", "create", short)
    assert topic in lines(running, "topics", "list", "public/default")
    assert topic in value(running, "topics", "list", "public/default")
    assert "already exists" in refused(running, "topics", "create", topic)
    lines(running, "topics", "unload", short)
    assert lines(running, "topics", "lookup", short) == [running.url]
    assert value(running, "topics", "last-message-id", short)["entryId"] == -1
    assert lines(running, "topics", "terminate", short)[0].startswith("ledgerId: ")
    lines(running, "topics", "delete", short)
    assert topic not in lines(running, "topics", "list", "public/default")
    assert "'magnetar topics list NAMESPACE'" in refused(running, "topics", "stats", short)


def test_partitions(running: Running, topic: str) -> None:
    lines(running, "topics", "create-partitioned-topic", topic, "-p", "2")
    assert topic in lines(running, "topics", "list-partitioned-topics", "public/default")
    lines(running, "topics", "update-partitioned-topic", topic, "-p", "3")
    assert lines(running, "topics", "get-partitioned-topic-metadata", topic)[0] == "partitions: 3"
    assert value(running, "topics", "partitioned-stats", topic)["metadata"]["partitions"] == 3
    assert lines(running, "topics", "partitioned-stats", topic, "--per-partition")[0].split() == ["partitions", "3"]
    assert "'magnetar topics delete-partitioned-topic'" in refused(running, "topics", "delete", topic)
    assert "partitioned" in refused(running, "topics", "stats", topic)
    assert "less than" in refused(running, "topics", "update-partitioned-topic", topic, "-p", "1")
    assert len(lines(running, "topics", "partitioned-lookup", topic)) == 4
    lines(running, "topics", "delete-partitioned-topic", topic)


def test_subscriptions_from_begin_to_end(running: Running, topic: str) -> None:
    lines(running, "topics", "create", topic)
    lines(running, "topics", "create-subscription", topic, "-s", "early", "-m", "earliest", "-p", "a=1,b=x")
    lines(running, "subscriptions", "create", topic, "-s", "late")
    assert lines(running, "subscriptions", "list", topic) == ["early", "late"]
    done = run("produce", topic, "--url", running.url, "-m", "x", "-n", "10", "--json")
    assert done.returncode == 0, done.stderr
    run("consume", topic, "-s", "late", "-n", "1", "--url", running.url)
    stats = value(running, "subscriptions", "stats", topic)
    assert stats["early"]["subscriptionProperties"] == {"a": "1", "b": "x"}
    (backlog,) = (row.split()[2] for row in lines(running, "topics", "stats", topic) if row.startswith("early"))
    assert int(backlog) == stats["early"]["msgBacklog"] > 0
    lines(running, "topics", "skip", topic, "-s", "early", "-n", "0")
    lines(running, "topics", "clear-backlog", topic, "-s", "early")
    assert value(running, "subscriptions", "stats", topic, "-s", "early")["early"]["msgBacklog"] == 0
    assert "'magnetar topics subscriptions TOPIC'" in refused(running, "topics", "skip", topic, "-s", "no", "-n", "1")
    lines(running, "topics", "unsubscribe", topic, "-s", "early")
    assert lines(running, "topics", "subscriptions", topic) == ["late"]
    cursors = value(running, "topics", "internal-stats", topic)["cursors"]
    assert list(cursors) == ["late"]
    assert "cursors:" in lines(running, "topics", "stats-internal", topic)


def test_force_is_asked_for_where_somebody_is_connected(running: Running, topic: str) -> None:
    consumer = start("consume", topic, "-s", "s", "-n", "0", "--url", running.url)
    assert consumer.stderr is not None
    consumer.stderr.readline()
    try:
        assert "--force" in refused(running, "topics", "unsubscribe", topic, "-s", "s")
        assert "--force" in refused(running, "topics", "delete", topic)
        assert lines(running, "subscriptions", "pending-acks", topic, "-s", "s") == ["nothing is held"]
        assert "CONSUMER" in " ".join(lines(running, "subscriptions", "stats", topic))
        lines(running, "topics", "unsubscribe", topic, "-s", "s", "--force")
        lines(running, "topics", "delete", topic, "--force")
    finally:
        consumer.kill()
        consumer.communicate()


def test_what_is_old_expires(running: Running, topic: str) -> None:
    lines(running, "topics", "create", topic)
    lines(running, "topics", "create-subscription", topic, "-s", "s")
    assert run("produce", topic, "--url", running.url, "-m", "x").returncode == 0
    lines(running, "topics", "expire-messages", topic, "-s", "s", "-t", "3h")
    assert value(running, "subscriptions", "stats", topic)["s"]["msgBacklog"] == 1
    last = value(running, "topics", "last-message-id", topic)
    lines(running, "topics", "expire-messages", topic, "-s", "s", "-p", f"{last['ledgerId']}:{last['entryId']}")
    assert value(running, "subscriptions", "stats", topic)["s"]["msgBacklog"] == 0
    done = daily(running, "topics", "expire-messages", topic, "-s", "s")
    assert done.returncode == 2
    assert b"--expireTime or --position" in done.stderr


def test_policies_take_units_and_are_seen_from_below(running: Running, topic: str) -> None:
    lines(running, "topics", "create", topic)
    done = daily(running, "topics", "get-retention", topic)
    assert (done.stdout, done.returncode) == (b"", 0)
    assert b"is not set" in done.stderr
    assert value(running, "topics", "get-retention", topic) is None
    lines(running, "namespaces", "set-retention", "public/default", "-t", "3h", "-s", "1G")
    try:
        wanted = {"retentionTimeInMinutes": 180, "retentionSizeInMB": 1024}
        assert value(running, "namespaces", "get-retention", "public/default") == wanted
        assert value(running, "topics", "get-retention", topic, "-ap") == wanted
        lines(running, "topics", "set-retention", topic, "-t", "-1", "-s", "-1")
        assert value(running, "topics", "get-retention", topic) == {
            "retentionTimeInMinutes": -1,
            "retentionSizeInMB": -1,
        }
        lines(running, "topics", "remove-retention", topic)
        assert value(running, "topics", "get-retention", topic) is None
    finally:
        lines(running, "namespaces", "remove-retention", "public/default")


VALUES = {
    "namespaces set-backlog-quota": ("-l 1G -p producer_exception", "backlogQuotaMap"),
    "namespaces set-publish-rate": (
        "-m 100 -b 1M",
        {"publishThrottlingRateInMsg": 100, "publishThrottlingRateInByte": 1 << 20},
    ),
    "topics set-message-ttl": ("-t 1h", 3_600),
    "topics set-inactive-topic-policies": (
        "-e -t 1h -m delete_when_no_subscriptions",
        {
            "deleteWhileInactive": True,
            "maxInactiveDurationSeconds": 3_600,
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        },
    ),
    "topics set-subscription-types-enabled": ("-t shared,key_shared", ["Shared", "Key_Shared"]),
    "namespaces set-compaction-threshold": ("-t 10M", 10 << 20),
    "topics set-deduplication": ("--enable", True),
    "namespaces set-deduplication": ("-d", False),
    "topics set-schema-compatibility-strategy": ("-c full", "FULL"),
    "namespaces set-auto-topic-creation": (
        "-e -t partitioned -n 2",
        {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 2},
    ),
}
"""Options of a verb, and what the broker keeps of them."""


@pytest.mark.parametrize("verb", VALUES)
def test_what_a_policy_is_set_to(running: Running, topic: str, verb: str) -> None:
    group, name = verb.split()
    options, kept = VALUES[verb]
    of = "public/default" if group == "namespaces" else topic
    if group == "topics":
        lines(running, "topics", "create", topic)
    lines(running, group, name, of, *options.split())
    noun = name.removeprefix("set-")
    if noun == "backlog-quota":
        quota = value(running, group, "get-backlog-quotas", of)["destination_storage"]
        assert (quota["limitSize"], quota["policy"]) == (1 << 30, "producer_exception")
    else:
        assert value(running, group, f"get-{noun}", of) == kept
    lines(running, group, f"remove-{noun}", of)


def test_schemas_from_begin_to_end(running: Running, topic: str, tmp_path: Path) -> None:
    lines(running, "topics", "create", topic)
    assert "'magnetar schemas upload'" in refused(running, "schemas", "get", topic)
    definition = {"type": "record", "name": "Order", "fields": [{"name": "apples", "type": "int"}]}
    file = tmp_path / "schema.json"
    file.write_text(json.dumps({"type": "AVRO", "schema": definition, "properties": {"of": "tests"}}))
    assert value(running, "schemas", "upload", topic, "-f", str(file))["version"] == {"version": 0}
    found = value(running, "schemas", "get", topic)
    assert (found["type"], json.loads(found["data"]), found["properties"]) == ("AVRO", definition, {"of": "tests"})
    assert value(running, "schemas", "get", topic, "-v", "0") == found
    assert len(value(running, "schemas", "get", topic, "-a")["getSchemaResponses"]) == 1
    assert value(running, "schemas", "compatibility", topic, "-f", str(file))["compatibility"] is True
    lines(running, "schemas", "delete", topic)
    file.write_text("{}")
    done = daily(running, "schemas", "upload", topic, "-f", str(file))
    assert (done.returncode, done.stdout) == (2, b"")


def test_settings_of_the_running_broker(running: Running, tmp_path: Path) -> None:
    name = "maxTopicsPerNamespace"
    assert name in lines(running, "brokers", "list-dynamic-config")
    lines(running, "brokers", "update-dynamic-config", "--config", name, "--value", "100000")
    assert value(running, "brokers", "get-all-dynamic-config") == {name: "100000"}
    assert f"{name} 100000" in [" ".join(row.split()) for row in lines(running, "brokers", "get-all-dynamic-config")]
    assert value(running, "brokers", "get-runtime-config")[name] == "100000"
    lines(running, "brokers", "delete-dynamic-config", "--config", name)
    assert value(running, "brokers", "get-all-dynamic-config") == {}
    assert lines(running, "brokers", "healthcheck") == lines(running, "brokers", "ready") == ["ok"]
    assert lines(running, "brokers", "list") == [running.admin_url.partition("//")[2]]
    assert lines(running, "brokers", "version")[0][0].isdigit()


def test_nobody_at_the_address_is_exit_code_3() -> None:
    for words in (["topics", "list", "public/default"], ["explain", "t", "s"], ["top", "--once"]):
        done = run(*words, "--admin-url", "http://127.0.0.1:1")
        assert (done.returncode, done.stdout) == (3, b"")
        assert done.stderr.startswith(b"magnetar: no answer from http://127.0.0.1:1: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["topics", "list", "public"], "write tenant/namespace"),
        (["topics", "stats", "a/b"], "is not a topic name"),
        (["namespaces", "set-message-ttl", "public/default", "-ttl", "soon"], "is not a duration such as"),
        (["namespaces", "set-retention", "public/default", "-t", "90s", "-s", "1G"], "not a whole number of minutes"),
        (["namespaces", "set-compaction-threshold", "public/default", "-t", "1X"], "is not a size such as"),
        (["topics", "reset-cursor", "t", "-s", "s"], "give --time or --messageId"),
        (["topics", "reset-cursor", "t", "-s", "s", "-m", "x"], "is not a message id"),
        (["topics", "create", "t", "-m", "novalue"], "is not NAME=VALUE"),
        (["namespaces", "clear-backlog", "public/default"], "--force"),
        (["tenants", "list", "--admin-url", "ftp://x"], "is not an address such as"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in " ".join(done.stderr.decode().split())
