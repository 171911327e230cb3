"""The load as a command: ``python -m bench.load publish|consume|both|latency|subscribe HOST:PORT``.

It loads any broker that speaks Pulsar's protocol and prints one JSON line. With ``--gate`` it first prepares
everything, prints ``{"ready": true}`` and waits for a line on standard input, so that several loads start together.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time

from bench import wire
from bench.consume import run_consume
from bench.consumers import ConsumePlan
from bench.gate import Report, write_line
from bench.latency import LatencyPlan, run_latency
from bench.publish import PublishPlan, numbered, run_publish
from bench.runner import LoadProcess, together
from bench.session import BrokerError, Session

OPERATIONS = ("publish", "consume", "both", "latency", "subscribe")


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    out = argparse.ArgumentParser(prog="python -m bench.load", description=(__doc__ or "").partition("\n")[0])
    out.add_argument("operation", choices=OPERATIONS)
    out.add_argument("address", metavar="HOST:PORT")
    out.add_argument("--topic", default=f"bench-{time.time_ns()}", help="a new one unless named")
    out.add_argument("--n", type=int, default=100_000, help="messages in all")
    out.add_argument("--size", type=int, default=100, help="bytes of a message")
    out.add_argument("--batch", type=int, default=1, help="messages in an entry")
    out.add_argument("--window", type=int, default=2000, help="entries sent and not yet answered")
    out.add_argument("--topics", type=int, default=1)
    out.add_argument("--connections", type=int, default=1)
    out.add_argument("--keys", type=int, default=0, help="distinct keys; 0 sends none")
    out.add_argument(
        "--hold", type=int, default=0, help="first messages, each of a key of its own, that one consumer holds"
    )
    out.add_argument("--subscription", default="bench")
    out.add_argument("--type", dest="kind", choices=tuple(wire.SUBSCRIPTION_TYPES), default="shared")
    out.add_argument("--queue", type=int, default=5000, help="messages a consumer may hold unread")
    out.add_argument("--rate", type=int, default=2000, help="messages a second, for latency")
    out.add_argument("--seconds", type=float, default=5.0, help="for latency")
    out.add_argument("--timeout", type=float, default=60.0, help="seconds before an operation is given up")
    out.add_argument("--no-verify-acks", action="store_true", help="do not open the subscription again at the end")
    out.add_argument("--gate", action="store_true", help="wait for a line on standard input before starting")
    return out


def main(arguments: list[str] | None = None) -> int:
    """Run one operation; the exit code is 1 where something was lost, refused or not answered."""
    options = parser().parse_args(arguments)
    try:
        report = run(options)
    except (BrokerError, ValueError) as error:
        report = {"op": options.operation, "messages": 0, "errors": [str(error)]}
    write_line(report)
    return 1 if report["errors"] else 0


def run(options: argparse.Namespace) -> Report:
    """Run the operation that the options name."""
    match options.operation:
        case "publish":
            return run_publish(publish_plan(options))
        case "consume":
            return run_consume(consume_plan(options))
        case "latency":
            rate, seconds = options.rate, options.seconds
            plan = LatencyPlan(
                options.address, options.topic, rate, seconds, options.size, options.timeout, options.gate
            )
            return run_latency(plan)
        case "subscribe":
            return subscribe(options)
    return both(options)


def publish_plan(options: argparse.Namespace) -> PublishPlan:
    """Return the plan of a publish."""
    return PublishPlan(
        address=options.address,
        topic=options.topic,
        messages=options.n,
        size=options.size,
        batch=options.batch,
        window=options.window,
        topics=options.topics,
        connections=options.connections,
        keys=options.keys,
        hold=options.hold,
        timeout_s=options.timeout,
        gate=options.gate,
    )


def consume_plan(options: argparse.Namespace) -> ConsumePlan:
    """Return the plan of a consume; the order within keys is promised by Key_Shared alone."""
    return ConsumePlan(
        address=options.address,
        topic=options.topic,
        messages=options.n,
        subscription=options.subscription,
        kind=options.kind,
        batch=options.batch,
        queue=options.queue,
        topics=options.topics,
        connections=options.connections,
        keys=options.keys if options.kind == "key_shared" else 0,
        hold=options.hold,
        timeout_s=options.timeout,
        gate=options.gate,
        verify_acks=not options.no_verify_acks,
    )


def subscribe(options: argparse.Namespace) -> Report:
    """Create the subscriptions that a later consume reads, so that what is published meanwhile is kept for them."""
    with Session(options.address, options.timeout) as session:
        for number, topic in enumerate(numbered(options.topic, options.topics), 1):
            session.subscribe(topic, options.subscription, options.kind, number)
    return {"op": "subscribe", "messages": 0, "errors": []}


def both(options: argparse.Namespace) -> Report:
    """Publish and consume at once, each in a process of its own."""
    shared = ["--topic", options.topic, "--n", options.n, "--batch", options.batch, "--topics", options.topics]
    shared += ["--timeout", options.timeout, "--keys", options.keys]
    consume = [*shared, "--type", options.kind, "--queue", options.queue, "--connections", options.connections]
    publish = [*shared, "--size", options.size, "--window", options.window]
    loads = [
        LoadProcess("consume", options.address, [*consume, "--subscription", options.subscription], options.timeout),
        LoadProcess("publish", options.address, publish, options.timeout),
    ]
    return together(loads)


if __name__ == "__main__":
    gc.disable()  # a pause of the load's own would show as a latency of the broker
    sys.exit(main())
