"""Consumers of a load: connections that acknowledge what they receive, and the loop that turns their sockets."""

from __future__ import annotations

import select
import time
from collections import Counter
from dataclasses import dataclass

from bench import wire
from bench.publish import numbered
from bench.scan import Deliveries
from bench.session import RECEIVE_BYTES, BrokerError, Session, describe_error, flow_frame


@dataclass(frozen=True, slots=True)
class ConsumePlan:
    """What to consume and how; `queue` is the number of messages a consumer may hold unread."""

    address: str
    topic: str
    messages: int
    subscription: str = "bench"
    kind: str = "shared"
    batch: int = 1
    queue: int = 5000
    topics: int = 1
    connections: int = 1
    keys: int = 0
    hold: int = 0
    timeout_s: float = 60.0
    gate: bool = False
    verify_acks: bool = True


class Consumer:
    """One connection with a consumer on every topic; the consumers' ids differ between connections."""

    def __init__(self, plan: ConsumePlan, first_id: int) -> None:
        self._plan = plan
        self._session = session = Session(plan.address, plan.timeout_s)
        self._ids = range(first_id, first_id + plan.topics)
        for consumer_id, topic in zip(self._ids, numbered(plan.topic, plan.topics), strict=True):
            session.subscribe(topic, plan.subscription, plan.kind, consumer_id)
        session.sock.setblocking(False)
        self.fileno = session.sock.fileno()
        self.errors: list[str] = []
        self.barriers = 0
        self.deliveries = Deliveries(self._other, plan.batch, session.rest)
        self.held = bytearray()
        """Acknowledgements kept back."""
        self.holding = False
        self._out = bytearray()
        self._owed: Counter[int] = Counter()

    def _other(self, kind: int, command: bytes) -> None:
        if kind == wire.PING:
            self._out += wire.command(wire.PONG)
        elif kind == wire.GET_LAST_MESSAGE_ID_RESPONSE:
            self.barriers += 1
        elif kind == wire.ERROR:
            self.barriers += 1
            self.errors.append(describe_error(command))
        elif kind == wire.CLOSE_CONSUMER:
            self.errors.append("the broker closed the consumer")

    def first_permits(self) -> None:
        """Grant a full queue to every consumer."""
        for consumer_id in self._ids:
            self._out += flow_frame(consumer_id, self._plan.queue)

    def receive(self) -> int:
        """Take what has arrived, acknowledge it and renew the permits; return the number of entries."""
        received = self._session.sock.recv(RECEIVE_BYTES)
        if not received:
            self.errors.append("the broker closed the connection")
            return 0
        count = self.deliveries.feed(received)
        (self.held if self.holding else self._out).extend(self.deliveries.acks)
        self.deliveries.acks.clear()
        taken = self.deliveries.per_consumer
        if taken:
            self._owed.update(taken)
            taken.clear()
            for consumer_id, entries in self._owed.items():
                if entries * self._plan.batch * 2 >= self._plan.queue:
                    self._out += flow_frame(consumer_id, entries * self._plan.batch)
                    self._owed[consumer_id] = 0
        return count

    def send(self) -> bool:
        """Send what is pending; tell whether something is left."""
        if not self._out:
            return False
        try:
            sent = self._session.sock.send(self._out)
        except BlockingIOError:
            return True
        del self._out[:sent]
        return bool(self._out)

    def hold(self, entries: int, deadline: float) -> None:
        """Take the first entries while alone, and do not acknowledge them."""
        self.holding = True
        self._out += flow_frame(self._ids[0], entries * self._plan.batch)
        loop = Loop([self])
        loop.flush(self)
        while loop.entries < entries:
            if not loop.turn(deadline) or self.errors:
                raise BrokerError(f"{loop.entries} of {entries} entries to be held were delivered")
        self._owed.clear()
        self._out.clear()
        self.holding = False

    def release(self) -> None:
        """Acknowledge what was held."""
        self._session.sock.setblocking(True)
        self._session.sock.sendall(self.held)

    def ask_barrier(self) -> None:
        """Ask what is answered only after the acknowledgements before it were read."""
        request = wire.field(1, self._ids[0]) + wire.field(2, self._session.next_request())
        self._out += wire.command(wire.GET_LAST_MESSAGE_ID, request)

    def close(self) -> None:
        """Drop the connection."""
        self._session.close()


class Loop:
    """Turns the consumers' sockets until enough has arrived."""

    def __init__(self, consumers: list[Consumer]) -> None:
        self._consumers = {consumer.fileno: consumer for consumer in consumers}
        self._poll = select.poll()
        self._waiting = dict.fromkeys(self._consumers, False)
        self.entries = 0
        self.last_delivery = 0.0
        for fileno in self._consumers:
            self._poll.register(fileno, select.POLLIN)

    def flush(self, consumer: Consumer) -> None:
        """Send what is pending and watch for room where it was not taken whole."""
        waiting = consumer.send()
        if waiting != self._waiting[consumer.fileno]:
            self._waiting[consumer.fileno] = waiting
            self._poll.modify(consumer.fileno, select.POLLIN | (select.POLLOUT if waiting else 0))

    def turn(self, deadline: float) -> bool:
        """Wait for the next event and serve it; tell whether there was one before the deadline."""
        left = deadline - time.monotonic()
        ready = self._poll.poll(left * 1e3) if left > 0 else []
        for fileno, event in ready:
            consumer = self._consumers[fileno]
            if event & ~select.POLLOUT:
                count = consumer.receive()
                self.entries += count
                self.last_delivery = time.monotonic() if count else self.last_delivery
            self.flush(consumer)
        return bool(ready)

    @property
    def errors(self) -> list[str]:
        """Return what the consumers met."""
        return [error for consumer in self._consumers.values() for error in consumer.errors]

    @property
    def pending(self) -> bool:
        """Tell whether something is still to be sent."""
        return any(self._waiting.values())
