"""Starting the HTTP side behind the broker's back, so that the first client need not wait for it.

The socket listens before anything of it is loaded: whoever connects early waits in the kernel's queue, and the port is
known when the broker says where it listens. The web framework is imported in a thread, because that takes longer than
the whole start of the broker.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from magnetar.server.settings import Settings
from magnetar.server.standalone import Standalone

if TYPE_CHECKING:
    from magnetar.admin.server import AdminServer

__all__ = ["start_admin"]


async def start_admin(broker: Standalone, settings: Settings, listener: socket.socket) -> Callable[[], Awaitable[None]]:
    """Serve HTTP for ``broker`` on ``listener``; what is returned stops it again."""
    server = (await asyncio.to_thread(_load))(broker, settings)
    await server.start(listener)
    return server.stop


def _load() -> type[AdminServer]:
    from magnetar.admin.server import AdminServer

    return AdminServer
