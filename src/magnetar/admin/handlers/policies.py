"""Policies over HTTP: one handler for all of them, and the few that do not fit its mould.

Every policy of ``magnetar.core.policies.table`` has GET, POST (or PUT) and DELETE at its path below a namespace and
below a topic. GET of one that is not set answers with nothing (204); with ``applied=true`` it answers with what holds,
whoever has set it. Those of a partition are those of its partitioned topic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer, no_content
from magnetar.admin.call import Call, Handler
from magnetar.core.catalog import LIVE, NAMESPACES, PARTITIONED, TOPICS, Row
from magnetar.core.names import NON_PERSISTENT, TopicName
from magnetar.core.policies.book import stored
from magnetar.core.policies.retained import quota_fits
from magnetar.core.policies.table import BACKLOG_QUOTAS, QUOTA_KINDS, RETENTION, Policy, backlog_quota
from magnetar.errors import NotFound, TopicNotFound

__all__ = [
    "change_topic",
    "forget_policies",
    "namespace_handlers",
    "policy_topic",
    "quota_handlers",
    "topic_handlers",
    "topic_policies_delete",
    "value_of",
]

_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Any)

_INCREASE = "Please increase retention quota and retry"

Set = Callable[[Any], Any]
"""From the value of a policy to its next one; None takes it away."""


class _Absent:
    """There is no body, which is not the same as ``null``."""


async def _namespace(call: Call) -> tuple[str, Row]:
    name = call.namespace()
    return NAMESPACES + name, call.core.catalog.namespaces[name]


async def policy_topic(call: Call) -> tuple[TopicName, str, Row]:
    """The topic that policies are kept for: its name, its row's path, and the row."""
    name = call.name()
    catalog = call.core.catalog
    parent = TopicName(f"{name.domain}://{name.namespace}/{name.parent}")
    if catalog.partitions(parent):
        return parent, PARTITIONED + parent.path, catalog.partitioned[str(parent)]
    await call.open(name)
    if name.domain == NON_PERSISTENT:
        return name, LIVE + name.path, catalog.live_policies.get(str(name), {})
    return name, TOPICS + name.path, catalog.topics[str(name)]


async def value_of(call: Call, line: Policy, of_topic: bool) -> Any:
    """What the request wants the policy to be, checked."""
    given: Any
    if of_topic and line.query and line.query in call.request.query:
        text = call.request.query[line.query]
        try:
            given = int(text)
        except ValueError:
            raise Refusal(400, f"{line.query} should be a whole number, not '{text}'") from None
    else:
        given = await call.body(_ANY, _Absent)
        if given is _Absent:
            raise Refusal(400, f"the value of the policy is missing: {line.text}")
    return line.check(given)


def _put(line: Policy, cluster: str, value: Any, row: Row) -> Row:
    """The namespace's row with the policy's new value."""
    changed = {key: kept for key, kept in row.items() if key != line.name}
    if line.by_cluster:
        by_cluster = {key: kept for key, kept in row.get(line.name, {}).items() if key != cluster}
        if value is not None:
            by_cluster[cluster] = value
        value = by_cluster or None
    if value is not None:
        changed[line.name] = value
    return changed


def _check_kept(of: str, line: Policy, retention: Any, quotas: Any) -> None:
    """Refuse a quota that does not fit to the retention, and the other way around."""
    if line.name not in (RETENTION, BACKLOG_QUOTAS) or quota_fits(retention, quotas):
        return
    if line.name == RETENTION:
        raise Refusal(412, f"Retention Quota must exceed configured backlog quota for {of}. {_INCREASE}")
    raise Refusal(412, f"Backlog Quota exceeds configured retention quota for {of}. {_INCREASE}")


async def _change_namespace(call: Call, line: Policy, change: Set) -> None:
    path, _ = await _namespace(call)
    cluster = call.core.options.cluster

    def changed(row: Row | None) -> Row:
        if row is None:
            raise NotFound("Namespace does not exist")
        found = _put(line, cluster, change(stored(row, line, cluster)), row)
        _check_kept("namespace", line, found.get(RETENTION), found.get(BACKLOG_QUOTAS))
        return found

    await call.bridge.change_row(path, changed)


