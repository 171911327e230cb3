"""Settings that change while the broker runs. Values are text here, as they are in broker.conf."""

from __future__ import annotations

from aiohttp import web

from magnetar.admin.answers import json_answer, no_content
from magnetar.admin.call import Call
from magnetar.core.catalog import SETTINGS, Row
from magnetar.server.dynamic import DYNAMIC

__all__ = ["delete", "names", "runtime", "update", "values"]


async def names(call: Call) -> web.Response:
    return json_answer(DYNAMIC)


async def values(call: Call) -> web.Response:
    return json_answer(call.dynamic.changed())


async def runtime(call: Call) -> web.Response:
    return json_answer(call.dynamic.runtime())


async def update(call: Call) -> web.Response:
    """In force, and stored for the next start, when this is answered."""
    name, text = call.part("name"), call.part("value")
    call.dynamic.check(name, text)
    await _store(call, name, {"value": text})
    return no_content()


async def delete(call: Call) -> web.Response:
    """Back to what the broker was started with."""
    name = call.part("name")
    call.dynamic.check(name, None)
    if name in call.dynamic.changed():
        await _store(call, name, None)
    return no_content()


async def _store(call: Call, name: str, value: Row | None) -> None:
    await call.bridge.meta(SETTINGS + name, value, False)
    call.bridge.pump.run(call.dynamic.apply)
