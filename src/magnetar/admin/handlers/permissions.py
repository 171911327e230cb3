"""Permissions: who may do what on a namespace, a topic or a subscription. Kept and returned, as Pulsar keeps them.

They stand in the namespace's row: ``namespace_auth`` by role, ``destination_auth`` by topic and role,
``subscription_auth_roles`` by subscription. Those of a partition are those of its partitioned topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.core.catalog import NAMESPACES, Row
from magnetar.core.names import TopicName
from magnetar.errors import InvalidValue, NotFound

__all__ = [
    "forget_topic",
    "grant",
    "grant_on_topics",
    "grant_subscription",
    "of_namespace",
    "of_subscriptions",
    "of_topic",
    "revoke",
    "revoke_on_topics",
    "revoke_subscription",
    "topic_grant",
    "topic_revoke",
]

Action = Literal["produce", "consume", "functions", "sources", "sinks", "packages"]
_ACTIONS: msgspec.json.Decoder[list[Action]] = msgspec.json.Decoder(list[Action])
_ROLES: msgspec.json.Decoder[list[str]] = msgspec.json.Decoder(list[str])
_ROLES_MAX = 10_000
"""Roles of one namespace, topic or subscription."""

Auth = dict[str, Any]


class OnTopic(msgspec.Struct):
    """One line of a request that is about several topics."""

    topic: str
    role: str
    actions: list[Action] | None = None


_ON_TOPICS: msgspec.json.Decoder[list[OnTopic]] = msgspec.json.Decoder(list[OnTopic])


def _auth(row: Row) -> Auth:
    kept = row.get("auth_policies") or {}
    return {
        "namespace_auth": dict(kept.get("namespace_auth") or {}),
        "destination_auth": {topic: dict(roles) for topic, roles in (kept.get("destination_auth") or {}).items()},
        "subscription_auth_roles": dict(kept.get("subscription_auth_roles") or {}),
    }


async def _change(call: Call, namespace: str, change: Callable[[Auth], None]) -> None:
    def changed(row: Row | None) -> Row:
        if row is None:
            raise NotFound("Namespace does not exist")
        auth = _auth(row)
        change(auth)
        if any(len(table) > _ROLES_MAX for table in (*auth.values(), *auth["destination_auth"].values())):
            raise InvalidValue(f"more than {_ROLES_MAX} roles cannot be kept")
        return {**row, "auth_policies": auth}

    await call.bridge.change_row(NAMESPACES + namespace, changed)


async def _actions(call: Call) -> list[Action]:
    if not (await call.request.read()).strip():
        raise Refusal(400, "Actions should not be null")
    actions: list[Action] = await call.given(_ACTIONS)
    return sorted(set(actions))


def _kept(call: Call, namespace: str) -> Auth:
    return _auth(call.core.catalog.namespaces[namespace])


# -- namespaces --------------------------------------------------------------------------------------------------------


async def of_namespace(call: Call) -> web.Response:
    return json_answer(_kept(call, call.namespace())["namespace_auth"])


async def grant(call: Call) -> web.Response:
    """What the role may do from now on is what the body says."""
    namespace, role, actions = (
        call.namespace("Topic's namespace does not exist"),
        call.part("role"),
        await _actions(call),
    )
    await _change(call, namespace, lambda auth: auth["namespace_auth"].update({role: actions}))
    return no_content()


async def revoke(call: Call) -> web.Response:
    namespace, role = call.namespace(), call.part("role")
    await _change(call, namespace, lambda auth: auth["namespace_auth"].pop(role, None))
    return no_content()


# -- subscriptions -----------------------------------------------------------------------------------------------------


async def of_subscriptions(call: Call) -> web.Response:
    return json_answer(_kept(call, call.namespace())["subscription_auth_roles"])


async def grant_subscription(call: Call) -> web.Response:
    namespace, sub = call.namespace(), call.part("sub")
    roles: list[str] = await call.given(_ROLES)
    kept = sorted(set(roles))
    await _change(call, namespace, lambda auth: auth["subscription_auth_roles"].update({sub: kept}))
    return no_content()


async def revoke_subscription(call: Call) -> web.Response:
    namespace, sub, role = call.namespace(), call.part("sub"), call.part("role")
    if sub not in _kept(call, namespace)["subscription_auth_roles"]:
        raise Refusal(404, f"no role has permissions on subscription {sub}")

    def without(auth: Auth) -> None:
        table = auth["subscription_auth_roles"]
        left = [each for each in table.pop(sub, []) if each != role]
        if left:
            table[sub] = left

    await _change(call, namespace, without)
    return no_content()


# -- topics ------------------------------------------------------------------------------------------------------------


def _known(call: Call, name: TopicName) -> str:
    """The full name under which permissions of the topic are kept; 404 when there is no such topic."""
    catalog = call.core.catalog
    parent = TopicName(f"{name.domain}://{name.namespace}/{name.parent}")
    if catalog.partitions(parent) > max(name.partition, 0):
        return str(parent)
    if str(name) not in call.core.topics:
        raise Refusal(404, f"Topic {name} not found")
    return str(name)


async def of_topic(call: Call) -> web.Response:
    """What roles may do on the topic: by the namespace's permissions and by its own."""
    name = call.name()
    auth = _kept(call, name.namespace)
    found: dict[str, list[str]] = {role: list(actions) for role, actions in auth["namespace_auth"].items()}
    for role, actions in auth["destination_auth"].get(_known(call, name), {}).items():
        found[role] = sorted({*found.get(role, []), *actions})
    return json_answer(found)


