"""Routes of policies, made of the table of policies."""

from __future__ import annotations

from magnetar.admin.handlers import policies, subscription_rate
from magnetar.admin.routes.route import BOOL, NAMESPACE, NOTHING, STRING, TOPIC, Route, table
from magnetar.core.policies.table import POLICIES, policy

__all__ = ["POLICY_ROUTES"]

_APPLIED = {"applied": BOOL}


def _routes() -> list[Route]:
    """The routes of every policy, at the levels where it can be set."""
    found: list[Route] = []
    for line in POLICIES:
        for base, last, handlers in (
            (NAMESPACE, line.namespace_path, policies.namespace_handlers),
            (TOPIC, line.topic_path, policies.topic_handlers),
        ):
            if not last:
                continue
            for method, handler in handlers(line):
                route = Route(method, f"{base}/{last}", handler, f"policy: {line.text}")
                if method == "GET":
                    route = route._replace(answer=NOTHING, maybe=True, query=_APPLIED)
                elif method != "DELETE":
                    route = route._replace(body=NOTHING)
                found.append(route)
    return found


def _quotas() -> list[Route]:
    found: list[Route] = []
    quota = policy("backlog_quota_map")
    for base, of_topic in ((NAMESPACE, False), (TOPIC, True)):
        for method, last, handler in policies.quota_handlers(quota, of_topic):
            route = Route(method, f"{base}/{last}", handler, f"policy: {quota.text}")
            if method == "GET":
                route = route._replace(answer=table({"type": "object"}), query=_APPLIED)
            else:
                route = route._replace(query={"backlogQuotaType": STRING})
            found.append(route._replace(body={"type": "object"}) if method == "POST" else route)
    return found


_RATE = f"{TOPIC}/{{sub}}/dispatchRate"
_RATE_OF = "policy: dispatch rate of one subscription"

POLICY_ROUTES = (
    *_routes(),
    *_quotas(),
    Route("DELETE", f"{TOPIC}/policies", policies.topic_policies_delete, "take away all policies of a topic"),
    Route("GET", _RATE, subscription_rate.get, _RATE_OF, NOTHING, query=_APPLIED, maybe=True),
    Route("POST", _RATE, subscription_rate.put, _RATE_OF, body=NOTHING),
    Route("DELETE", _RATE, subscription_rate.delete, _RATE_OF),
)
