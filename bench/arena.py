"""Where the contenders meet: fresh brokers for every row, alternating runs, medians, and what each message cost.

Machines drift while a bench runs, so the contenders take turns (ours, rival, ours, rival) and a ratio compares medians
of runs that lie next to each other in time. While one is loaded the others idle. A contender that fails to answer in
one run is not asked again in the same row: every operation has a time limit, and the table says what was missing.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.brokers import Broker
from bench.runner import LoadProcess, Reply, together
from bench.session import BrokerError, Session
from bench.stats import NO_TARGET, spread

WARM_UP_MESSAGES = 5000


def say(text: str) -> None:
    """Tell on standard error what goes on; the table alone goes to standard output."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class Sample:
    """One run against one broker; a run with errors has no rate that counts."""

    rate: float
    messages: int
    seconds: float
    load_us: float
    broker_us: float | None
    errors: list[str]
    notes: list[str]
    parts: Reply


@dataclass
class Contender:
    """A broker and the samples of the row at hand."""

    broker: Broker
    samples: list[Sample] = field(default_factory=list)
    failure: str = ""

    @property
    def good(self) -> list[Sample]:
        """Return the runs in which nothing was lost, doubled or refused."""
        return [sample for sample in self.samples if not sample.errors]

    def rate(self) -> float | None:
        """Return the median rate, or None where no run came through."""
        return median(sample.rate for sample in self.good) if self.good else None

    def broker_us(self) -> float | None:
        """Return the median of the broker's CPU microseconds a message."""
        values = [sample.broker_us for sample in self.good if sample.broker_us is not None]
        return median(values) if values else None

    def load_us(self) -> float | None:
        """Return the median of the load's own CPU microseconds a message."""
        return median(sample.load_us for sample in self.good) if self.good else None

    def spread(self) -> float | None:
        """Return how far the runs lie apart, as a share of their median."""
        return spread([sample.rate for sample in self.good]) if len(self.good) > 1 else None


@dataclass
class Row:
    """One line of the table, with what stands below it as notes."""

    key: str
    title: str
    unit: str
    ours: float | None = None
    rival: float | None = None
    rival_mark: str = ""
    pulsar: float | None = None
    ratio: float | None = None
    target: str = ""
    verdict: str = NO_TARGET
    broker_us: float | None = None
    rival_us: float | None = None
    load_us: float | None = None
    spread: float | None = None
    rival_spread: float | None = None
    notes: list[str] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """One load process of a run: the operation, and its options for ``bench.load`` without the address."""

    operation: str
    options: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What a sample is made of: a subscription, a backlog off the clock, and the loads that are measured."""

    messages: int
    loads: tuple[Load, ...]
    shared: tuple[object, ...] = ()
    backlog: Load | None = None
    kind: str = ""
    topics: int = 1
    held: int = 0
    """Messages that are taken before the clock starts."""
    timeout_s: float | None = None


@dataclass
class Arena:
    """The contenders, the folder they write to, and how long and how often everything runs."""

    folder: Path
    ours: Broker
    rival: Broker | None
    pulsar: Broker | None
    quick: bool
    rounds: int

    @property
    def timeout_s(self) -> float:
        """Return the time limit of one operation."""
        return 8.0 if self.quick else 25.0

    @property
    def brokers(self) -> list[Broker]:
        """Return all contenders, ours first."""
        return [broker for broker in (self.ours, self.rival, self.pulsar) if broker is not None]

    def size(self, full: int, quick: int) -> int:
        """Return the number of messages for the mode at hand."""
        return quick if self.quick else full

    @contextlib.contextmanager
    def started(self, brokers: Sequence[Broker]) -> Iterator[list[Contender]]:
        """Start brokers on fresh folders, warm them up, and stop them and drop their data at the end."""
        contenders = [Contender(broker) for broker in brokers]
        try:
            for contender in contenders:
                contender.broker.wipe()
                try:
                    contender.broker.start()
                    self._warm_up(contender.broker)
                except (BrokerError, OSError) as error:
                    contender.failure = str(error)
                    say(f"  {contender.broker.name}: {error}")
            yield contenders
        finally:
            for broker in brokers:
                broker.stop()
                broker.wipe()

    def _warm_up(self, broker: Broker) -> None:
        load = LoadProcess("publish", broker.address, ["--n", WARM_UP_MESSAGES, "--timeout", 5], 5.0)
        reply = together([load])
        if reply["errors"]:
            raise BrokerError(f"warm-up failed: {reply['errors'][0]}")

    def compare(self, run: Run, *, rounds: int | None = None, only_ours: bool = False) -> list[Contender]:
        """Take turns for all rounds and return the contenders with their samples, ours first."""
        with self.started([self.ours] if only_ours else self.brokers) as contenders:
            for number in range(rounds or self.rounds):
                for contender in contenders:
                    if contender.failure:
                        continue
                    sample = self.sample(contender.broker, run)
                    contender.samples.append(sample)
                    if sample.errors:
                        contender.failure = "; ".join(sample.errors)
                    told = contender.failure or f"{sample.rate:,.0f} msg/s"
                    say(f"  round {number + 1} {contender.broker.name}: {told}")
            return contenders

    def sample(self, broker: Broker, run: Run) -> Sample:
        """Run once on a topic of its own."""
        topic = f"bench-{time.time_ns()}"
        limit = run.timeout_s or self.timeout_s
        base = ["--topic", topic, "--timeout", limit, "--n", run.messages, *run.shared]
        try:
            if run.kind:
                self._subscribe(broker, topic, run)
            if run.backlog is not None:
                reply = _together(broker, limit, [run.backlog], base)
                if reply["errors"]:
                    return _sample(run, reply, None)
            before: list[float | None] = []
            reply = _together(broker, limit, run.loads, base, lambda: before.append(broker.cpu_s()))
        except (BrokerError, OSError) as error:
            return _sample(run, {"errors": [str(error)], "parts": {}}, None)
        after = broker.cpu_s()
        used = None if after is None or before[0] is None else after - before[0]
        return _sample(run, reply, used)

    def _subscribe(self, broker: Broker, topic: str, run: Run) -> None:
        with Session(broker.address, self.timeout_s) as session:
            for number in range(run.topics):
                name = topic if run.topics == 1 else f"{topic}-{number}"
                session.subscribe(name, "bench", run.kind, number + 1)


def _together(
    broker: Broker,
    limit_s: float,
    loads: Sequence[Load],
    base: list[object],
    at_start: Callable[[], None] | None = None,
) -> Reply:
    processes = [LoadProcess(load.operation, broker.address, [*base, *load.options], limit_s) for load in loads]
    return together(processes, at_start)


def _sample(run: Run, reply: Reply, broker_s: float | None) -> Sample:
    messages = reply.get("messages", 0)
    broker_us = broker_s / messages * 1e6 if broker_s is not None and messages else None
    load_us = reply.get("cpu_s", 0.0) / messages * 1e6 if messages else 0.0
    errors = list(reply["errors"])
    if not errors and messages != run.messages - run.held:
        errors.append(f"{messages} of {run.messages - run.held} messages")
    notes = list(reply.get("notes", []))
    return Sample(
        reply.get("rate", 0.0), messages, reply.get("seconds", 0.0), load_us, broker_us, errors, notes, reply["parts"]
    )
