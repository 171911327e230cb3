"""Routes of the broker, of clusters and of tenants."""

from __future__ import annotations

from magnetar.admin.handlers import (
    broker_stats,
    brokers,
    clusters,
    configuration,
    lookup,
    metrics,
    namespaces,
    unserved,
)
from magnetar.admin.routes.route import (
    BOOL,
    NOTHING,
    STRING,
    STRINGS,
    TEXT,
    TEXTS,
    V2,
    Route,
    array,
    obj,
    ref,
    table,
)

__all__ = ["BROKER", "CLUSTERS", "LOOKUP", "PAGES", "TENANTS", "UNSERVED"]

_BROKERS = f"{V2}/brokers"
_CONFIGURATION = f"{_BROKERS}/configuration"
_CLUSTER = f"{V2}/clusters/{{cluster}}"
_LOOKUP = "/lookup/v2/topic/{domain}/{t}/{n}/{topic}"

PAGES = (
    Route("GET", "/metrics", metrics.page, "metrics as Prometheus text", TEXT),
    Route("GET", "/metrics/", metrics.page, "metrics as Prometheus text", TEXT),
    Route("GET", "/status.html", brokers.status_page, "whether the broker serves, for load balancers", TEXT),
)

BROKER = (
    Route("GET", f"{_BROKERS}/health", brokers.health, "whether messages can be stored", TEXT),
    Route("GET", f"{_BROKERS}/ready", brokers.health, "whether clients are served", TEXT),
    Route("GET", f"{_BROKERS}/version", brokers.version, "the broker's version", TEXT),
    Route("GET", f"{_BROKERS}/leaderBroker", brokers.leader, "the broker that leads, which is this one",
          obj({"serviceUrl": STRING, "brokerId": STRING})),
    Route("GET", f"{_BROKERS}/backlog-quota-check", brokers.quota_check, "look at backlog quotas now"),
    Route("GET", _CONFIGURATION, configuration.names, "settings that change while the broker runs", STRINGS),
    Route("GET", f"{_CONFIGURATION}/values", configuration.values,
          "settings that were changed while the broker ran", TEXTS),
    Route("GET", f"{_CONFIGURATION}/runtime", configuration.runtime, "all settings as they are now", TEXTS),
    Route("POST", f"{_CONFIGURATION}/{{name}}/{{value}}", configuration.update, "change a setting"),
    Route("DELETE", f"{_CONFIGURATION}/{{name}}", configuration.delete, "take back the change of a setting"),
    Route("GET", _BROKERS, brokers.active, "brokers of the cluster", STRINGS),
    Route("GET", f"{_BROKERS}/{{cluster}}", brokers.active, "brokers of the cluster", STRINGS),
    Route("GET", f"{_BROKERS}/{{cluster}}/{{broker}}/ownedNamespaces", brokers.owned,
          "ranges of namespaces that the broker serves", table(ref("OwnedStatus"))),
    Route("GET", f"{V2}/broker-stats/topics", broker_stats.topics, "statistics of all topics",
          table(table(table(table(ref("TopicStats")))))),
    Route("GET", f"{V2}/broker-stats/metrics", broker_stats.metrics, "a few figures of the broker",
          array(obj({"metrics": {"type": "object"}, "dimensions": TEXTS}))),
)  # fmt: skip

CLUSTERS = (
    Route("GET", f"{V2}/clusters", clusters.names, "clusters", STRINGS),
    Route("GET", _CLUSTER, clusters.get, "addresses of a cluster", ref("Cluster")),
    Route("PUT", _CLUSTER, clusters.create, "keep the addresses of another cluster", body=ref("Cluster")),
    Route("POST", _CLUSTER, clusters.update, "change the addresses of a cluster", body=ref("Cluster")),
    Route("DELETE", _CLUSTER, clusters.delete, "forget a cluster that no tenant names"),
    Route("GET", f"{_CLUSTER}/peers", clusters.peers, "peers of a cluster", STRINGS, maybe=True),
    Route("POST", f"{_CLUSTER}/peers", clusters.set_peers, "say which clusters are its peers", body=STRINGS),
)

TENANTS = (
    Route("GET", f"{V2}/tenants", namespaces.tenants, "tenants", STRINGS),
    Route("GET", f"{V2}/tenants/{{t}}", namespaces.tenant, "a tenant", ref("Tenant")),
    Route("PUT", f"{V2}/tenants/{{t}}", namespaces.create_tenant, "create a tenant", body=ref("Tenant")),
    Route("POST", f"{V2}/tenants/{{t}}", namespaces.update_tenant, "change a tenant", body=ref("Tenant")),
    Route("DELETE", f"{V2}/tenants/{{t}}", namespaces.delete_tenant, "delete a tenant without namespaces"),
)

LOOKUP = (
    Route("GET", _LOOKUP, lookup.topic, "the broker of a topic", ref("Lookup"),
          query={"listenerName": STRING, "authoritative": BOOL}),
    Route("GET", f"{_LOOKUP}/bundle", lookup.bundle, "the range that a topic falls into", TEXT),
)  # fmt: skip

UNSERVED = tuple(
    Route("*", path, unserved.no_functions, "functions and connectors are not there", NOTHING, hidden=True)
    for area in ("/admin/v2/worker", "/admin/v2/worker-stats", "/admin/v2/functions", "/admin/v3/functions",
                 "/admin/v3/sinks", "/admin/v3/sources", "/admin/v3/sink", "/admin/v3/source")
    for path in (area, f"{area}/{{rest:.*}}")
)  # fmt: skip
