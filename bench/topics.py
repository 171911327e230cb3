"""Open very many topics with one subscription each over a single connection."""

from __future__ import annotations

import time

from bench import wire
from bench.session import RECEIVE_BYTES, BrokerError, Session, describe_error, subscribe_frame, topic_name, whole_bytes

BLOCK_TOPICS = 50


def open_topics(session: Session, topic: str, count: int, timeout_s: float) -> float:
    """Look up and subscribe to `count` numbered topics, some at a time, and return the seconds that took."""
    started = time.monotonic()
    deadline = started + timeout_s
    for first in range(0, count, BLOCK_TOPICS):
        block = range(first, min(count, first + BLOCK_TOPICS))
        frames: list[bytes] = []
        for number in block:
            name = f"{topic}-{number}"
            full = wire.field(1, topic_name(name))
            frames.append(wire.command(wire.PARTITIONED_METADATA, full, wire.field(2, session.next_request())))
            frames.append(wire.command(wire.LOOKUP, full, wire.field(2, session.next_request()), wire.field(3, 0)))
            frames.append(subscribe_frame(name, "bench", "shared", number + 1, session.next_request()))
        session.sock.sendall(b"".join(frames))
        _await(session, len(block), deadline, first)
    return time.monotonic() - started


def _await(session: Session, wanted: int, deadline: float, done: int) -> None:
    while wanted > 0:
        left = deadline - time.monotonic()
        if left <= 0:
            raise BrokerError(f"time limit reached with {done} topics open")
        session.sock.settimeout(left)
        try:
            received = session.sock.recv(RECEIVE_BYTES)
        except TimeoutError as error:
            raise BrokerError(f"time limit reached with {done} topics open") from error
        if not received:
            raise BrokerError(f"the broker closed the connection with {done} topics open")
        data = session.rest + received
        for found in wire.cut(data):
            if found.kind == wire.ERROR:
                raise BrokerError(describe_error(data[found.command : found.payload]))
            if found.kind == wire.PING:
                session.sock.sendall(wire.command(wire.PONG))
            wanted -= found.kind == wire.SUCCESS
        session.rest = data[whole_bytes(data) :]
