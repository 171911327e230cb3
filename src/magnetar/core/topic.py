"""A topic: its ledgers, its tail, its producers and its subscriptions.

Publishing: ``publish`` gives a run of entries offsets and puts it into the open commit; nothing is visible yet. When
the log says that the commit is durable, ``durable`` appends the run to the tail, answers the producer and wakes the
subscriptions. When the commit is void, ``void`` fences the topic: what was pending is refused, producers are
disconnected (they come back by themselves and send again), a new ledger begins, and all of the topic's state is written
again with the next commit, because nobody can say which part of it the log has.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from magnetar.core.activity import activity_states, restore_activity
from magnetar.core.commit import Run
from magnetar.core.compaction.state import COMPACTED_KEY, Compacted, TopicCompaction
from magnetar.core.cursors import decode_cursor
from magnetar.core.dedup import STATE_KEY as DEDUP_KEY
from magnetar.core.dedup import Dedup
from magnetar.core.entryinfo import CHUNK, COUNT
from magnetar.core.ledgers import Ledgers
from magnetar.core.limits import TopicLimits
from magnetar.core.measure import Measure, measure
from magnetar.core.names import TopicName
from magnetar.core.policies.effective import TopicPolicies
from magnetar.core.stamping import STAMPS_KEY, Stamps
from magnetar.core.subscription import Subscription, cursor_key
from magnetar.core.tail import ENTRY_OVERHEAD_BYTES, Tail
from magnetar.core.throttled import charge
from magnetar.ports.log import Append, Merge, Put, RecoveredStream, Trim
from magnetar.wire.replies import send_error, send_receipts

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.consumer import Consumer
    from magnetar.core.producer import Producer
    from magnetar.core.sending import SendBatch

__all__ = ["FACTS_KEY", "LEDGERS_KEY", "Topic"]

LEDGERS_KEY = b"L"
FACTS_KEY = b"T"
_FACTS = struct.Struct("<BqQ")

PERSISTENCE_ERROR = 2
TERMINATED_ERROR = 15


class Topic:
    """One topic (or one partition of one) that this broker serves."""

    def __init__(self, broker: Broker, name: TopicName, stream: int) -> None:
        self.broker: Broker = broker
        self.name: TopicName = name
        self.stream: int = stream
        self.ledgers: Ledgers = Ledgers()
        self.tail: Tail = Tail()
        self.next_offset: int = 0
        self.first_offset: int = 0
        self.size_bytes: int = 0
        self.producers: dict[str, Producer] = {}
        self.waiting: list[Producer] = []
        self.exclusive: Producer | None = None
        self.sending: Producer | None = None
        self.epoch: int = -1
        self.terminated: bool = False
        self.deleted: bool = False
        self.subscriptions: dict[str, Subscription] = {}
        self.policies: TopicPolicies = broker.policies.of(name)
        self.dedup: Dedup | None = Dedup(broker.options.dedup_producers_max) if self.policies.deduplication else None
        self.limits: TopicLimits = TopicLimits(self.policies, broker.now_ms)
        self.created_ms: int = broker.now_ms
        self.messages_in: int = 0
        self.bytes_in: int = 0
        self.entries_in: int = 0
        self.entries_read: int = 0
        self.measure: Measure | None = None
        self.messages_out_gone: int = 0
        self.bytes_out_gone: int = 0
        """What was sent on subscriptions that are gone, so that totals never fall."""
        self.chunked: bool = False
        self.last_publish_ms: int = 0
        self.deduplicated: int = 0
        self.pending_runs: int = 0
        self.touched: bool = False
        self.compaction: TopicCompaction = TopicCompaction()
        self.stamps: Stamps = Stamps(broker.options.entry_timestamp, broker.options.entry_index)

    # -- state in the log ------------------------------------------------------------------------------------------

    def restore(self, recovered: RecoveredStream) -> None:
        """Take over what the log holds of this topic."""
        state = recovered.state
        rows = state.get(LEDGERS_KEY)
        if rows is not None and rows.value is not None:
            self.ledgers = Ledgers.decode(rows.value)
        facts = state.get(FACTS_KEY)
        if facts is not None and facts.value is not None:
            terminated, self.epoch, self.created_ms = _FACTS.unpack(facts.value)
            self.terminated = bool(terminated)
        self.ledgers.cut(recovered.end)
        self.first_offset = max(recovered.first, self.ledgers.bases[0] if self.ledgers.bases else 0)
        self.next_offset = recovered.end
        self.size_bytes = recovered.size_bytes
        self.tail.restart(recovered.end)
        if self.ledgers.sizes:
            self.ledgers.sizes[-1] = max(recovered.size_bytes - sum(self.ledgers.sizes[:-1]), 0)
        compacted = state.get(COMPACTED_KEY)
        if compacted is not None and compacted.value is not None:
            self.compaction.view = Compacted.decode(compacted.value)
        if STAMPS_KEY in state:
            self.stamps.restore(state[STAMPS_KEY])
        known = state.get(DEDUP_KEY)
        if known is not None and self.dedup is not None:
            for data in ([known.value] if known.value else []) + known.merges:
                self.dedup.merge(data)
        for key in sorted(state):
            if key[:1] == b"c":
                value = state[key].value
                if value is not None:
                    name = key[1:].decode("utf-8", "surrogatepass")
                    self.subscriptions[name] = decode_cursor(self, name, value, state[key].merges)
        restore_activity(self, state)

    def ensure_ledger(self) -> None:
        """A topic that was just loaded gets its new ledger with the first thing that is written to it."""
        if not self.touched:
            self.touched = True
            self.roll()

    def roll(self) -> None:
        """Begin a new ledger."""
        self.ledgers.open(self.broker.next_ledger(), self.next_offset, self.broker.now_ms)
        self.broker.commit.records.append(Put(self.stream, LEDGERS_KEY, self.ledgers.encode()))
        self.broker.note_topic(self)

    def write_facts(self) -> None:
        """Put what is durable besides entries and cursors into the open commit."""
        facts = _FACTS.pack(int(self.terminated), self.epoch, self.created_ms)
        self.broker.commit.records.append(Put(self.stream, FACTS_KEY, facts))
        self.broker.note_topic(self)

    def states(self) -> list[tuple[int, bytes, bytes]]:
        """All state of the topic with its present values, for a checkpoint."""
        found = [(self.stream, LEDGERS_KEY, self.ledgers.encode())] if self.ledgers.ids else []
        found.append((self.stream, FACTS_KEY, _FACTS.pack(int(self.terminated), self.epoch, self.created_ms)))
        if self.compaction.view is not None:
            found.append((self.stream, COMPACTED_KEY, self.compaction.view.encode()))
        if self.stamps.any:
            found.append((self.stream, STAMPS_KEY, self.stamps.encode()))
        if self.dedup is not None and self.dedup.kept:
            found.append((self.stream, DEDUP_KEY, self.dedup.encode()))
        found.extend(
            (self.stream, cursor_key(sub.name), sub.encode())
            for sub in self.subscriptions.values()
            if sub.durable and not sub.deleted
        )
        found.extend(activity_states(self))
        return found

    # -- publishing ------------------------------------------------------------------------------------------------

    def publish(self, producer: Producer, batch: SendBatch) -> None:
        """Entries of one producer, in order, into the open commit."""
        if not batch.entries:
            return
        if self.terminated:
            for k in range(len(batch.entries)):
                top = max(batch.sequences[k], batch.highest[k])
                message = "the topic was terminated; nothing more can be published to it"
                self.refuse(producer, send_error(producer.id, top, TERMINATED_ERROR, message))
            return
        self.ensure_ledger()
        if self.ledgers.due(self.broker.options, self.next_offset, self.broker.now_ms):
            self.roll()
        if self.limits.publish is not None:
            charge(self, producer, batch)
        run = self.new_run(producer)
        if self.dedup is not None:
            self.dedup.store_fresh(batch, run)
            return
        run.entries = batch.entries
        run.counts = batch.counts
        run.sequences = batch.sequences
        run.highest = batch.highest
        run.size_bytes = batch.size_bytes
        self.append(run)

    def new_run(self, producer: Producer) -> Run:
        """A run for what comes next; it has a place as soon as it is appended."""
        return Run(self, producer, self.ledgers.id, self.next_offset - self.ledgers.base, self.next_offset)

    def append(self, run: Run) -> None:
        """The run goes into the open commit."""
        count = len(run.entries)
        self.next_offset += count
        run.producer.pending += count
        run.producer.session.pending += count
        self.pending_runs += 1
        commit = self.broker.commit
        if self.stamps.on:
            self.stamps.put_on(self, run)
        commit.records.append(Append(self.stream, run.offset, run.entries))
        if run.top >= 0:
            commit.records.append(Merge(self.stream, DEDUP_KEY, Dedup.delta(run.producer.name, run.top)))
        commit.runs.append(run)

    def refuse(self, producer: Producer, answer: bytes) -> None:
        """A SEND is answered without being stored, but not before what was sent ahead of it."""
        if not producer.pending:
            producer.session.push(answer)
            return
        run = Run(self, producer, 0, 0, self.next_offset)
        run.refusal = answer
        producer.pending += 1
        self.broker.commit.runs.append(run)

    def durable(self, run: Run) -> None:
        """The run's commit is on disk: show it, answer it."""
        if run.refusal:
            run.producer.pending -= 1
            if not run.producer.closed:
                run.producer.session.push(run.refusal)
            return
        count = len(run.entries)
        self.pending_runs -= 1
        self.tail.extend(run.entries, run.counts)
        cost = run.size_bytes + ENTRY_OVERHEAD_BYTES * count
        self.broker.budget.add(self.tail, self.tail.end, cost)
        self.size_bytes += run.size_bytes
        self.ledgers.sizes[-1] += run.size_bytes
        messages = 0
        for info in run.counts:
            messages += info & COUNT
            if info & CHUNK:
                self.chunked = True
        self.messages_in += messages
        self.stamps.durable += messages if self.stamps.on else 0
        self.bytes_in += run.size_bytes
        self.entries_in += count
        self.last_publish_ms = self.broker.now_ms
        if self.broker.meter.on:
            measure(self, run)
        producer = run.producer
        producer.messages_in += messages
        producer.bytes_in += run.size_bytes
        producer.entries_in += count
        producer.pending -= count
        if self.dedup is not None and run.top >= 0:
            self.dedup.keep(producer.name, run.top)
        session = producer.session
        session.pending -= count
        if producer.closed or session.closed:
            return
        session.push(send_receipts(producer.id, run.sequences, run.highest, run.ledger, run.number))

    def void(self, runs: list[Run], error: Exception) -> None:
        """The runs, all that were pending here, will never be on disk."""
        self.pending_runs = 0
        self.next_offset = self.tail.end
        self.stamps.next = self.stamps.durable
        self.ledgers.cut(self.next_offset)
        if self.dedup is not None:
            self.dedup.void()
        for run in runs:
            producer = run.producer
            count = len(run.entries)
            producer.pending -= count + bool(run.refusal)
            producer.session.pending -= count
            if producer.closed:
                continue
            if run.refusal:
                producer.session.push(run.refusal)
            for k in range(count):
                top = max(run.sequences[k], run.highest[k])
                producer.session.push(send_error(producer.id, top, PERSISTENCE_ERROR, str(error)))
        for producer in list(self.producers.values()):
            producer.session.drop_producer(producer)
        self.touched = False

    def rewrite(self) -> None:
        """All state goes into the open commit once more."""
        if self.deleted:
            return
        self.broker.commit.records.extend(Put(stream, key, value) for stream, key, value in self.states())
        if self.first_offset:
            self.broker.commit.records.append(Trim(self.stream, self.first_offset))
        self.broker.note_topic(self)

    # -- consumers -------------------------------------------------------------------------------------------------

    def consumer_left(self, subscription: Subscription) -> None:
        """A reader's subscription ends with its last consumer."""
        self.limits.last_used_ms = self.broker.now_ms
        if not subscription.durable and not subscription.consumers:
            # Another reader may have come under the same name.
            if self.subscriptions.get(subscription.name) is subscription:
                del self.subscriptions[subscription.name]
            subscription.deleted = True
            self.messages_out_gone += subscription.messages_out
            self.bytes_out_gone += subscription.bytes_out
            subscription.messages_out = subscription.bytes_out = 0

    def consumers(self) -> list[Consumer]:
        return [consumer for sub in self.subscriptions.values() for consumer in sub.consumers]

    def wake(self) -> None:
        """There is something new for every subscription."""
        for sub in self.subscriptions.values():
            if sub.consumers:
                self.broker.wake(sub)

    def low_water(self) -> int:
        """The lowest offset that a durable subscription still needs."""
        floors = [sub.acks.floor for sub in self.subscriptions.values() if sub.durable]
        return min(floors, default=self.tail.end)
