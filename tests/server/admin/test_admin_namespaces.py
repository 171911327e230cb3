"""Clusters, namespaces, their ranges, permissions and what is kept with them; and figures of the whole broker."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator

import pytest

from magnetar.admin.bundles import within
from tests.server.admin.conftest import Served, path
from tests.support.wireclient import Command, SubType, WireClient

HALVES = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}


@pytest.fixture
def home(served: Served) -> Iterator[str]:
    """A namespace of its own, with two ranges."""
    name = f"public/{secrets.token_hex(4)}"
    assert served.put(f"namespaces/{name}", {"bundles": {"numBundles": 2}}).status == 204
    yield name
    for topic in served.get(f"namespaces/{name}/topics").json:
        served.delete(f"{path(topic)}?force=true")
    served.delete(f"namespaces/{name}")


def test_other_clusters_are_kept(served: Served) -> None:
    there = {"serviceUrl": "http://there:8080", "brokerServiceUrl": "pulsar://there:6650"}
    assert served.put("clusters/there").refusal == (400, "cluster data is required")
    assert served.put("clusters/ba%20d", there).refusal == (412, "Cluster name is not valid")
    assert served.put("clusters/there", {"serviceUrl": "there"}).refusal[0] == 400
    assert served.put("clusters/there", there).status == 204
    assert served.put("clusters/there", there).refusal == (409, "Cluster already exists")
    assert served.get("clusters").json == ["standalone", "there"]
    assert there.items() <= served.get("clusters/there").json.items()
    assert served.post("clusters/there", there | {"serviceUrl": "http://other:8080"}).status == 204
    assert served.get("clusters/there").json["serviceUrl"] == "http://other:8080"
    assert served.post("clusters/there/peers", ["standalone"]).status == 204
    assert served.get("clusters/there/peers").json == ["standalone"]
    assert served.post("clusters/there/peers", ["there"]).refusal[0] == 412
    assert served.post("clusters/there/peers", ["mars"]).refusal == (412, "Peer cluster mars does not exist")
    assert served.put("tenants/wide", {"allowedClusters": ["standalone", "there"]}).status == 204
    assert served.delete("clusters/there").refusal == (412, "Cluster not empty")
    assert served.delete("tenants/wide").status == 204
    assert served.delete("clusters/there").status == 204
    assert served.delete("clusters/there").refusal == (404, "Cluster does not exist")
    assert served.delete("clusters/standalone").refusal == (412, "Cluster not empty")
    assert served.get("clusters/standalone/peers").status == 204


def test_permissions_are_kept(served: Served, home: str) -> None:
    at = f"namespaces/{home}/permissions"
    assert served.get(at).json == {}
    assert served.post(f"{at}/app").refusal == (400, "Actions should not be null")
    assert served.post(f"{at}/app", ["fly"]).refusal[0] == 400
    assert served.post(f"{at}/app", ["produce", "consume", "produce"]).status == 204
    assert served.get(at).json == {"app": ["consume", "produce"]}
    assert served.get(f"namespaces/{home}").json["auth_policies"]["namespace_auth"] == {"app": ["consume", "produce"]}
    assert served.post(f"{at}/subscription/s", ["b", "a"]).status == 204
    assert served.get(f"{at}/subscription").json == {"s": ["a", "b"]}
    assert served.delete(f"{at}/s/a").status == 204
    assert served.get(f"{at}/subscription").json == {"s": ["b"]}
    assert served.delete(f"{at}/s/b").status == 204
    assert served.delete(f"{at}/s/b").refusal[0] == 404
    assert served.delete(f"{at}/app").status == 204
    assert served.get(at).json == {}
    assert served.post("namespaces/public/nowhere/permissions/app", ["produce"]).refusal[0] == 404


def test_permissions_of_a_topic_join_those_of_its_namespace_and_go_with_it(served: Served, home: str) -> None:
    topic = f"persistent/{home}/t"
    assert served.post(f"{topic}/permissions/app", ["produce"]).refusal[0] == 404
    served.put(topic)
    served.post(f"namespaces/{home}/permissions/app", ["consume"])
    assert served.post(f"{topic}/permissions/app", ["produce"]).status == 204
    assert served.get(f"{topic}/permissions").json == {"app": ["consume", "produce"]}
    assert served.delete(f"{topic}/permissions/app").status == 204
    assert served.get(f"{topic}/permissions").json == {"app": ["consume"]}
    line = {"topic": f"persistent://{home}/t", "role": "other", "actions": ["sinks"]}
    assert served.post("namespaces/grantPermissionsOnTopics", [line]).status == 204
    assert served.get(f"{topic}/permissions").json["other"] == ["sinks"]
    missing = [line, line | {"topic": f"persistent://{home}/nowhere"}]
    assert served.post("namespaces/revokePermissionsOnTopics", missing).refusal[0] == 404
    assert "other" in served.get(f"{topic}/permissions").json
    assert served.post("namespaces/revokePermissionsOnTopics", [line]).status == 204
    served.post(f"{topic}/permissions/other", ["produce"])
    assert served.delete(topic).status == 204
    served.put(topic)
    assert served.get(f"{topic}/permissions").json == {"app": ["consume"]}


def test_permissions_of_a_partition_are_those_of_the_topic(served: Served, home: str) -> None:
    served.put(f"persistent/{home}/p/partitions", 2)
    assert served.post(f"persistent/{home}/p/permissions/app", ["produce"]).status == 204
    assert served.get(f"persistent/{home}/p-partition-1/permissions").json == {"app": ["produce"]}
    assert served.get(f"persistent/{home}/p-partition-2/permissions").status == 404
    assert served.delete(f"persistent/{home}/p/partitions").status == 204


def test_properties_of_a_namespace(served: Served, home: str) -> None:
    at = f"namespaces/{home}/propert"
    assert served.put(f"{at}ies", {"a": "1"}).status == 204
    assert served.put(f"{at}y/b/2").status == 204
    assert served.get(f"{at}ies").json == {"a": "1", "b": "2"}
    assert served.get(f"{at}y/b").text == "2"
    assert served.get(f"{at}y/c").status == 204
    assert served.delete(f"{at}y/b").text == "2"
    assert served.delete(f"{at}y/b").status == 204
    assert served.put(f"{at}ies", {"a": 1}).status == 400
    assert served.delete(f"{at}ies").status == 204
    assert served.get(f"{at}ies").json == {}


def test_what_is_kept_with_a_namespace(served: Served, home: str) -> None:
    at = f"namespaces/{home}"
    assert served.get(f"{at}/encryptionRequired").json is False
    assert served.post(f"{at}/encryptionRequired").refusal == (400, "The request entity cannot be empty.")
    assert served.post(f"{at}/encryptionRequired", True).status == 204
    assert served.get(f"{at}/encryptionRequired").json is True
    assert served.get(f"{at}/subscriptionAuthMode").json == "None"
    assert served.post(f"{at}/subscriptionAuthMode", "Prefix").status == 204
    assert served.get(at).json["subscription_auth_mode"] == "Prefix"
    assert served.get(f"{at}/antiAffinity").status == 204
    for body in (b'"g"', b"g"):
        assert served.post(f"{at}/antiAffinity", body).status == 204
        assert served.get(f"{at}/antiAffinity").text == "g"
    assert served.post(f"{at}/antiAffinity", b"\xff").status == 400
    assert served.get("namespaces/standalone/antiAffinity/g?tenant=public").json == [home]
    assert served.get("namespaces/mars/antiAffinity/g").status == 412
    assert served.delete(f"{at}/antiAffinity").status == 204
    assert served.post(f"{at}/antiAffinity").status == 412
    assert served.get(f"{at}/replication").json == ["standalone"]
    assert served.post(f"{at}/replication", ["standalone"]).status == 204
    assert served.post(f"{at}/replication", []).refusal == (412, "ClusterIds should not be null or empty")
    assert served.post(f"{at}/replication", ["mars"]).refusal == (403, "Invalid cluster id: mars")
    assert served.get(f"{at}/allowedClusters").json == []
    assert served.post(f"{at}/allowedClusters", ["standalone"]).status == 204
    assert served.get(f"{at}/allowedClusters").json == ["standalone"]


@pytest.mark.parametrize(
    "body", [{"properties": 1}, {"auth_policies": []}, {"encryption_required": "x"}, {"bundles": 5},
             {"bundles": {"boundaries": ["x", "y"]}}, {"auth_policies": {"namespace_auth": {"a": 1}}}]
)  # fmt: skip
def test_a_namespace_is_not_made_of_nonsense(served: Served, body: object) -> None:
    assert served.put("namespaces/public/nonsense", body).refusal[0] == 400
    assert served.get("namespaces/public/nonsense").status == 404


@pytest.mark.parametrize(
    "bundles", [{"numBundles": 1 << 20}, {"boundaries": ["0x00000000", "0x00000000", "0xffffffff"]},
                {"boundaries": ["0x1", "0xffffffff"]}]
)  # fmt: skip
def test_ranges_that_cannot_be(served: Served, bundles: object) -> None:
    assert served.put("namespaces/public/nonsense", {"bundles": bundles}).refusal[0] == 412


def test_ranges_are_split(served: Served, home: str) -> None:
    at = f"namespaces/{home}"
    assert served.get(f"{at}/bundles").json == HALVES
    assert served.put(f"{at}/0x00000000_0x40000000/split").refusal[0] == 412
    assert served.put(f"{at}/0x00000000_0x80000000/split").status == 204
    assert served.get(f"{at}/bundles").json["boundaries"] == ["0x00000000", "0x40000000", "0x80000000", "0xffffffff"]
    assert served.put(f"{at}/0x00000000_0x40000000/unload").status == 204


def names_by_half(home: str) -> tuple[str, str]:
    """A topic in the lower range and one in the upper."""
    names = [f"persistent://{home}/t{number}" for number in range(64)]
    lower = next(name for name in names if zlib.crc32(name.encode()) < 1 << 31)
    return lower, next(name for name in names if zlib.crc32(name.encode()) >= 1 << 31)


def test_the_last_range_has_its_upper_end() -> None:
    assert not within("nonsense", "x")
    assert within("0x00000000_0xffffffff", "x")


def test_what_is_done_by_the_range(served: Served, wire: WireClient, home: str) -> None:
    lower, upper = names_by_half(home)
    for consumer, name in enumerate((lower, upper)):
        wire.subscribe(name, "s", consumer, SubType.SHARED)
        wire.producer(name, consumer)
        wire.publish(b"x", producer_id=consumer)
    at, low = f"namespaces/{home}", "0x00000000_0x80000000"
    assert served.get(f"persistent/{home}?bundle={low}").json == [lower]
    assert served.get(f"persistent/{home}?bundle=0x00000000_0xffffffff").json == sorted((lower, upper))
    assert list(served.get(f"{at}/{low}/topicHashPositions").json["topicHashPositions"]) == [lower]
    assert f"{home}/{low}" in served.get(f"brokers/standalone/127.0.0.1:{served.http_port}/ownedNamespaces").json

    def backlogs() -> list[int]:
        stats = [served.get(f"{path(name)}/stats").json for name in (lower, upper)]
        return [each["subscriptions"]["s"]["msgBacklog"] for each in stats]

    assert served.post(f"{at}/{low}/clearBacklog/nobody").status == 204
    assert backlogs() == [1, 1]
    assert served.post(f"{at}/{low}/clearBacklog").status == 204
    assert backlogs() == [0, 1]
    assert served.post(f"{at}/clearBacklog/s").status == 204
    assert backlogs() == [0, 0]
    assert served.post(f"{at}/unsubscribe/s").refusal == (412, "Subscription has active connected consumers")
    assert served.put(f"{at}/{low}/unload").status == 204
    wire.expect(Command.CLOSE_CONSUMER)
    assert len(served.get(f"{path(upper)}/stats").json["publishers"]) == 1
    assert served.put(f"{at}/unload").status == 204
    served.call(lambda: None)
    assert served.post(f"{at}/{low}/unsubscribe/s").status == 204
    assert served.get(f"{path(lower)}/subscriptions").json == []
    assert served.get(f"{path(upper)}/subscriptions").json == ["s"]
    assert served.post(f"{at}/unsubscribe/s").status == 204
    assert served.get(f"{path(upper)}/subscriptions").json == []
    assert served.delete(f"{at}/{low}").refusal == (409, "Cannot delete non empty bundle")
    assert served.put(f"{at}/{low}/unload?destinationBroker=mars:1").refusal[0] == 409


def test_figures_of_the_whole_broker(served: Served, wire: WireClient, home: str) -> None:
    lower, _ = names_by_half(home)
    wire.producer(lower)
    topics = served.get("broker-stats/topics").json
    assert topics[home]["0x00000000_0x80000000"]["persistent"][lower]["producerCount"] == 1
    (figures,) = served.get("broker-stats/metrics").json
    assert figures["metrics"]["brk_producers_count"] >= 1
    assert served.get("brokers/backlog-quota-check").status == 204
    assert served.get("brokers/standalone/mars:1/ownedNamespaces").refusal[0] == 404


@pytest.mark.parametrize("where", ["/admin/v2/worker/cluster", "/admin/v3/functions/public/default", "/admin/v3/sinks"])
def test_there_are_no_functions(served: Served, where: str) -> None:
    status, reason = served.ask("GET", where).refusal
    assert status == 409
    assert "Function Worker is not enabled" in reason
