"""A client's socket: bytes into its session, frames out of it.

All connections receive into one shared buffer, because an idle connection must not own any: the loop fills it and hands
it over within one callback. What is left of an unfinished frame is kept apart until all of it has arrived.

Backpressure has five steps. Above ``max_pending_publishes`` unanswered publishes the socket is not read until half of
them are answered. A producer that is ahead of its topic's publish rate has its socket not read until the rate allows
more. When the peer reads too slowly, its consumers are passed over (``pause_writing``). When one turn's
answers fill the session's out-buffer, its next requests wait for the next turn. When answers pile up beyond
``UNREAD_BYTES_MAX``, the socket is not read either.

A peer that is not read cannot give a sign of life, so as long as that is the broker's doing, or it takes what waits for
it, it counts as alive.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, cast

from magnetar.core.session import Session

if TYPE_CHECKING:
    from magnetar.server.pump import Pump

__all__ = ["UNREAD_BYTES_MAX", "Connection"]

UNREAD_BYTES_MAX = 16 << 20
WRITE_HIGH_BYTES = 1 << 20
LINGER_S = 5.0
"""How long a connection that is hung up on may take to read what was written to it before."""

_log = logging.getLogger(__name__)


class Connection(asyncio.BufferedProtocol):
    """One per socket."""

    def __init__(self, pump: Pump) -> None:
        self.pump = pump
        self.session: Session | None = None
        self.transport: asyncio.Transport | None = None
        self.parts: list[bytes] = []
        self.have = 0
        self.need = 0
        self.reading = True
        self.again = False
        """Whole frames are among the parts; the session takes them when there is room for their answers."""
        self.unsent = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = transport.get_extra_info("peername")
        address = f"/{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "/local"
        self.session = self.pump.opened(self, address)

    def connection_lost(self, exc: Exception | None) -> None:
        self.parts = []
        if self.session is not None:
            self.pump.lost(self.session)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.pump.view

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self.pump.view[:nbytes])
        session = self.session
        if session is None or session.closed or session.closing:
            return
        if self.parts:
            self.parts.append(data)
            self.have += nbytes
            if self.have < self.need:
                return
            data = b"".join(self.parts)
            self.parts = []
        self._take(session, data)

    def _take(self, session: Session, data: bytes) -> None:
        """Give the session what has arrived, and keep what it leaves."""
        pump = self.pump
        pump.now()
        try:
            used = session.receive(data)
        except Exception:  # noqa: BLE001 - a bug must cost one connection, not the broker
            _log.exception("connection %s: a frame could not be handled; closing it", session.address)
            session.close("internal error")
            used = len(data)
        if used < len(data):
            rest = data[used:]
            self.parts = [rest]
            self.have = len(rest)
            self.need = 4 + int.from_bytes(rest[:4], "big") if len(rest) >= 4 else 4
            if session.full():
                self.again = True
                self.stop_reading()
        if session.pending >= pump.core.options.max_pending_publishes or session.held_until_ms > pump.core.now_ms:
            session.unheard = True
            self.stop_reading()
        pump.schedule()

    def eof_received(self) -> bool:
        return False

    # -- backpressure ------------------------------------------------------------------------------------------------

    def stop_reading(self) -> None:
        """Leave what the peer sends in its socket for now."""
        if self.reading and self.transport is not None and not self.transport.is_closing():
            self.reading = False
            self.transport.pause_reading()
            self.pump.stopped.append(self)

    def may_read(self) -> bool:
        """Read again if the reasons not to are gone; whether it does now."""
        session, transport, core = self.session, self.transport, self.pump.core
        if session is None or transport is None or session.closed or transport.is_closing():
            return True
        if session.pending * 2 > core.options.max_pending_publishes or session.held_until_ms > core.now_ms:
            return False
        if session.unheard:
            session.unheard = False
            session.seen_ms = core.now_ms
        unsent = transport.get_write_buffer_size()
        if unsent < self.unsent:
            session.seen_ms = core.now_ms
        self.unsent = unsent
        if unsent > UNREAD_BYTES_MAX // 2 or session.full() or self.pump.stopping:
            return False
        self.reading = True
        self.unsent = 0
        transport.resume_reading()
        if self.again:
            self.again = False
            data = b"".join(self.parts)
            self.parts = []
            self._take(session, data)
        return True

    def pause_writing(self) -> None:
        if self.session is not None:
            self.session.pause()

    def resume_writing(self) -> None:
        if self.session is not None:
            self.pump.now()
            self.session.resume()
            self.pump.schedule()

    def flush(self) -> None:
        """Write what the session has collected in this turn."""
        session, transport = self.session, self.transport
        if session is None or transport is None:
            return
        out = session.take_out()
        if out and not transport.is_closing():
            transport.write(b"".join(out))
            if transport.get_write_buffer_size() > UNREAD_BYTES_MAX:
                self.stop_reading()

    def hang_up(self) -> None:
        """Close, once the peer has what was written; a peer that is gone or does not read is not waited for."""
        session, transport = self.session, self.transport
        if transport is None:
            return
        if session is None or session.closed:
            transport.abort()
            return
        transport.close()
        if transport.get_write_buffer_size():
            self.pump.loop.call_later(LINGER_S, transport.abort)
