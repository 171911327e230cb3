"""The table of routes: every path that is answered, who answers it, and what it is for.

The application is made of this table, and so are its documentation and its tests. Of two patterns that fit a path the
upper one wins, so fixed words stand above variables.
"""

from __future__ import annotations

from typing import NamedTuple

from magnetar.admin.call import Handler
from magnetar.admin.domains import REFUSED, refusing
from magnetar.admin.handlers import (
    brokers,
    clearing,
    configuration,
    explain,
    lookup,
    metrics,
    namespaces,
    partitions,
    policies,
    schemas,
    stats,
    subscriptions,
    topics,
)
from magnetar.core.policies.table import POLICIES, policy

__all__ = ["ROUTES", "Route"]


class Route(NamedTuple):
    """One line of the table."""

    method: str
    path: str
    handler: Handler
    what: str


_V2 = "/admin/v2"
_CONFIGURATION = f"{_V2}/brokers/configuration"
_TOPIC = f"{_V2}/persistent/{{t}}/{{n}}/{{topic}}"
_SUB = f"{_TOPIC}/subscription/{{sub}}"
_NAMESPACE = f"{_V2}/namespaces/{{t}}/{{n}}"
_LOOKUP = "/lookup/v2/topic/{domain}/{t}/{n}/{topic}"


def _policy_routes() -> list[Route]:
    """The routes of every policy, at the levels where it can be set."""
    found: list[Route] = []
    for line in POLICIES:
        for base, last, handlers in (
            (_NAMESPACE, line.namespace_path, policies.namespace_handlers),
            (_TOPIC, line.topic_path, policies.topic_handlers),
        ):
            if last:
                found += [Route(m, f"{base}/{last}", handler, f"policy: {line.text}") for m, handler in handlers(line)]
    quota = policy("backlog_quota_map")
    for base, of_topic in ((_NAMESPACE, False), (_TOPIC, True)):
        for method, last, handler in policies.quota_handlers(quota, of_topic):
            found.append(Route(method, f"{base}/{last}", handler, f"policy: {quota.text}"))
    return found


def _schema_routes() -> list[Route]:
    """The schemas of a topic."""
    base = f"{_V2}/schemas/{{t}}/{{n}}/{{topic}}"
    return [
        Route("GET", f"{base}/schema", schemas.latest, "the latest schema"),
        Route("POST", f"{base}/schema", schemas.upload, "register a schema"),
        Route("DELETE", f"{base}/schema", schemas.delete, "delete all schemas"),
        Route("GET", f"{base}/schema/{{version}}", schemas.of_version, "the schema of a version"),
        Route("GET", f"{base}/schemas", schemas.every, "all schemas"),
        Route("GET", f"{base}/metadata", schemas.metadata, "the versions of the schema"),
        Route("POST", f"{base}/compatibility", schemas.check, "whether a schema could be the next one"),
        Route("POST", f"{base}/version", schemas.version_of, "the version of a schema"),
    ]


