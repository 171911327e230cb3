"""Routes of non-persistent topics: those of persistent ones once more."""

from __future__ import annotations

from magnetar.admin.domains import REFUSED, refusing
from magnetar.admin.routes.route import TOPIC, V2, Route

__all__ = ["non_persistent"]

_BASE = f"{V2}/persistent/"


def non_persistent(routes: tuple[Route, ...]) -> tuple[Route, ...]:
    """The same for non-persistent topics; what makes no sense there is refused as Pulsar refuses it."""
    found: list[Route] = []
    for route in routes:
        if not route.path.startswith(_BASE):
            continue
        path = f"{V2}/non-persistent/{route.path.removeprefix(_BASE)}"
        same = route._replace(path=path, what=f"{route.what} (non-persistent)")
        refused = REFUSED.get((route.method, route.path.removeprefix(TOPIC)))
        found.append(same._replace(handler=refusing(*refused)) if refused else same)
    return tuple(found)
