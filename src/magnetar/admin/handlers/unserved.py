"""What Pulsar has and a broker without it refuses with a reason of its own: functions and connectors."""

from __future__ import annotations

from aiohttp import web

from magnetar.admin.answers import Refusal
from magnetar.admin.call import Call

__all__ = ["no_functions"]


async def no_functions(call: Call) -> web.Response:
    raise Refusal(409, "Pulsar Function Worker is not enabled, probably functionsWorkerEnabled is set to false")
