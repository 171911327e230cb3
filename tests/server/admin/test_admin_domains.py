"""Non-persistent topics over HTTP, lists by domain, and system topics, which lists leave out."""

from __future__ import annotations

import secrets

import pytest

from tests.server.admin import shapes
from tests.server.admin.conftest import Served, path
from tests.server.admin.shapes import shape
from tests.support.wireclient import SubType, WireClient


@pytest.fixture
def passing() -> str:
    """A non-persistent topic that nobody else uses."""
    return f"non-persistent://public/default/{secrets.token_hex(6)}"


@pytest.fixture
def namespace(served: Served) -> str:
    """A namespace that nobody else uses."""
    name = f"public/{secrets.token_hex(6)}"
    assert served.put(f"namespaces/{name}").status == 204
    return name


def test_statistics_have_pulsars_shape_and_count_what_was_dropped(
    served: Served, wire: WireClient, passing: str
) -> None:
    wire.subscribe(passing, "s", 1, SubType.SHARED, name="one")
    wire.flow(1, 2)
    wire.producer(passing, 1)
    for number in range(5):
        wire.publish(b"x", number, 1)
    wire.messages(2)
    served.run(served.admin.sampler.walk(10.0))
    stats = served.get(f"{path(passing)}/stats").json
    assert shape(stats) == shapes.NON_PERSISTENT_TOPIC
    (publisher,) = stats["publishers"]
    sub = stats["subscriptions"]["s"]
    (consumer,) = sub["consumers"]
    assert shape(publisher) == shapes.NON_PERSISTENT_PUBLISHER
    assert shape(sub) == shapes.NON_PERSISTENT_SHARED
    assert shape(consumer) == shapes.CONSUMER
    assert (stats["msgInCounter"], stats["msgOutCounter"], stats["storageSize"]) == (5, 2, 0)
    assert (stats["msgDropRate"], sub["msgDropRate"], publisher["msgDropRate"]) == (0.3, 0.3, 0.0)
    assert (sub["msgBacklog"], sub["isDurable"], consumer["availablePermits"]) == (0, False, 0)
    page = served.ask("GET", "/metrics/").text
    assert (
        f'pulsar_subscription_msg_drop_rate{{cluster="standalone",namespace="public/default",topic="{passing}"' in page
    )


def test_internal_statistics_know_no_ledgers(served: Served, wire: WireClient, passing: str) -> None:
    wire.subscribe(passing, "s", 1, SubType.SHARED)
    wire.producer(passing, 1)
    wire.publish(b"x", 0, 1)
    found = served.get(f"{path(passing)}/internalStats").json
    assert shape(found) == shapes.NON_PERSISTENT_INTERNAL
    assert shape(found["cursors"]["s"]) == shapes.NON_PERSISTENT_CURSOR
    assert found["entriesAddedCounter"] == 1


def test_a_topic_is_made_listed_unloaded_and_deleted(served: Served, namespace: str) -> None:
    where = f"non-persistent/{namespace}"
    assert served.put(f"{where}/t").status == 204
    assert served.put(f"{where}/t").refusal == (409, "This topic already exists")
    assert served.put(f"persistent/{namespace}/t").status == 204, "the other domain has its own names"
    assert served.get(where).json == [f"non-persistent://{namespace}/t"]
    assert served.get(f"persistent/{namespace}").json == [f"persistent://{namespace}/t"]
    assert served.get(f"{where}/t/partitions").json == {"partitions": 0, "deleted": False}
    with served.wire() as wire:
        wire.subscribe(f"non-persistent://{namespace}/t", "s", 1, SubType.SHARED)
        assert served.get(f"{where}/t/subscriptions").json == ["s"]
        assert served.delete(f"{where}/t").status == 412
        assert served.put(f"{where}/t/unload").status == 204
    assert served.delete(f"{where}/t/subscription/s?force=true").status == 204
    assert served.delete(f"{where}/t?force=true").status == 204
    assert served.get(where).json == []
    assert served.get(f"{where}/t/stats").refusal == (404, f"Topic non-persistent://{namespace}/t not found")
    assert served.get(f"persistent/{namespace}/t/stats").status == 200


def test_partitions(served: Served, namespace: str) -> None:
    where, name = f"non-persistent/{namespace}", f"non-persistent://{namespace}/t"
    assert served.put(f"{where}/t/partitions", 2).status == 204
    assert served.get(f"{where}/partitioned").json == [name]
    assert served.get(f"persistent/{namespace}/partitioned").json == []
    with served.wire() as wire:
        wire.producer(f"{name}-partition-1", 1)
        wire.publish(b"x", 0, 1)
    assert served.post(f"{where}/t/partitions", 3).status == 204
    stats = served.get(f"{where}/t/partitioned-stats").json
    assert list(stats["partitions"]) == [f"{name}-partition-{index}" for index in range(3)]
    assert (stats["msgInCounter"], stats["metadata"]["partitions"]) == (1, 3)
    assert list(served.get(f"{where}/t/partitioned-internalStats").json["partitions"]) == list(stats["partitions"])
    assert served.get(where).json == list(stats["partitions"])
    assert served.delete(f"{where}/t/partitions?force=true").status == 204
    assert served.get(where).json == []


