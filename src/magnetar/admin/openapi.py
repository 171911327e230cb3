"""The table of routes as an OpenAPI document.

Every answer that is no success has the same form, a JSON object with a reason, so each route says that once, as its
``default`` answer.
"""

from __future__ import annotations

import re
from typing import Any

from magnetar.admin.routes import AREAS
from magnetar.admin.routes.components import COMPONENTS
from magnetar.admin.routes.route import INT, STRING, Route, Schema, ref

__all__ = ["document"]

_PART = re.compile(r"{(\w+)}")
_NUMBERS = {"numMessages", "expireTimeInSeconds", "timestamp", "messagePosition", "ledgerId", "entryId"}
_PARTS: dict[str, str] = {
    "t": "tenant",
    "n": "namespace, without its tenant",
    "topic": "name of the topic, without its namespace; percent-encoded",
    "sub": "name of the subscription; percent-encoded",
    "bundle": "range of hashes, such as 0x00000000_0x40000000",
    "domain": "persistent",
    "timestamp": "milliseconds since 1970",
}


_REFUSED = {
    "description": "refused, with a reason",
    "content": {"application/json": {"schema": ref("Reason")}},
}


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, Any] = {}
    for area, routes in AREAS.items():
        for route in routes:
            if not route.hidden:
                paths.setdefault(route.path, {})[route.method.lower()] = _operation(area, route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Magnetar's administration",
            "version": "2",
            "description": "The part of Apache Pulsar's admin REST API that Magnetar has, and a little more.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": COMPONENTS, "parameters": _parameters(), "responses": {"Refused": _REFUSED}},
    }


def _operation(area: str, route: Route) -> dict[str, Any]:
    names = re.sub(r"[^A-Za-z0-9]+", "_", route.path.replace("/admin/v2", "")).strip("_")
    found: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{names}{'_' if route.path.endswith('/') else ''}",
        "tags": [area],
        "summary": route.what,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in _PART.findall(route.path)]
        + [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in route.query.items()],
        "responses": _responses(route),
    }
    if route.body is not None:
        found["requestBody"] = {"content": {"application/json": {"schema": route.body}}}
    return found


def _parameters() -> dict[str, Any]:
    """The variable parts of all paths; each means the same wherever it stands."""
    names = {name: None for routes in AREAS.values() for route in routes if not route.hidden
             for name in _PART.findall(route.path)}  # fmt: skip
    return {name: _part(name) for name in names}


def _part(name: str) -> dict[str, Any]:
    schema: Schema = {**STRING, "minLength": 1}
    if name == "domain":
        schema = {**STRING, "enum": ["persistent"]}
    elif name in _NUMBERS:
        schema = INT
    found = {"name": name, "in": "path", "required": True, "schema": schema}
    return found | ({"description": _PARTS[name]} if name in _PARTS else {})


def _responses(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if route.answer is not None:
        kind = route.answer.get("x-content", "application/json")
        schema = {key: value for key, value in route.answer.items() if key != "x-content"}
        content = {"application/json": {}, "text/plain": {}} if kind == "text/plain" else {kind: {"schema": schema}}
        found[str(route.status)] = {"description": route.what, "content": content}
    if route.answer is None or route.maybe:
        found["204"] = {"description": "done" if route.answer is None else "nothing is set"}
    found["default"] = {"$ref": "#/components/responses/Refused"}
    return found