async def change_topic(call: Call, line: Policy, change: Set) -> None:
    name, path, _ = await policy_topic(call)

    def changed(row: Row | None) -> Row:
        if row is None and path.startswith(LIVE):
            row = {}
        if row is None:
            raise TopicNotFound("the topic was deleted a moment ago")
        policies = {key: kept for key, kept in row.get("policies", {}).items() if key != line.name}
        value = change(row.get("policies", {}).get(line.name))
        if value is not None:
            policies[line.name] = value
        above = call.core.catalog.namespaces[name.namespace]
        quotas = {**above.get(BACKLOG_QUOTAS, {}), **policies.get(BACKLOG_QUOTAS, {})}
        _check_kept("topic", line, policies.get(RETENTION, above.get(RETENTION)), quotas)
        return {**row, "policies": policies}

    await call.bridge.change_row(path, changed)


async def _namespace_get(line: Policy, call: Call) -> web.Response:
    path, row = await _namespace(call)
    found = stored(row, line, call.core.options.cluster)
    if call.flag("applied"):
        found = call.core.policies.namespace_value(path.removeprefix(NAMESPACES), line.name)
    if found is None:
        found = line.unset
    return no_content() if found is None else json_answer(found)


async def _namespace_set(line: Policy, call: Call) -> web.Response:
    value = await value_of(call, line, False)
    await _change_namespace(call, line, lambda before: value)
    return no_content()


async def _namespace_delete(line: Policy, call: Call) -> web.Response:
    await _change_namespace(call, line, lambda before: None)
    return no_content()


async def _topic_get(line: Policy, call: Call) -> web.Response:
    name, _, row = await policy_topic(call)
    found = row.get("policies", {}).get(line.name)
    if call.flag("applied"):
        found = call.core.policies.topic_value(name, line.name)
    return no_content() if found is None else json_answer(found)


async def _topic_set(line: Policy, call: Call) -> web.Response:
    value = await value_of(call, line, True)
    await change_topic(call, line, lambda before: value)
    return no_content()


async def _topic_delete(line: Policy, call: Call) -> web.Response:
    await change_topic(call, line, lambda before: None)
    return no_content()


def namespace_handlers(line: Policy) -> list[tuple[str, Handler]]:
    """Method and handler of each thing that can be done to the policy of a namespace."""
    return [
        ("GET", partial(_namespace_get, line)),
        (line.namespace_write or line.write, partial(_namespace_set, line)),
        ("DELETE", partial(_namespace_delete, line)),
    ]


def topic_handlers(line: Policy) -> list[tuple[str, Handler]]:
    """The same for a topic."""
    return [
        ("GET", partial(_topic_get, line)),
        (line.write, partial(_topic_set, line)),
        ("DELETE", partial(_topic_delete, line)),
    ]


def quota_handlers(line: Policy, of_topic: bool) -> list[tuple[str, str, Handler]]:
    """Quotas are read together and set one by one: method, last part of the path, handler."""
    change = change_topic if of_topic else _change_namespace
    read = _topic_get if of_topic else _namespace_get

    async def put(call: Call) -> web.Response:
        kind = _quota_kind(call)
        quota = backlog_quota(await call.body(_ANY, None))
        await change(call, line, lambda before: {**(before or {}), kind: quota})
        return no_content()

    async def delete(call: Call) -> web.Response:
        kind = _quota_kind(call)
        await change(call, line, lambda before: {k: q for k, q in (before or {}).items() if k != kind} or None)
        return no_content()

    async def get(call: Call) -> web.Response:
        found = await read(line, call)
        return json_answer({}) if found.status == 204 else found

    return [("GET", "backlogQuotaMap", get), ("POST", "backlogQuota", put), ("DELETE", "backlogQuota", delete)]


def _quota_kind(call: Call) -> str:
    kind = call.request.query.get("backlogQuotaType", QUOTA_KINDS[0])
    if kind not in QUOTA_KINDS:
        raise Refusal(400, f"backlogQuotaType is one of {', '.join(QUOTA_KINDS)}, not '{kind}'")
    return kind


async def forget_policies(call: Call, namespace: str) -> None:
    """Topics that are no longer there may have left some, which must not wait for a later namespace of that name."""
    for left in [TopicName(full) for full in call.core.catalog.live_policies]:
        if left.namespace == namespace:
            await call.bridge.meta(LIVE + left.path, None, False)


async def topic_policies_delete(call: Call) -> web.Response:
    """All policies of the topic's own."""
    _, path, _ = await policy_topic(call)
    await call.bridge.change_row(path, _without_policies)
    return no_content()


def _without_policies(row: Row | None) -> Row | None:
    """A row that held nothing else goes."""
    return {key: value for key, value in (row or {}).items() if key != "policies"} or None
