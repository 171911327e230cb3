"""The metrics page can be read by anything that reads Prometheus text, and is right."""

from __future__ import annotations

import re

from magnetar.admin.metrics import SLICE_LINES, render
from magnetar.ports.log import LogStats
from tests.server.admin.conftest import Served, path
from tests.support.wireclient import SubType, WireClient

SAMPLE = re.compile(r'([a-z_0-9S]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?[0-9.e+-]+)\Z')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')

Metrics = dict[str, list[tuple[dict[str, str], float]]]


def read(text: str) -> Metrics:
    """All samples by name; a name is announced by its type, once, and its samples follow at once."""
    found: Metrics = {}
    announced = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            announced = line.split()[2]
            assert announced not in found
            found[announced] = []
            continue
        sample = SAMPLE.match(line)
        assert sample, line
        assert sample[1] == announced
        found[announced].append((dict(LABEL.findall(sample[2])), float(sample[3])))
    return found


def of(metrics: Metrics, name: str, **labels: str) -> float:
    values = [value for found, value in metrics[name] if labels.items() <= found.items()]
    assert len(values) == 1, (name, labels, values)
    return values[0]


def test_the_page_says_what_is_so(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, 'a "sub"\\', 1, SubType.SHARED)
    wire.flow(1, 100)
    wire.producer(topic)
    for n in range(5):
        wire.publish(b"x" * 50, n)
    wire.ack(1, [message.id for message in wire.messages(5)[:2]], request=True)
    answer = served.ask("GET", "/metrics/")
    assert answer.content_type == "text/plain"
    metrics = read(answer.text)
    here = {"cluster": "standalone", "namespace": "public/default", "topic": topic}
    assert of(metrics, "pulsar_in_messages_total", **here) == 5
    assert of(metrics, "pulsar_msg_backlog", **here) == 3
    assert of(metrics, "pulsar_producers_count", **here) == of(metrics, "pulsar_consumers_count", **here) == 1
    assert of(metrics, "pulsar_storage_size", **here) == of(metrics, "pulsar_in_bytes_total", **here)
    sub = here | {"subscription": 'a \\"sub\\"\\\\'}
    assert of(metrics, "pulsar_subscription_back_log", **sub) == 3
    assert of(metrics, "pulsar_subscription_unacked_messages", **sub) == 3
    assert of(metrics, "pulsar_subscription_blocked_on_unacked_messages", **sub) == 0
    assert of(metrics, "pulsar_subscription_in_replay", **sub) == 0
    assert of(metrics, "pulsar_subscription_consumers_count", **sub) == 1
    assert of(metrics, "pulsar_out_messages_total", **sub) == 5
    assert of(metrics, "pulsar_version_info") == 1
    assert read(served.ask("GET", "/metrics").text).keys() == metrics.keys()


def test_a_drain_is_seen_from_its_begin_to_its_end(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="first")
    wire.flow(1, 100)
    wire.producer(topic)
    for n in range(30):
        wire.publish(b"x", n, key=f"k{n % 10}")
    held = wire.messages(30, 1)
    wire.subscribe(topic, "s", 2, SubType.KEY_SHARED, name="second")
    wire.flow(2, 100)
    for n in range(10):
        wire.publish(b"y", 30 + n, key=f"k{n}")

    def figures() -> dict[str, float]:
        metrics = read(served.ask("GET", "/metrics").text)
        prefix = "magnetar_subscription_"
        found = {name.removeprefix(prefix): of(metrics, name, topic=topic) for name in metrics if prefix in name}
        return found | {"in_replay": of(metrics, "pulsar_subscription_in_replay", topic=topic)}

    seen = figures()
    slots = seen["draining_slots"]
    assert slots == seen["in_replay"] == seen["blocked_attempts_total"] > 0
    assert seen["pending_acks"] == 40 - slots
    assert seen["assignment_changes_total"] == 2
    assert seen["drains_cleared_total"] == seen["drains_leased_out_total"] == 0
    wire.ack(1, [message.id for message in held], request=True)
    seen = figures()
    assert (seen["draining_slots"], seen["drains_cleared_total"], seen["drain_age_seconds"]) == (0, slots, 0)


def test_the_page_is_made_in_small_parts(served: Served, wire: WireClient) -> None:
    names = [f"persistent://public/default/many-{n}" for n in range(SLICE_LINES + 1)]
    for name in names:
        assert served.put(path(name)).status == 204
    parts = served.call(lambda: list(render(served.core, served.admin.sampler, LogStats())))
    assert max(part.count(b"\n") for part in parts) <= SLICE_LINES
    metrics = read(b"".join(parts).decode())
    assert len(metrics["pulsar_rate_in"]) >= len(names)
    assert of(metrics, "pulsar_broker_topics_count") == len(metrics["pulsar_rate_in"])


def test_limits_and_what_they_have_done_are_seen(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.producer(topic)
    for n in range(10):
        wire.publish(b"x" * 1_000, n)
    rate = {"dispatchThrottlingRateInMsg": 2, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1_000_000}
    assert served.post(f"{path(topic)}/subscriptionDispatchRate", rate).status == 204
    wire.flow(1, 100)
    wire.messages(2, 1)
    quota = {"limitSize": 5_000, "policy": "consumer_backlog_eviction"}
    assert served.post(f"{path(topic)}/backlogQuota", quota).status == 204
    age = {"limitTime": 60, "policy": "producer_exception"}
    assert served.post(f"{path(topic)}/backlogQuota?backlogQuotaType=message_age", age).status == 204
    assert served.get("brokers/backlog-quota-check").status == 204
    metrics = read(served.ask("GET", "/metrics").text)
    assert of(metrics, "pulsar_storage_backlog_quota_limit", topic=topic) == 5_000
    assert of(metrics, "pulsar_storage_backlog_quota_limit_time", topic=topic) == 60
    assert of(metrics, "pulsar_storage_backlog_age_seconds", topic=topic) >= 0
    evictions = "pulsar_storage_backlog_quota_exceeded_evictions_total"
    assert of(metrics, evictions, topic=topic, quota_type="size") == 1
    assert of(metrics, evictions, topic=topic, quota_type="time") == 0
    assert of(metrics, "pulsar_publish_rate_limit_times", topic=topic) == 0
    throttled = "pulsar_subscription_dispatch_throttled_msg_events"
    assert of(metrics, throttled, topic=topic, reason="subscription") == 1
    assert of(metrics, throttled, topic=topic, reason="broker") == 0
    assert of(metrics, "pulsar_storage_backlog_size", topic=topic) < 5_000