async def topic_grant(call: Call) -> web.Response:
    name, role, actions = call.name(), call.part("role"), await _actions(call)
    topic = _known(call, name)
    await _change(
        call, name.namespace, lambda auth: auth["destination_auth"].setdefault(topic, {}).update({role: actions})
    )
    return no_content()


async def topic_revoke(call: Call) -> web.Response:
    name, role = call.name(), call.part("role")
    topic = _known(call, name)
    await _change(call, name.namespace, lambda auth: _without(auth, topic, role))
    return no_content()


def _without(auth: Auth, topic: str, role: str | None) -> None:
    roles = auth["destination_auth"].pop(topic, {})
    roles.pop(role, None)
    if roles and role is not None:
        auth["destination_auth"][topic] = roles


async def forget_topic(call: Call, name: TopicName) -> None:
    """The topic is gone, and so are its permissions: another one of its name begins without."""
    row = call.core.catalog.namespaces.get(name.namespace)
    if row is not None and str(name) in _auth(row)["destination_auth"]:
        await _change(call, name.namespace, lambda auth: _without(auth, str(name), None))


async def grant_on_topics(call: Call) -> web.Response:
    """Permissions on several topics at once. Every line is looked at before the first one is carried out."""
    for namespace, topic, line in await _lines(call):
        actions = sorted(set(line.actions or []))
        await _change(call, namespace, _granting(topic, line.role, list(actions)))
    return no_content()


def _granting(topic: str, role: str, actions: list[str]) -> Callable[[Auth], None]:
    def change(auth: Auth) -> None:
        auth["destination_auth"].setdefault(topic, {})[role] = actions

    return change


async def revoke_on_topics(call: Call) -> web.Response:
    for namespace, topic, line in await _lines(call):
        await _change(call, namespace, _revoking(topic, line.role))
    return no_content()


def _revoking(topic: str, role: str) -> Callable[[Auth], None]:
    return lambda auth: _without(auth, topic, role)


async def _lines(call: Call) -> list[tuple[str, str, OnTopic]]:
    found = []
    for line in await call.given(_ON_TOPICS):
        name = TopicName(line.topic)
        found.append((name.namespace, _known(call, name), line))
    return found
