"""Consume and acknowledge over one or many connections, in one thread.

Every entry is acknowledged by a frame of its own, as a client that acknowledges one by one without grouping does; the
acknowledgements of one read leave in one write. The clock stops when the broker has answered a question asked after
the last acknowledgement, so what is measured includes taking all of them. Afterwards, off the clock, the tapes are
judged and the subscription is opened again: whatever is delivered then was acknowledged in vain.

With `hold`, the first consumer takes that many entries while it is alone, before the clock starts, and acknowledges
them when it has stopped: in a Key_Shared subscription their keys drain all the while.
"""

from __future__ import annotations

import time

from bench import wire
from bench.consumers import ConsumePlan, Consumer, Loop
from bench.gate import Report, Stopwatch, wait_for_go
from bench.proof import check_deliveries
from bench.publish import numbered
from bench.scan import Deliveries
from bench.session import RECEIVE_BYTES, BrokerError, Session, flow_frame

CONSUMERS_MAX = 126
BARRIER_TIMEOUT_S = 5.0
REDELIVERY_WAIT_S = 0.25


def run_consume(plan: ConsumePlan) -> Report:
    """Consume the whole plan and report rate, own CPU, and what was missing, twice or delivered again."""
    if plan.topics * plan.connections > CONSUMERS_MAX:
        raise ValueError(f"at most {CONSUMERS_MAX} consumers in one process")
    consumers = [Consumer(plan, 1)]
    if plan.hold:
        consumers[0].hold(plan.hold, time.monotonic() + plan.timeout_s)
    consumers += [Consumer(plan, 1 + number * plan.topics) for number in range(1, plan.connections)]
    expected = plan.messages // plan.batch
    loop = Loop(consumers)
    wait_for_go(plan.gate)
    watch = Stopwatch()
    notes: list[str] = []
    try:
        problem = _take_all(loop, consumers, expected - plan.hold, plan.timeout_s)
        if not problem:
            notes = _barrier(loop, consumers)
    except (OSError, wire.BadFrameError) as error:
        problem = f"connection lost: {error}"
    watch.stop()
    consumers[0].release()
    errors = [problem] if problem else []
    errors += loop.errors[:3]
    tapes = [bytes(consumer.deliveries.tape) for consumer in consumers]
    received = check_deliveries(tapes, expected, plan.batch, plan.keys, plan.hold)
    errors += received.errors()
    wrong = sum(consumer.deliveries.wrong_checksums for consumer in consumers)
    errors += [f"{wrong} checksums wrong"] if wrong else []
    if any(consumer.deliveries.absent_checksums for consumer in consumers):
        notes.append("delivered without checksums")
    for consumer in consumers:
        consumer.close()
    if plan.verify_acks and not problem:
        errors += _redelivered(plan)
    messages = loop.entries * plan.batch
    return {
        "op": "consume",
        "messages": messages,
        "seconds": watch.seconds,
        "rate": messages / watch.seconds,
        "cpu_s": watch.cpu_s,
        "started": watch.started,
        "finished": watch.finished,
        "errors": errors,
        "notes": notes,
    }


def _take_all(loop: Loop, consumers: list[Consumer], expected: int, limit_s: float) -> str:
    deadline = time.monotonic() + limit_s
    for consumer in consumers:
        consumer.first_permits()
        loop.flush(consumer)
    loop.last_delivery = time.monotonic()
    while loop.entries < expected:
        if loop.errors:
            return "stopped by an error"
        if not loop.turn(deadline):
            silent = deadline - loop.last_delivery
            limit = f"no answer in {limit_s:g} s"
            return f"{limit}: {loop.entries} of {expected} entries delivered, the last {silent:.1f} s before the end"
    return ""


def _barrier(loop: Loop, consumers: list[Consumer]) -> list[str]:
    deadline = time.monotonic() + BARRIER_TIMEOUT_S
    for consumer in consumers:
        consumer.ask_barrier()
        loop.flush(consumer)
    while any(consumer.barriers == 0 for consumer in consumers) or loop.pending:
        if not loop.turn(deadline):
            return [f"the question after the last acknowledgement had no answer in {BARRIER_TIMEOUT_S:g} s"]
    return []


def _redelivered(plan: ConsumePlan) -> list[str]:
    """Open the subscription again and count what comes although it was acknowledged."""
    again = Deliveries(lambda _kind, _command: None, plan.batch)
    try:
        with Session(plan.address, REDELIVERY_WAIT_S * 20) as session:
            for consumer_id, topic in enumerate(numbered(plan.topic, plan.topics), 1):
                session.subscribe(topic, plan.subscription, plan.kind, consumer_id)
                session.sock.sendall(flow_frame(consumer_id, plan.queue))
            again.feed(session.rest)
            session.sock.settimeout(REDELIVERY_WAIT_S)
            while received := session.sock.recv(RECEIVE_BYTES):
                again.feed(received)
    except TimeoutError:
        pass
    except (BrokerError, OSError) as error:
        return [f"could not open the subscription again: {error}"]
    return [f"{again.entries} acknowledged entries were delivered again"] if again.entries else []
