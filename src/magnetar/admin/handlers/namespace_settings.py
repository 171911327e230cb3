"""What a namespace says of itself besides its policies: kept and returned, in its row of the catalogue."""

from __future__ import annotations

import contextlib
from typing import Any, Literal

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal, json_answer, no_content, text_answer
from magnetar.admin.call import Call
from magnetar.admin.handlers.clusters import known
from magnetar.core.catalog import NAMESPACES, Row
from magnetar.errors import NotFound

__all__ = [
    "allowed_clusters",
    "anti_affinity",
    "anti_affinity_delete",
    "anti_affinity_members",
    "encryption",
    "replication",
    "set_allowed_clusters",
    "set_anti_affinity",
    "set_encryption",
    "set_replication",
    "set_subscription_auth_mode",
    "subscription_auth_mode",
]

_FLAG: msgspec.json.Decoder[bool] = msgspec.json.Decoder(bool)
_MODE: msgspec.json.Decoder[str] = msgspec.json.Decoder(Literal["None", "Prefix"])
_NAMES: msgspec.json.Decoder[list[str] | None] = msgspec.json.Decoder(list[str] | None)
_TEXT: msgspec.json.Decoder[str] = msgspec.json.Decoder(str)
_GROUP_BYTES_MAX = 1024
_GROUP = "antiAffinityGroup"


def _get(call: Call, name: str, absent: Any) -> Any:
    return call.core.catalog.namespaces[call.namespace()].get(name, absent)


async def _set(call: Call, name: str, value: Any) -> web.Response:
    """None takes it away."""

    def changed(row: Row | None) -> Row:
        if row is None:
            raise NotFound("Namespace does not exist")
        kept = {key: each for key, each in row.items() if key != name}
        return kept if value is None else {**kept, name: value}

    await call.bridge.change_row(NAMESPACES + call.namespace(), changed)
    return no_content()


async def encryption(call: Call) -> web.Response:
    return json_answer(_get(call, "encryption_required", False))


async def set_encryption(call: Call) -> web.Response:
    call.namespace()
    return await _set(call, "encryption_required", await call.given(_FLAG))


async def subscription_auth_mode(call: Call) -> web.Response:
    return json_answer(_get(call, "subscription_auth_mode", "None"))


async def set_subscription_auth_mode(call: Call) -> web.Response:
    call.namespace()
    return await _set(call, "subscription_auth_mode", await call.given(_MODE))


async def _clusters(call: Call) -> list[str]:
    """The clusters of the body, which have to exist."""
    given: list[str] | None = await call.body(_NAMES, None)
    wanted = sorted(set(given or []))
    if not wanted:
        raise Refusal(412, "ClusterIds should not be null or empty")
    for cluster in wanted:
        if cluster not in known(call):
            raise Refusal(403, f"Invalid cluster id: {cluster}")
    return wanted


async def replication(call: Call) -> web.Response:
    return json_answer(_get(call, "replication_clusters", [call.core.options.cluster]))


async def set_replication(call: Call) -> web.Response:
    """Nothing is replicated, so the only list that can be kept is that of this cluster alone."""
    call.namespace()
    wanted = await _clusters(call)
    if wanted != [call.core.options.cluster]:
        raise Refusal(412, f"nothing is replicated here: the list has to be {[call.core.options.cluster]}")
    return await _set(call, "replication_clusters", wanted)


async def allowed_clusters(call: Call) -> web.Response:
    return json_answer(_get(call, "allowed_clusters", []))


async def set_allowed_clusters(call: Call) -> web.Response:
    call.namespace()
    wanted = await _clusters(call)
    if call.core.options.cluster not in wanted:
        raise Refusal(412, f"the list has to hold {call.core.options.cluster}, where the namespace is served")
    return await _set(call, "allowed_clusters", wanted)


async def anti_affinity(call: Call) -> web.Response:
    found = _get(call, _GROUP, None)
    return no_content() if found is None else text_answer(found)


async def set_anti_affinity(call: Call) -> web.Response:
    """One broker serves all namespaces, so the group is kept for tools. Some clients send it bare, others as JSON."""
    call.namespace()
    data = await call.request.read()
    try:
        group = data.decode()
    except UnicodeDecodeError:
        raise Refusal(400, "the name of a group has to be UTF-8") from None
    with contextlib.suppress(msgspec.DecodeError):
        group = _TEXT.decode(data)
    if not group.strip():
        raise Refusal(412, "Anti-affinity group can't be empty")
    if len(group) > _GROUP_BYTES_MAX:
        raise Refusal(412, f"the name of a group may have {_GROUP_BYTES_MAX} characters at most")
    return await _set(call, _GROUP, group)


async def anti_affinity_delete(call: Call) -> web.Response:
    return await _set(call, _GROUP, None)


async def anti_affinity_members(call: Call) -> web.Response:
    """Namespaces of the group, of one tenant where the query names one."""
    if call.part("cluster") not in known(call):
        raise Refusal(412, f"Cluster {call.part('cluster')} does not exist.")
    group, tenant = call.part("group"), call.request.query.get("tenant")
    return json_answer(
        sorted(
            name
            for name, row in call.core.catalog.namespaces.items()
            if row.get(_GROUP) == group and (tenant is None or name.startswith(f"{tenant}/"))
        )
    )
