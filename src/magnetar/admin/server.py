"""The HTTP server in the broker's loop."""

from __future__ import annotations

import socket

from aiohttp import web

from magnetar.admin.app import make_app
from magnetar.admin.bridge import Bridge
from magnetar.admin.call import Admin
from magnetar.admin.rates import Sampler
from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone

__all__ = ["AdminServer"]

_STOP_WAIT_S = 1.0
"""How long requests under way may take to end when the broker stops."""


class AdminServer:
    """``start`` returns when requests are answered; ``stop`` before the broker itself is stopped."""

    def __init__(self, broker: Standalone, settings: Settings) -> None:
        self.sampler = Sampler(broker.core, settings.statsUpdateFrequencyInSecs)
        self._runner = web.AppRunner(
            make_app(Admin(Bridge(broker.pump), self.sampler, settings, broker.dynamic)),
            access_log=None,
            handle_signals=False,
            shutdown_timeout=_STOP_WAIT_S,
        )

    async def start(self, listener: socket.socket) -> None:
        """Serve on a socket that listens already."""
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()
        self.sampler.start()

    async def stop(self) -> None:
        await self.sampler.stop()
        await self._runner.cleanup()
