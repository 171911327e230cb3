"""A simulated client connection: it speaks frames, and writes into the book what they mean.

Requests are answered exactly once. What the peer says may lag: then it waits in ``outbox`` until it is delivered, and
is lost when the connection is. Answers and messages from the broker are looked at when they leave it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from magnetar.sim.book import Author, Holder, Violation
from magnetar.sim.consuming import active_changed, end_told, message_came
from magnetar.sim.publishing import TERMINATED, producer_closed, receipt_came, send_refused
from magnetar.wire.commands import decode_body, encode, pb
from magnetar.wire.frames import next_frame
from magnetar.wire.hot import split
from magnetar.wire.replies import PONG_FRAME

if TYPE_CHECKING:
    from magnetar.sim.world import World

__all__ = ["Peer"]

_FRAME_MAX = 1 << 24
_MESSAGE, _RECEIPT, _SEND_ERROR, _PING = 9, 7, 8, 18
_CLOSE_PRODUCER, _CLOSE_CONSUMER, _ACTIVE, _END = 15, 16, 31, 27

Answer = Callable[[Any], None]


class Peer:
    """See the module's text."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.number = world.peer_count
        world.peer_count += 1
        self.session = world.core.connect(f"/sim:{self.number}")
        self.ids = 0
        self.requests: dict[int, Answer] = {}
        self.consumers: dict[int, Holder] = {}
        self.opening: dict[int, str] = {}
        """Consumer ids whose SUBSCRIBE is not answered, with the name of the subscription."""
        self.told_active: dict[int, bool] = {}
        self.producers: dict[int, Author] = {}
        self.producing: dict[str, int] = {}
        """Names of authors whose producer is open here or being opened, with its id."""
        self.ready: dict[int, bool] = {}
        self.outbox: deque[tuple[bytes, Callable[[], None] | None]] = deque()
        self.lagging = False
        self.ghost = False
        self.slow = False
        self.may_be_closed = False
        self.broken = False
        world.peers.append(self)
        world.by_session[self.session.number] = self
        world.say(self, encode(pb.CommandConnect(client_version="sim", protocol_version=21)))

    # -- out ---------------------------------------------------------------------------------------------------------

    def say(self, data: bytes, before: Callable[[], None] | None = None) -> None:
        """Send bytes, now or when they are delivered."""
        if self.ghost:
            return
        if self.lagging or self.outbox:
            self.outbox.append((data, before))
        else:
            self.world.say(self, data, before)

    def deliver(self, count: int) -> None:
        """Some of what is on its way arrives."""
        while count > 0 and self.outbox and self in self.world.peers:
            count -= 1
            data, before = self.outbox.popleft()
            self.world.say(self, data, before)

    def ask(self, message: Any, answer: Answer, before: Callable[[], None] | None = None) -> None:
        """Send a request whose answer goes to ``answer``."""
        self.ids += 1
        message.request_id = self.ids
        self.requests[self.ids] = answer
        self.say(encode(message), before)

    def lost(self) -> None:
        """The connection is gone, and with it all that lived on it."""
        for holder in list(self.consumers.values()):
            holder.sub.gone(holder)
        self.consumers.clear()

    # -- in ----------------------------------------------------------------------------------------------------------

    def heard(self, data: bytes) -> None:
        """Frames have left the broker for this peer."""
        at, end = 0, len(data)
        while at < end:
            start, stop, after = next_frame(data, at, end, _FRAME_MAX)
            if after < 0:
                raise Violation("frames", "the broker wrote half a frame")
            kind, body, body_end = split(data, start, stop)
            message: Any = decode_body(kind, data, body, body_end)
            at = after
            if kind == _MESSAGE:
                message_came(self, message, data[stop:after])
            elif kind == _RECEIPT:
                receipt_came(self, message)
            elif kind == _PING:
                self.say(PONG_FRAME)
            elif kind == _CLOSE_CONSUMER:
                holder = self.consumers.pop(message.consumer_id, None)
                if holder is not None:
                    holder.sub.gone(holder)
            elif kind == _CLOSE_PRODUCER:
                producer_closed(self, message.producer_id)
            elif kind == _ACTIVE:
                active_changed(self, message.consumer_id, message.is_active)
            elif kind == _SEND_ERROR and message.error == TERMINATED:
                send_refused(self, message)
            elif kind == _SEND_ERROR:
                # As the official clients do: connect anew, and send again whatever has no receipt.
                self.broken = True
                self.world.broken.append(self)
            elif kind == _END:
                end_told(self, message.consumer_id)
            else:
                self._answered(message)

    def _answered(self, message: Any) -> None:
        if not hasattr(message, "request_id"):
            return  # CONNECTED, PONG
        answer = self.requests.pop(message.request_id, None)
        if answer is not None:
            answer(message)
        elif not self.may_be_closed:
            raise Violation("answers", f"peer {self.number} got an answer that it never asked for: {message}")
