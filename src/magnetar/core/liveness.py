"""Is the peer still there?

Two questions, two answers. ``KeepAlive`` asks everybody who has been silent for a keep-alive interval, and lets go of
whoever says nothing for another. ``probe`` asks one connection now, because somebody else wants what it holds.

Silence means something only if the broker listened. A connection that the shell does not read for reasons of its own
is ``unheard``, and counts as alive; and after the whole process stood still, everybody's silence begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.wire.replies import PING_FRAME

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["KeepAlive", "heard", "probe"]

_SECOND_MS = 1_000


class KeepAlive:
    """Looks at all connections once a second."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self.due_ms: int = 0

    def start(self) -> None:
        self.due_ms = self.broker.now_ms + _SECOND_MS
        self.broker.timers.at(self.due_ms, self._round)

    def _round(self) -> None:
        now = self.broker.now_ms
        late = now - self.due_ms
        self.start()
        for session in list(self.broker.sessions.values()):
            if late > _SECOND_MS:
                session.seen_ms += late
            elif session.unheard:
                session.seen_ms = now
            else:
                self._look(session, now)

    def _look(self, session: Session, now: int) -> None:
        """Silent for one interval: PING. For two: gone. The handshake has one interval in all."""
        interval = self.broker.options.keep_alive_ms
        if not session.connected and now - session.connected_ms >= interval:
            self.broker.lost(session, "no handshake within a keep-alive interval")
            return
        silent = now - session.seen_ms
        if silent >= 2 * interval:
            self.broker.lost(session, "no sign of life for two keep-alive intervals")
        elif silent >= interval and session.pinged_ms < session.seen_ms + interval:
            session.pinged_ms = now
            session.push(PING_FRAME)


def probe(session: Session, answer: Callable[[bool], None]) -> None:
    """Find out whether the peer is there: ``answer`` hears True with its next sign of life, else False."""
    if session.closed or session.closing:
        answer(False)
        return
    session.probes.append(answer)
    if session.probe_timer is None:
        session.push(PING_FRAME)
        broker = session.broker
        due = broker.now_ms + broker.options.liveness_probe_ms
        session.probe_timer = broker.timers.at(due, _Silent(session))


class _Silent:
    """Nothing was heard in time."""

    def __init__(self, session: Session) -> None:
        self.session: Session = session

    def __call__(self) -> None:
        session = self.session
        session.probe_timer = None
        if session.unheard:
            heard(session, True)
        else:
            session.broker.lost(session, "it did not answer a liveness probe")


def heard(session: Session, alive: bool) -> None:
    """Tell those who asked."""
    if session.probe_timer is not None:
        session.probe_timer.cancel()
        session.probe_timer = None
    probes = session.probes
    session.probes = []
    for answer in probes:
        answer(alive)
