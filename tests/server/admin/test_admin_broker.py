"""The broker, the cluster, tenants, namespaces, and lookup over HTTP."""

from __future__ import annotations

from tests.server.admin import shapes
from tests.server.admin.conftest import Served, path
from tests.server.admin.shapes import shape
from tests.support.wireclient import WireClient


def test_the_broker_is_well(served: Served) -> None:
    for at in ("health", "ready"):
        answer = served.get(f"brokers/{at}")
        assert (answer.status, answer.text, answer.content_type) == (200, "ok", "application/json")
    page = served.ask("GET", "/status.html")
    assert (page.status, page.text) == (200, "OK")
    assert served.get("brokers/version").text.count(".") == 2


def test_the_broker_is_not_well_while_its_log_fails(served: Served) -> None:
    served.call(lambda: setattr(served.core, "log_error", "the disk is full"))
    try:
        status, reason = served.get("brokers/health").refusal
    finally:
        served.call(lambda: setattr(served.core, "log_error", ""))
    assert status == 503
    assert "the disk is full" in reason


def test_one_broker_is_one_cluster(served: Served) -> None:
    here = f"127.0.0.1:{served.http_port}"
    assert served.get("brokers").json == served.get("brokers/standalone").json == [here]
    assert served.get("brokers/elsewhere").refusal == (404, "Cluster does not exist")
    assert served.get("brokers/leaderBroker").json == {"serviceUrl": f"http://{here}", "brokerId": here}
    assert served.get("clusters").json == ["standalone"]
    cluster = served.get("clusters/standalone").json
    assert shape(cluster) == shapes.CLUSTER
    assert cluster["brokerServiceUrl"] == f"pulsar://127.0.0.1:{served.port}"


def test_tenants(served: Served) -> None:
    assert served.get("tenants/public").json == {"adminRoles": [], "allowedClusters": ["standalone"]}
    assert served.get("tenants/nowhere").refusal == (404, "Tenant does not exist")
    assert served.put("tenants/ba%20d", {"allowedClusters": ["standalone"]}).status == 412
    assert served.put("tenants/new").refusal == (412, "TenantInfo is null")
    assert served.put("tenants/new", {}).refusal == (412, "Clusters cannot be empty or blank")
    assert served.put("tenants/new", {"allowedClusters": ["mars"]}).refusal == (412, "Clusters do not exist")
    body = {"adminRoles": ["boss"], "allowedClusters": ["standalone"], "unknown": 1}
    assert served.put("tenants/new", body).status == 204
    assert served.put("tenants/new", body).status == 409
    assert served.get("tenants").json == ["new", "public", "pulsar"]
    assert served.get("tenants/new").json["adminRoles"] == ["boss"]
    assert served.post("tenants/new", {"allowedClusters": ["standalone"]}).status == 204
    assert served.get("tenants/new").json["adminRoles"] == []
    assert served.put("namespaces/new/ns").status == 204
    assert served.delete("tenants/new").refusal == (409, "The tenant still has active namespaces")
    assert served.delete("namespaces/new/ns").status == 204
    assert served.delete("tenants/new").status == 204


def test_namespaces(served: Served, wire: WireClient) -> None:
    assert served.get("namespaces/public").json == ["public/default"]
    policies = served.get("namespaces/public/default").json
    assert shape(policies) == shapes.POLICIES
    bundles = served.get("namespaces/public/default/bundles").json
    assert shape(bundles) == shapes.BUNDLES
    assert policies["bundles"] == bundles
    assert bundles["boundaries"] == ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]
    assert served.get("namespaces/public/nowhere").refusal == (404, "Namespace does not exist")
    assert served.put("namespaces/public/ba%20d").refusal == (412, "Namespace name is not valid")
    assert served.put("namespaces/public/default").refusal == (409, "Namespace already exists")
    assert served.put("namespaces/nowhere/ns").refusal == (404, "Tenant does not exist")
    assert served.put("namespaces/public/ns", {"replication_clusters": ["standalone"]}).status == 204
    wire.producer("persistent://public/ns/t")
    assert served.get("namespaces/public/ns/topics").json == ["persistent://public/ns/t"]
    assert served.get("namespaces/public/ns/topics?mode=NON_PERSISTENT").json == []
    assert served.get("namespaces/public/ns/topics?mode=SOME").status == 404
    assert served.delete("namespaces/public/ns").refusal == (409, "Cannot delete non empty namespace")


def test_lookup(served: Served, topic: str) -> None:
    answer = served.ask("GET", f"/lookup/v2/topic/{path(topic)}").json
    assert shape(answer) == shapes.LOOKUP
    assert answer["brokerUrl"] == f"pulsar://127.0.0.1:{served.port}"
    orders = served.ask("GET", "/lookup/v2/topic/persistent/public/default/orders/bundle")
    assert orders.text == "0x80000000_0xc0000000"
    assert served.ask("GET", "/lookup/v2/topic/persistent/public/nowhere/orders").status == 404
    assert served.ask("GET", "/lookup/v2/topic/queue/public/default/orders").status == 412
    elsewhere = served.ask("GET", f"/lookup/v2/topic/{path(topic)}?listenerName=inside")
    assert (elsewhere.status, "listener 'inside'" in elsewhere.json["reason"]) == (405, True)