_PERSISTENT_ROUTES: tuple[Route, ...] = (
    Route("GET", "/metrics", metrics.page, "metrics as Prometheus text"),
    Route("GET", "/metrics/", metrics.page, "metrics as Prometheus text"),
    Route("GET", "/status.html", brokers.status_page, "whether the broker serves, for load balancers"),
    # Brokers and clusters
    Route("GET", f"{_V2}/brokers/health", brokers.health, "whether messages can be stored"),
    Route("GET", f"{_V2}/brokers/ready", brokers.health, "whether clients are served"),
    Route("GET", f"{_V2}/brokers/version", brokers.version, "the broker's version"),
    Route("GET", f"{_V2}/brokers/backlog-quota-check", brokers.check_quotas_now, "look at all backlog quotas now"),
    Route("GET", f"{_V2}/brokers/leaderBroker", brokers.leader, "the broker that leads, which is this one"),
    Route("GET", _CONFIGURATION, configuration.names, "settings that change while the broker runs"),
    Route("GET", f"{_CONFIGURATION}/values", configuration.values, "settings that were changed while the broker ran"),
    Route("GET", f"{_CONFIGURATION}/runtime", configuration.runtime, "all settings as they are now"),
    Route("POST", f"{_CONFIGURATION}/{{name}}/{{value}}", configuration.update, "change a setting"),
    Route("DELETE", f"{_CONFIGURATION}/{{name}}", configuration.delete, "take back the change of a setting"),
    Route("GET", f"{_V2}/brokers", brokers.active, "brokers of the cluster"),
    Route("GET", f"{_V2}/brokers/{{cluster}}", brokers.active, "brokers of the cluster"),
    Route("GET", f"{_V2}/clusters", brokers.clusters, "clusters"),
    Route("GET", f"{_V2}/clusters/{{cluster}}", brokers.cluster, "addresses of a cluster"),
    # Tenants and namespaces
    Route("GET", f"{_V2}/tenants", namespaces.tenants, "tenants"),
    Route("GET", f"{_V2}/tenants/{{t}}", namespaces.tenant, "a tenant"),
    Route("PUT", f"{_V2}/tenants/{{t}}", namespaces.create_tenant, "create a tenant"),
    Route("POST", f"{_V2}/tenants/{{t}}", namespaces.update_tenant, "change a tenant"),
    Route("DELETE", f"{_V2}/tenants/{{t}}", namespaces.delete_tenant, "delete a tenant without namespaces"),
    Route("GET", f"{_V2}/namespaces/{{t}}", namespaces.namespaces, "namespaces of a tenant"),
    Route("GET", _NAMESPACE, namespaces.namespace, "policies of a namespace"),
    Route("PUT", _NAMESPACE, namespaces.create_namespace, "create a namespace"),
    Route("DELETE", _NAMESPACE, namespaces.delete_namespace, "delete an empty namespace"),
    Route("GET", f"{_NAMESPACE}/topics", namespaces.topics, "topics of a namespace, as clients see them"),
    Route("GET", f"{_NAMESPACE}/bundles", namespaces.bundles, "ranges of a namespace"),
    # Topics
    Route("GET", f"{_V2}/persistent/{{t}}/{{n}}", topics.topic_list, "topics of a namespace"),
    Route("GET", f"{_V2}/persistent/{{t}}/{{n}}/partitioned", topics.partitioned_list, "partitioned topics"),
    Route("PUT", _TOPIC, topics.create, "create a topic"),
    Route("DELETE", _TOPIC, topics.delete, "delete a topic"),
    Route("PUT", f"{_TOPIC}/partitions", partitions.create, "create a partitioned topic"),
    Route("POST", f"{_TOPIC}/partitions", partitions.grow, "more partitions"),
    Route("GET", f"{_TOPIC}/partitions", partitions.get, "how many partitions"),
    Route("DELETE", f"{_TOPIC}/partitions", partitions.delete, "delete a partitioned topic"),
    Route("GET", f"{_TOPIC}/stats", stats.single, "statistics of a topic"),
    Route("GET", f"{_TOPIC}/internalStats", stats.internal, "ledgers and cursors of a topic"),
    Route("GET", f"{_TOPIC}/partitioned-stats", stats.partitioned, "statistics of a partitioned topic"),
    Route("GET", f"{_TOPIC}/partitioned-internalStats", stats.partitioned_internal, "ledgers of all partitions"),
    Route("GET", f"{_TOPIC}/subscriptions", subscriptions.names, "names of the subscriptions"),
    Route("PUT", _SUB, subscriptions.create, "create a subscription"),
    Route("DELETE", _SUB, subscriptions.delete, "delete a subscription"),
    Route("GET", f"{_SUB}/explain", explain.explain, "why a subscription or a key does not move"),
    Route("GET", f"{_SUB}/pendingAcks", explain.pending_acks, "what consumers hold unacknowledged, in pages"),
    Route("GET", f"{_SUB}/history", explain.history, "who came and went, and how long drains took"),
    Route("POST", f"{_SUB}/skip_all", clearing.clear, "acknowledge the whole backlog"),
    Route("POST", f"{_SUB}/skip/{{numMessages}}", clearing.skip, "acknowledge the beginning of the backlog"),
    Route("POST", f"{_SUB}/expireMessages", clearing.expire_position, "acknowledge everything up to a message"),
    Route("POST", f"{_SUB}/expireMessages/{{expireTimeInSeconds}}", clearing.expire, "acknowledge what is old"),
    Route(
        "POST",
        f"{_TOPIC}/all_subscription/expireMessages/{{expireTimeInSeconds}}",
        clearing.expire_all,
        "acknowledge what is old, on every subscription",
    ),
    Route("POST", f"{_SUB}/consumer/{{consumer}}/disconnect", subscriptions.disconnect, "disconnect a consumer"),
    Route("GET", f"{_TOPIC}/lastMessageId", topics.last_message_id, "id of the last message"),
    Route("GET", f"{_TOPIC}/backlog", topics.backlog, "what lies unacknowledged"),
    Route("POST", f"{_TOPIC}/terminate", topics.terminate, "end a topic"),
    Route("POST", f"{_TOPIC}/terminate/partitions", topics.terminate_partitions, "end all partitions"),
    Route("PUT", f"{_TOPIC}/unload", topics.unload, "disconnect everybody from a topic"),
    # Policies
    *_policy_routes(),
    Route("DELETE", f"{_TOPIC}/policies", policies.topic_policies_delete, "take away all policies of a topic"),
    # Schemas
    *_schema_routes(),
    # Lookup
    Route("GET", _LOOKUP, lookup.topic, "the broker of a topic"),
    Route("GET", f"{_LOOKUP}/bundle", lookup.bundle, "the range that a topic falls into"),
)


def _non_persistent() -> list[Route]:
    """The same for non-persistent topics; what makes no sense there is refused as Pulsar refuses it."""
    found: list[Route] = []
    base = f"{_V2}/persistent/"
    for route in _PERSISTENT_ROUTES:
        if route.path.startswith(base):
            refused = REFUSED.get((route.method, route.path.removeprefix(_TOPIC)))
            handler = refusing(*refused) if refused else route.handler
            path = f"{_V2}/non-persistent/{route.path.removeprefix(base)}"
            found.append(Route(route.method, path, handler, f"{route.what} (non-persistent)"))
    return found


ROUTES: tuple[Route, ...] = (*_PERSISTENT_ROUTES, *_non_persistent())
