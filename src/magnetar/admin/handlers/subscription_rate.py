"""The dispatch rate of one subscription, which is kept with its topic's policies, whether it exists or not."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from magnetar.admin.answers import json_answer, no_content
from magnetar.admin.call import Call
from magnetar.admin.handlers.policies import change_topic, policy_topic, value_of
from magnetar.core.policies.table import SUBSCRIPTION_POLICIES, policy

__all__ = ["delete", "get", "put"]

_RATE = "dispatchRate"
_ALL = policy("subscriptionDispatchRate")


async def get(call: Call) -> web.Response:
    name, _, row = await policy_topic(call)
    found = row.get("policies", {}).get(SUBSCRIPTION_POLICIES, {}).get(call.sub(), {}).get(_RATE)
    if found is None and call.flag("applied"):
        found = call.core.policies.topic_value(name, _ALL.name)
    return no_content() if found is None else json_answer(found)


async def put(call: Call) -> web.Response:
    await _change(call, await value_of(call, _ALL, False))
    return no_content()


async def delete(call: Call) -> web.Response:
    await _change(call, None)
    return no_content()


async def _change(call: Call, value: Any) -> None:
    sub = call.sub()

    def changed(before: Any) -> Any:
        kept = {name: each for name, each in (before or {}).items() if name != sub}
        if value is not None:
            kept[sub] = {_RATE: value}
        return kept or None

    await change_topic(call, policy(SUBSCRIPTION_POLICIES), changed)
