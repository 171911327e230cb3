"""The table of routes: every path that is answered, who answers it, what it is for, and what goes in and out.

The application is made of this table, and so are its documentation (docs/reference/openapi.json and admin-rest.md) and
its tests. Of two patterns that fit a path the upper one wins, so fixed words stand above variables.
"""

from __future__ import annotations

from magnetar.admin.routes.cluster import BROKER, CLUSTERS, LOOKUP, PAGES, TENANTS, UNSERVED
from magnetar.admin.routes.live import non_persistent
from magnetar.admin.routes.namespace import LAST, NAMESPACES
from magnetar.admin.routes.policy import POLICY_ROUTES
from magnetar.admin.routes.route import Route
from magnetar.admin.routes.schema import SCHEMAS
from magnetar.admin.routes.subscription import SUBSCRIPTIONS
from magnetar.admin.routes.topic import TOPICS

__all__ = ["AREAS", "ROUTES", "Route"]

AREAS: dict[str, tuple[Route, ...]] = {
    "Pages": PAGES,
    "Brokers": BROKER,
    "Clusters": CLUSTERS,
    "Tenants": TENANTS,
    "Namespaces": NAMESPACES,
    "Topics": TOPICS,
    "Subscriptions": SUBSCRIPTIONS,
    "Policies": POLICY_ROUTES,
    "Schemas": SCHEMAS,
    "Bundles": LAST,
    "Lookup": LOOKUP,
    "Not there": UNSERVED,
}
"""The table, by what its lines are about."""

AREAS["Non-persistent topics"] = non_persistent((*TOPICS, *SUBSCRIPTIONS, *POLICY_ROUTES))

ROUTES: tuple[Route, ...] = tuple(route for area in AREAS.values() for route in area)
