"""The families of the metrics page: what Pulsar's boards ask for, buckets, levels of detail, and who shares a page."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from magnetar.admin.metric_clients import Levels
from magnetar.admin.metrics import render
from magnetar.ports.log import LogStats
from tests.server.admin.conftest import Served, path
from tests.server.admin.test_admin_metrics import Metrics, of, read
from tests.support.wireclient import SubType, WireClient

CLUSTER, NAMESPACE = ("cluster",), ("cluster", "namespace")
TOPIC = ("cluster", "namespace", "topic")
SUBSCRIPTION = (*TOPIC, "subscription")
LATENCIES = ("le_0_5", "le_1", "le_5", "le_10", "le_20", "le_50", "le_100", "le_200", "le_1000", "overflow")
SIZES = ("le_128", "le_512", "le_1_kb", "le_2_kb", "le_4_kb", "le_16_kb", "le_100_kb", "le_1_mb", "overflow")
ON_BOARDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pulsar_topics_count",), NAMESPACE),
    **dict.fromkeys(
        (
            "pulsar_rate_in",
            "pulsar_rate_out",
            "pulsar_throughput_in",
            "pulsar_throughput_out",
            "pulsar_producers_count",
            "pulsar_consumers_count",
            "pulsar_subscriptions_count",
            "pulsar_msg_backlog",
            "pulsar_storage_size",
            "pulsar_storage_backlog_size",
            "pulsar_storage_write_rate",
            "pulsar_storage_read_rate",
            "pulsar_in_bytes_total",
            "pulsar_in_messages_total",
            *(f"pulsar_storage_write_latency_{bucket}" for bucket in LATENCIES),
            *(f"pulsar_entry_size_{bucket}" for bucket in SIZES),
        ),
        TOPIC,
    ),
    **dict.fromkeys(
        (
            "pulsar_subscription_back_log",
            "pulsar_subscription_delayed",
            "pulsar_subscription_msg_rate_out",
            "pulsar_subscription_msg_throughput_out",
            "pulsar_subscription_msg_rate_redeliver",
            "pulsar_subscription_unacked_messages",
            "pulsar_subscription_blocked_on_unacked_messages",
            "pulsar_out_bytes_total",
            "pulsar_out_messages_total",
        ),
        SUBSCRIPTION,
    ),
    **dict.fromkeys(("pulsar_active_connections", "pulsar_broker_rate_in", "pulsar_broker_msg_backlog"), CLUSTER),
}
"""The names that the boards for a namespace, for a topic and for the whole cluster select, with the labels that they
select and sum by. Those about replication to other clusters find nothing in a single Pulsar either."""

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def used(served: Served, wire: WireClient, topic: str) -> str:
    """A topic with a subscription and five messages, in a window of one second."""
    served.ask("GET", "/metrics")
    wire.subscribe(topic, "s", 1, SubType.SHARED, name="worker")
    wire.flow(1, 100)
    wire.producer(topic)
    for n in range(5):
        wire.publish(b"x" * (50 if n else 3_000), n)
    wire.messages(5)
    served.run(served.admin.sampler.walk(1.0))
    return topic


def page(served: Served, levels: Levels) -> Metrics:
    parts = served.call(lambda: list(render(served.core, served.admin.sampler, LogStats(), levels)))
    return read(b"".join(parts).decode())


def compact(served: Served, topic: str) -> None:
    """Compact the topic, and wait until that is done."""
    where = f"{path(topic)}/compaction"
    assert served.put(where).status == 204
    while served.get(where).json["status"] == "RUNNING":
        pass
    assert served.get(where).json == {"status": "SUCCESS", "lastError": ""}


def test_the_queries_of_the_boards_find_their_series(served: Served, used: str) -> None:
    metrics = read(served.ask("GET", "/metrics").text)
    here = {"cluster": "standalone", "namespace": "public/default", "topic": used, "subscription": "s"}
    for name, labels in ON_BOARDS.items():
        wanted = {label: here[label] for label in labels}
        found = [sample for sample, _ in metrics[name] if wanted.items() <= sample.items()]
        assert len(found) == 1, name
        assert tuple(found[0]) == labels, name


def test_buckets_count_what_the_window_saw(served: Served, used: str) -> None:
    metrics = read(served.ask("GET", "/metrics").text)
    sizes = {name: of(metrics, f"pulsar_entry_size_{name}", topic=used) for name in (*SIZES, "count", "le_overflow")}
    assert (sizes["le_128"], sizes["le_4_kb"], sizes["count"], sizes["overflow"]) == (4, 1, 5, 0)
    assert of(metrics, "pulsar_entry_size_sum", topic=used) == of(metrics, "pulsar_in_bytes_total", topic=used)
    for kind in ("storage_write_latency", "storage_ledger_write_latency"):
        counts = [of(metrics, f"pulsar_{kind}_{bucket}", topic=used) for bucket in LATENCIES]
        assert sum(counts) == of(metrics, f"pulsar_{kind}_count", topic=used) == 5
    assert of(metrics, "pulsar_storage_write_rate", topic=used) == 5
    assert of(metrics, "pulsar_rate_out", topic=used) == 5
    served.run(served.admin.sampler.walk(1.0))
    metrics = read(served.ask("GET", "/metrics").text)
    assert of(metrics, "pulsar_entry_size_count", topic=used) == 0


def test_an_unused_topic_has_no_buckets(served: Served, topic: str) -> None:
    assert served.put(topic.replace("://", "/")).status == 204
    metrics = read(served.ask("GET", "/metrics").text)
    assert of(metrics, "pulsar_rate_in", topic=topic) == 0
    assert topic not in [labels["topic"] for labels, _ in metrics["pulsar_entry_size_count"]]


def test_consumers_and_producers_where_that_is_asked_for(served: Served, used: str) -> None:
    metrics = page(served, Levels(consumers=True, producers=True))
    consumer = {"topic": used, "subscription": "s", "consumer_name": "worker", "consumer_id": "1"}
    assert of(metrics, "pulsar_consumer_unacked_messages", **consumer) == 5
    assert of(metrics, "pulsar_consumer_msg_rate_out", **consumer) == 5
    assert of(metrics, "pulsar_consumer_available_permits", **consumer) == 95
    (labels, value) = next(one for one in metrics["pulsar_producer_msg_rate_in"] if one[0]["topic"] == used)
    assert (tuple(labels), value) == ((*TOPIC, "producer_name", "producer_id"), 5)
    assert "pulsar_consumer_msg_rate_out" not in page(served, Levels())


def test_without_topics_there_is_a_sum_for_each_namespace(served: Served, used: str) -> None:
    whole, metrics = page(served, Levels()), page(served, Levels(topics=False))
    assert not [name for name, samples in metrics.items() for labels, _ in samples if "topic" in labels]
    for name in ("pulsar_in_messages_total", "pulsar_storage_size", "pulsar_msg_backlog", "pulsar_entry_size_count"):
        of_topics = sum(value for labels, value in whole[name] if labels["namespace"] == "public/default")
        assert of(metrics, name, namespace="public/default") == of_topics > 0
    assert of(metrics, "pulsar_msg_backlog", remote_cluster="local", namespace="public/default")
    assert of(metrics, "pulsar_broker_msg_backlog") == of(whole, "pulsar_broker_msg_backlog") >= 5


def test_the_age_of_a_backlog_is_that_of_its_first_entry(served: Served, used: str, wire: WireClient) -> None:
    core, topic = served.core, served.core.topics[used]

    def aged() -> float:
        core.now_ms += 120_000
        try:
            return of(read(b"".join(render(core, served.admin.sampler, LogStats())).decode()), name, topic=used)
        finally:
            core.now_ms -= 120_000

    name = "pulsar_storage_backlog_age_seconds"
    now_s = time.time()
    published = topic.last_publish_ms / 1000
    assert 0 <= served.call(aged) - 120 <= now_s - published + 60
    served.call(lambda: topic.tail.drop_to(topic.tail.end))
    assert 0 <= served.call(aged) - 120 <= now_s - published + 60
    assert served.post(f"{used.replace('://', '/')}/subscription/s/skip_all").status == 204
    assert of(read(served.ask("GET", "/metrics").text), name, topic=used) == 0


def test_the_names_and_labels_are_those_of_pulsar(served: Served, used: str) -> None:
    """Every family that a real Pulsar has as well has its labels."""
    golden: dict[str, list[str]] = json.loads((GOLDEN / "metric-labels.json").read_text())
    assert not [name for name, found in page(served, Levels()).items() if "compaction" in name and found]
    compact(served, used)
    metrics = page(served, Levels(consumers=True))
    assert of(metrics, "pulsar_compaction_succeed_count", topic=used) == 1
    ours = {name for name, samples in metrics.items() if any("topic" in labels for labels, _ in samples)}
    named = {name for name in ours if name.startswith("pulsar_")}
    # The one is a board's name for a bucket, the others this Pulsar was not asked for.
    assert named - set(golden) == {"pulsar_entry_size_overflow"}
    for name in named & set(golden):
        labels = next(labels for labels, _ in metrics[name] if labels.get("topic") == used)
        assert list(labels) == golden[name], name
