"""The metrics page, for Prometheus and everything that reads its text."""

from __future__ import annotations

from collections.abc import Iterator

from aiohttp import web

from magnetar.admin.call import Call
from magnetar.admin.metric_clients import Levels
from magnetar.admin.metrics import render

__all__ = ["page"]

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def page(call: Call) -> web.StreamResponse:
    """Written in slices: between two of them the loop does everything else there is to do."""
    settings = call.settings
    levels = Levels(
        settings.exposeTopicLevelMetricsInPrometheus,
        settings.exposeConsumerLevelMetricsInPrometheus,
        settings.exposeProducerLevelMetricsInPrometheus,
    )
    # From the first page on, so that a broker whose metrics nobody reads counts nothing for them.
    call.core.meter.on = True

    def make() -> Iterator[bytes]:
        return render(call.core, call.rates, call.bridge.pump.log.stats(), levels)

    response = web.StreamResponse(headers={"Content-Type": _TYPE})
    await response.prepare(call.request)
    await call.scrapes.serve(call.request, response, make)
    await response.write_eof()
    return response