@pytest.mark.parametrize(
    ("method", "what", "status"),
    [
        ("PUT", "subscription/s", 400),
        ("POST", "subscription/s/skip_all", 405),
        ("POST", "subscription/s/skip/1", 405),
        ("POST", "subscription/s/expireMessages", 405),
        ("POST", "subscription/s/expireMessages/1", 405),
        ("POST", "all_subscription/expireMessages/1", 405),
        ("GET", "lastMessageId", 405),
        ("POST", "terminate", 406),
    ],
)
def test_what_makes_no_sense_is_refused_as_pulsar_refuses_it(
    served: Served, passing: str, method: str, what: str, status: int
) -> None:
    assert served.put(path(passing)).status == 204
    found, reason = served.ask(method, f"/admin/v2/{path(passing)}/{what}").refusal
    assert found == status
    assert "persistent topic" in reason


def test_a_subscription_explains_itself(served: Served, wire: WireClient, passing: str) -> None:
    wire.subscribe(passing, "k", 1, SubType.KEY_SHARED)
    found = served.get(f"{path(passing)}/subscription/k/explain").json
    assert (found["type"], found["msgBacklog"], found["verdict"]) == ("Key_Shared", 0, "NOTHING_TO_DELIVER")
    assert served.get(f"{path(passing)}/subscription/k/pendingAcks").status == 200
    ranges = served.get(f"{path(passing)}/stats").json["subscriptions"]["k"]["consumers"][0]["keyHashRangeArrays"]
    assert ranges == [[1, 65535]]


def test_a_namespace_lists_by_mode(served: Served, namespace: str) -> None:
    for domain in ("persistent", "non-persistent"):
        served.put(f"{domain}/{namespace}/t")
    persistent, passing = f"persistent://{namespace}/t", f"non-persistent://{namespace}/t"
    lists = [served.get(f"namespaces/{namespace}/topics{query}").json for query in _MODES]
    assert lists == [[persistent], [persistent], [passing], [passing, persistent]]
    assert served.delete(f"namespaces/{namespace}").status == 409


_MODES = ("", "?mode=PERSISTENT", "?mode=NON_PERSISTENT", "?mode=ALL")


def test_system_topics_are_listed_on_request_only(served: Served, namespace: str) -> None:
    where, names = f"persistent/{namespace}", ["__change_events", "__mine"]
    for name in names:
        assert served.put(f"{where}/{name}").status == 204
    everything = [f"persistent://{namespace}/{name}" for name in names]
    for listing in (where, f"namespaces/{namespace}/topics"):
        assert served.get(listing).json == everything[1:]
        assert served.get(f"{listing}?includeSystemTopic=true").json == everything
    reason = "Cannot create topic in system topic format!"
    assert served.put(f"{where}/x__transaction_pending_ack").refusal == (400, reason)
    assert served.put(f"{where}/x__transaction_pending_ack/partitions", 2).refusal == (400, reason)


def test_system_topics_are_not_counted_against_the_limit_of_a_namespace(served: Served, namespace: str) -> None:
    assert served.post(f"namespaces/{namespace}/maxTopicsPerNamespace", 1).status == 204
    assert served.put(f"persistent/{namespace}/__change_events").status == 204
    assert served.put(f"persistent/{namespace}/one").status == 204
    assert served.put(f"persistent/{namespace}/two").status >= 400
    assert served.put(f"persistent/{namespace}/__transaction_buffer_snapshot").status == 204


def test_every_partition_counts_once_from_the_moment_there_is_one(served: Served, namespace: str) -> None:
    where = f"persistent/{namespace}"
    assert served.post(f"namespaces/{namespace}/maxTopicsPerNamespace", 3).status == 204
    assert served.put(f"{where}/t/partitions", 4).status >= 400
    assert served.put(f"{where}/t/partitions", 3).status == 204
    with served.wire() as wire:
        for index in range(3):
            wire.producer(f"persistent://{namespace}/t-partition-{index}", index)
    assert served.put(f"{where}/one").status >= 400
    assert served.put(f"non-persistent/{namespace}/one").status == 204
    assert served.delete(f"{where}/t/partitions?force=true").status == 204
    assert served.put(f"{where}/one").status == 204
