"""The metrics page, for Prometheus and everything that reads its text."""

from __future__ import annotations

import asyncio

from aiohttp import web

from magnetar.admin.call import Call
from magnetar.admin.metrics import render

__all__ = ["page"]

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def page(call: Call) -> web.StreamResponse:
    """Written in slices: between two of them the loop does everything else there is to do."""
    response = web.StreamResponse(headers={"Content-Type": _TYPE})
    await response.prepare(call.request)
    for part in render(call.core, call.rates, call.bridge.pump.log.stats()):
        await response.write(part)
        await asyncio.sleep(0)
    await response.write_eof()
    return response
