"""Publish rates: a producer that is ahead of its topic's rate is not read, so that it waits where it is.

A connection with such a producer is ``metered``. What arrives on it is looked through before it is handled: as far as
the rates allow it is taken, the rest stays where it is, in order, and the connection is not read until the rate allows
more (``held_until_ms``). What is not a SEND, and stands before the first SEND that has to wait, is handled at once.
Connections without such a producer pay one test a read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from magnetar.wire.frames import next_frame
from magnetar.wire.hot import decode_send, split

if TYPE_CHECKING:
    from magnetar.core.producer import Producer
    from magnetar.core.sending import SendBatch
    from magnetar.core.session import Session
    from magnetar.core.throttle import Throttle
    from magnetar.core.topic import Topic

__all__ = ["admitted", "charge", "meter"]

_SEND: Final = 6


def meter(topic: Topic) -> None:
    """Connections with producers of the topic are metered from now on, if it has a rate."""
    if topic.limits.publish is not None:
        for producer in topic.producers.values():
            producer.session.metered = True
    for producer in topic.producers.values():
        # Whoever waits for the former rate looks again.
        producer.session.held_until_ms = 0


def charge(topic: Topic, producer: Producer, batch: SendBatch) -> None:
    """A batch is taken, and counts."""
    throttle = topic.limits.publish
    if throttle is None:
        return
    producer.session.metered = True
    # The buckets are brought up to the present before anything is taken out of them.
    throttle.ready_ms(topic.broker.now_ms)
    messages = 0
    for count in batch.counts:
        messages += count & 0xFFFFF
    throttle.take(messages, batch.size_bytes)


def admitted(session: Session, data: bytes) -> bytes:
    """As much of the data as may be handled now; when that is not all, the session is held."""
    now = session.broker.now_ms
    session.held_until_ms = 0
    throttles: dict[int, Throttle] = {}
    passed: dict[Throttle, list[int]] = {}
    for ident, producer in session.producers.items():
        throttle = producer.topic.limits.publish
        if throttle is not None:
            throttles[ident] = throttle
            passed[throttle] = [0, 0]
    if not throttles:
        session.metered = False
        return data
    at, end = 0, len(data)
    while True:
        command, payload, after = next_frame(data, at, end, session.entry_limit)
        if after < 0:
            return data
        kind, start, stop = split(data, command, payload)
        if kind == _SEND:
            ident, _, count, _, _ = decode_send(data, start, stop)
            throttle = throttles.get(ident)
            if throttle is not None:
                sent = passed[throttle]
                if throttle.messages_left(now) <= sent[0] or throttle.bytes_left(now) <= sent[1]:
                    _hold(session, throttle, throttle.ready_ms(now, sent[0], sent[1]))
                    return data[:at]
                sent[0] += max(count, 1)
                sent[1] += after - payload
        at = after


def _hold(session: Session, throttle: Throttle, until_ms: int) -> None:
    """Do not read the connection until the rate allows more; the timer brings about the turn in which it is read."""
    throttle.limited += 1
    session.held_until_ms = max(until_ms, session.broker.now_ms + 1)
    session.broker.timers.at(session.held_until_ms, _look_again)


def _look_again() -> None:
    """Connections that were not read are looked at in every turn."""
