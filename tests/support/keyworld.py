"""A Key_Shared subscription under churn, seen from outside: raw consumers, and the contract checked at each delivery.

    world = KeyWorld(broker, topic, seed=7)
    world.join("a"), world.join("b")
    world.publish(100)
    world.churn(50)
    world.finish()
    assert world.violations == []

Each worker is a connection of its own. What it was sent it *holds* until it acknowledges it, gives it back or is gone.
All that a worker reads stands before the answer to a PING, so after ``collect`` a worker knows what it was sent so far.

``owner``: somebody gets a key that another one holds. ``order``: somebody gets a number of a key while a lower one is
neither acknowledged nor at the same consumer. ``again``: a number comes whose acknowledgement was answered. With
negative acknowledgements later numbers may come before those that were given back; ``nack`` says what is checked then.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.support.broker import Broker, eventually
from tests.support.wireclient import WireClient
from tests.support.wirecodec import Delivery, Id, SubType, Value, batch_body, unbatch

__all__ = ["KeyWorld", "What", "Worker", "key_shared_meta"]

What = tuple[str, int]
"""A key, and the number of an entry among those of the key, from 0 on."""

Ranges = Sequence[tuple[int, int]]
FINISH_SECONDS = 60.0
PARTS = tuple((part * 8192, part * 8192 + 8191) for part in range(8))


def key_shared_meta(*ranges: tuple[int, int], out_of_order: bool = False) -> dict[int, Value]:
    """The Key_Shared part of SUBSCRIBE: STICKY with the ranges, if there are any."""
    rows: list[Value] = [{1: first, 2: last} for first, last in ranges]
    return {1: int(bool(ranges)), 3: rows or None, 4: int(out_of_order)}


@dataclass(eq=False)
class Worker:
    """A consumer on a connection of its own."""

    name: str
    wire: WireClient
    permits: int
    held: dict[What, Id] = field(default_factory=dict)
    ranges: tuple[tuple[int, int], ...] = ()
    granted: int = 0
    """Permits, ever."""
    got: int = 0
    """Messages, ever."""
    stalled: bool = False


class KeyWorld:
    """See the module's text. ``nack`` is what may be given back: nothing, anything, or anything with nack order.

    With ``sticky`` every worker that joins by itself names some of eight parts of the slots that nobody has.
    """

    def __init__(
        self,
        broker: Broker,
        topic: str,
        seed: int = 0,
        *,
        keys: int = 20,
        permits: int = 20,
        nack: str = "no",
        sticky: bool = False,
    ) -> None:
        assert nack in ("no", "yes", "ordered")
        self.broker, self.topic, self.nack_mode, self.sticky = broker, topic, nack, sticky
        self.random = random.Random(seed)
        self.keys = [f"key-{number}" for number in range(keys)]
        self.permits = permits
        self.workers: list[Worker] = []
        self.published: Counter[str] = Counter()
        self.acked: dict[str, set[int]] = defaultdict(set)
        self.confirmed: set[What] = set()
        self.seen: set[What] = set()
        self.nacked: dict[str, set[int]] = defaultdict(set)
        self.holders: dict[What, Worker] = {}
        self.violations: list[tuple[str, What, str]] = []
        self.deliveries = 0
        self.joined = 0
        self._floor: Counter[str] = Counter()
        self._sequence = 0
        self._producer: WireClient | None = None

    # Messages.

    def publish(self, count: int = 1, *, batch: int = 1, key: str | None = None) -> None:
        """Publish entries of random keys, each of ``batch`` messages, and wait for all receipts."""
        if self._producer is None:
            self._producer = self.broker.wire()
            self._producer.producer(self.topic)
        for _ in range(count):
            name = key or self.random.choice(self.keys)
            body = b"%s:%d" % (name.encode(), self.published[name])
            self.published[name] += 1
            if batch > 1:
                body = batch_body([body] * batch)
            self._producer.send(body, self._sequence, key=name, batch=batch if batch > 1 else None)
            self._sequence += batch
        for _ in range(count):
            self._producer.receipt()

    def collect(self, worker: Worker | None = None) -> int:
        """Read what has been sent to a worker, or to all of them, and grant as many permits as were used."""
        found = 0
        for one in [worker] if worker else list(self.workers):
            before = one.got
            for delivery in one.wire.delivered():
                self._see(one, delivery)
                found += 1
            self.flow(one, one.got - before)
        return found

    def _see(self, worker: Worker, delivery: Delivery) -> None:
        body = unbatch(delivery)[0] if delivery.batch_size > 1 else delivery.body
        key, _, text = body.decode().partition(":")
        what = key, int(text)
        self.deliveries += 1
        worker.got += delivery.batch_size
        if any(holder is not worker for number, holder in self._held_of(key)):
            self.violations.append(("owner", what, worker.name))
        if what in self.confirmed:
            self.violations.append(("again", what, worker.name))
        self._check_order(worker, what)
        self.seen.add(what)
        worker.held[what] = delivery.id
        self.holders[what] = worker

    def _held_of(self, key: str) -> list[tuple[int, Worker]]:
        found = []
        for number in range(self._floor[key], self.published[key]):
            holder = self.holders.get((key, number))
            if holder is not None:
                found.append((number, holder))
        return found

    def _check_order(self, worker: Worker, what: What) -> None:
        key, number = what
        acked = self.acked[key]
        while self._floor[key] in acked and (key, self._floor[key]) not in self.holders:
            self._floor[key] += 1
        if self.nack_mode == "no":
            lower = (n for n in range(self._floor[key], number) if n not in acked)
            if any(self.holders.get((key, n)) is not worker for n in lower):
                self.violations.append(("order", what, worker.name))
        elif self.nack_mode == "ordered" and what not in self.seen and any(n < number for n in self.nacked[key]):
            self.violations.append(("order", what, worker.name))

    # What workers do.

    def join(self, name: str = "", permits: int | None = None, ranges: Ranges = ()) -> Worker:
        """A worker subscribes, under a new name unless one is given, and asks for messages."""
        self.joined += 1
        name = name or f"worker-{self.joined}"
        worker = Worker(name, self.broker.wire(), self.permits if permits is None else permits, ranges=tuple(ranges))
        meta = key_shared_meta(*ranges)
        worker.wire.subscribe(self.topic, "s", 1, SubType.KEY_SHARED, name=name, key_shared=meta)
        self.workers.append(worker)
        self.flow(worker, worker.permits)
        return worker

    def flow(self, worker: Worker, permits: int) -> None:
        if permits > 0:
            worker.granted += permits
            worker.wire.flow(1, permits)

    def ack(self, worker: Worker, whats: Sequence[What], *, request: bool = False) -> None:
        """Acknowledge; with ``request`` the answer is waited for."""
        ids = [self._let_go(worker, what) for what in whats]
        if not ids:
            return
        for key, number in whats:
            self.acked[key].add(number)
            self.nacked[key].discard(number)
        worker.wire.ack(1, ids, request=request)
        if request:
            self.confirmed.update(whats)

    def nack(self, worker: Worker, whats: Sequence[What]) -> None:
        """Give back; counts from when the broker knows of it."""
        assert self.nack_mode != "no"
        ids = [self._let_go(worker, what) for what in whats]
        if ids:
            worker.wire.redeliver(1, ids)
            self.collect(worker)
            for key, number in whats:
                if number not in self.acked[key]:
                    self.nacked[key].add(number)

    def redeliver_all(self, worker: Worker) -> None:
        """Give everything back; what is on its way to the worker as well."""
        assert self.nack_mode != "no"
        self.collect(worker)
        self.nack(worker, list(worker.held))

    def _let_go(self, worker: Worker, what: What) -> Id:
        if self.holders.get(what) is worker:
            del self.holders[what]
        return worker.held.pop(what)

    def close(self, worker: Worker) -> None:
        """The worker says that it leaves; what comes from now on it does not look at."""
        self._gone(worker)
        worker.wire.close_consumer(1)
        worker.wire.close()

    def cut(self, worker: Worker) -> None:
        """Its connection is gone."""
        self._gone(worker)
        worker.wire.close()

    def _gone(self, worker: Worker) -> None:
        for what in list(worker.held):
            self._let_go(worker, what)
        self.workers.remove(worker)

    def lost(self) -> None:
        """The broker is gone, and with it all connections."""
        for worker in list(self.workers):
            self.cut(worker)
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    # All together.

    def churn(self, steps: int, *, workers: int = 5, batch: int = 1) -> None:
        """So many random steps with about so many workers."""
        for _ in range(steps):
            self.publish(self.random.randrange(1, 12), batch=self.random.randint(1, batch))
            for worker in self.random.sample(self.workers, min(len(self.workers), 3)):
                self.collect(worker)
                self._work(worker)
            if self.random.random() < 0.3 or not self.workers:
                self._come_or_go(workers)

    def _work(self, worker: Worker) -> None:
        """Acknowledge some of what it holds, now and then out of order, or give some of it back."""
        if worker.stalled or not worker.held:
            return
        some = self.random.sample(list(worker.held), self.random.randint(1, len(worker.held)))
        chance = self.random.random()
        if self.random.random() < 0.05:
            # On this type of subscription it is answered and means nothing.
            worker.wire.ack(1, [worker.held[some[0]]], cumulative=True, request=True)
        if self.nack_mode != "no" and chance < 0.25:
            self.nack(worker, some)
        elif self.nack_mode != "no" and chance < 0.3:
            self.redeliver_all(worker)
        else:
            self.ack(worker, some, request=self.random.random() < 0.3)

    def _come_or_go(self, workers: int) -> None:
        chance, here = self.random.random(), len(self.workers)
        free = self._free_parts()
        if here < 2 or (chance < 0.5 and here < workers + 3):
            if free or not self.sticky:
                some = self.random.sample(free, self.random.randint(1, min(len(free), 3))) if self.sticky else []
                self.join(ranges=some).stalled = self.random.random() < 0.15
            return
        worker = self.random.choice(self.workers)
        leave = self.close if self.random.random() < 0.5 else self.cut
        if chance < 0.7:
            leave(worker)
            self.join(worker.name, ranges=worker.ranges)
        elif chance < 0.95:
            leave(worker)
        else:
            for one in self.workers:
                one.stalled = False

    def _free_parts(self) -> list[tuple[int, int]]:
        taken = {part for worker in self.workers for part in worker.ranges}
        return [part for part in PARTS if part not in taken]

    def _backlog(self) -> int:
        """What the broker knows to be left: after a crash also what was acknowledged without an answer."""
        stats = self.broker.topic_rest("GET", self.topic, "stats")
        assert isinstance(stats, dict)
        return int(stats["subscriptions"]["s"]["msgBacklog"])

    def unacked(self) -> int:
        """Entries that were published and not acknowledged."""
        return self.published.total() - sum(len(numbers) for numbers in self.acked.values())

    def finish(self) -> None:
        """Everybody works until everything is acknowledged; fails when something does not come."""

        def step() -> bool:
            self.collect()
            for worker in self.workers:
                self.ack(worker, list(worker.held), request=True)
            return self.unacked() == 0 and not self.holders and self._backlog() == 0

        if self.sticky and self._free_parts():
            self.join(ranges=self._free_parts())
        elif not self.workers:
            self.join()
        eventually(step, FINISH_SECONDS, f"everything is delivered: {self.unacked()} entries are not acknowledged")
