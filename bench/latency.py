"""Publish at a steady rate and note how long each receipt takes, one message at a time, never waiting for the last.

A message is sent when its time has come whether or not earlier ones are answered, so a stall of the broker shows in
every message that was due during it. How late the load itself was is reported beside the latencies.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass

from bench import wire
from bench.frames import Load, prepare
from bench.gate import Report, Stopwatch, wait_for_go
from bench.proof import receipt_errors
from bench.scan import Receipts
from bench.session import RECEIVE_BYTES, Session, describe_error
from bench.stats import percentile


@dataclass(frozen=True, slots=True)
class LatencyPlan:
    """How many messages a second, for how long."""

    address: str
    topic: str
    rate: int = 2000
    duration_s: float = 5.0
    size: int = 100
    timeout_s: float = 60.0
    gate: bool = False


def run_latency(plan: LatencyPlan) -> Report:
    """Publish at the rate of the plan and report the percentiles of the time to the receipt."""
    count = int(plan.rate * plan.duration_s)
    prepared = prepare(Load(count, size=plan.size))
    errors: list[str] = []

    def other(kind: int, command: bytes) -> None:
        if kind == wire.PING:
            session.sock.sendall(wire.command(wire.PONG))
        elif kind in (wire.SEND_ERROR, wire.ERROR):
            errors.append(describe_error(command))

    session = Session(plan.address, plan.timeout_s)
    session.open_producer(plan.topic, 1, "bench-0000")
    receipts = Receipts(other, session.rest)
    sent: list[float] = []
    answered: list[float] = []
    lateness: list[float] = []
    wait_for_go(plan.gate)
    watch = Stopwatch()
    deadline = watch.started + plan.duration_s + plan.timeout_s
    while len(answered) < count and not errors:
        now = time.monotonic()
        due = watch.started + len(sent) / plan.rate if len(sent) < count else deadline
        if now >= due:
            if len(sent) == count:
                errors.append(f"time limit reached with {len(answered)} of {count} receipts")
                break
            at = len(sent) * prepared.stride
            lateness.append(now - due)
            sent.append(now)
            session.sock.sendall(prepared.data[at : at + prepared.stride])
        elif select.select([session.sock], [], [], due - now)[0]:
            received = session.sock.recv(RECEIVE_BYTES)
            if not received:
                errors.append("the broker closed the connection")
            arrived = time.monotonic()
            answered += [arrived] * receipts.feed(received)
    watch.stop()
    errors += [] if errors else receipt_errors(bytes(receipts.tape), prepared.receipts)
    session.close()
    times = [after - before for before, after in zip(sent, answered, strict=False)]
    report: dict[str, object] = {"op": "latency", "messages": len(answered), "seconds": watch.seconds}
    report |= {"rate": len(answered) / watch.seconds, "cpu_s": watch.cpu_s, "errors": errors}
    report |= {"started": watch.started, "finished": watch.finished}
    if times:
        report |= {f"p{text}_ms": percentile(times, float(f"0.{text}")) * 1e3 for text in ("50", "99", "999")}
        report |= {"max_ms": max(times) * 1e3, "late_p99_ms": percentile(lateness, 0.99) * 1e3}
    return report
