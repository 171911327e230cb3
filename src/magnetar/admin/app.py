"""The aiohttp application, made of the table of routes."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from urllib.parse import unquote_to_bytes

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

_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

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


def _is_text(path: str) -> bool:
    """Whether the path can be decoded. Two paths that cannot would come out as the same name as one that can."""
    if _NO_ESCAPE.search(path):
        return False
    try:
        unquote_to_bytes(path).decode()
    except UnicodeError:
        return False
    return True


@web.middleware
async def _faults(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turn what a handler raises into an answer."""
    if not _is_text(request.rel_url.raw_path):
        return reason_answer(400, "The path is not UTF-8 in percent-encoding")
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
