"""The aiohttp application, made of the table of routes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from magnetar.admin.answers import Refusal, reason_answer
from magnetar.admin.call import Admin, Call, Handler
from magnetar.admin.routes import ROUTES
from magnetar.errors import MagnetarError

__all__ = ["BODY_BYTES_MAX", "make_app"]

BODY_BYTES_MAX = 1 << 20
"""The largest request body that is read; every body of the admin interface is far smaller."""

_REASONS = {
    404: "There is nothing at this path",
    405: "This path does not take this method",
    413: f"The body is larger than {BODY_BYTES_MAX} bytes",
}

_log = logging.getLogger(__name__)


def make_app(admin: Admin) -> web.Application:
    """An application that answers every route of the table, and everything else with a JSON reason."""
    app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[_faults])
    for route in ROUTES:
        app.router.add_route(route.method, route.path, _bind(route.handler, admin))
    return app


def _bind(handler: Handler, admin: Admin) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        return await handler(Call(request, admin))

    return answer


@web.middleware
async def _faults(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turn what a handler raises into an answer."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return reason_answer(refusal.status, refusal.reason)
    except MagnetarError as error:
        return reason_answer(error.status, str(error))
    except web.HTTPException as error:
        return reason_answer(error.status, _REASONS.get(error.status, error.reason))
    except OSError:
        raise  # the peer has gone; nobody is left to answer
    except Exception:  # noqa: BLE001 - it is logged, and the caller gets an answer
        _log.exception("%s %s failed", request.method, request.rel_url.raw_path)
    return reason_answer(500, "the broker failed to answer this; its log says more")
