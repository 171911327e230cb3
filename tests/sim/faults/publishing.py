"""Planted faults: publishing, durability and retention."""

from __future__ import annotations

from magnetar.sim.scenario import Place
from tests.sim.plant import Planted

__all__ = ["PUBLISHING"]

_SUBSCRIPTION = "core/subscription.py"
_TOPIC = "core/topic.py"

PUBLISHING: tuple[Planted, ...] = (
    Planted(
        "receipt_early",
        "a receipt is sent before the commit that holds the message is durable",
        _TOPIC,
        "        commit.runs.append(run)\n\n    def refuse",
        "        commit.runs.append(run)\n"
        "        run.producer.session.push(send_receipts(run.producer.id, run.sequences, run.highest, run.ledger, "
        "run.number))\n\n"
        "    def refuse",
        ("durable_first", "receipts"),
    ),
    Planted(
        "shown_early",
        "a message is shown to consumers while its commit is under way",
        _TOPIC,
        "        commit.runs.append(run)\n\n    def refuse",
        "        self.tail.extend(run.entries, run.counts)\n        self.wake()\n\n    def refuse",
        ("durable_first", "books", "no_exception", "answers"),
    ),
    Planted(
        "ids_again",
        "a crash lets the broker give out a ledger's number again",
        "core/broker.py",
        "        self.counter += 1\n        self.counter_dirty = True",
        "        self.counter += 1",
        ("verbatim",),
        weights={"crash": 10},
        seeds=60,
    ),
    Planted(
        "dedup_forgets",
        "deduplication forgets after a restart what it knew",
        _TOPIC,
        "        if known is not None and self.dedup is not None:",
        "        if known is not None and self.dedup is None:",
        ("dedup",),
        options={"deduplication": True},
        weights={"crash": 15},
        seeds=60,
    ),
    Planted(
        "dropped_while_needed",
        "retention does not ask every cursor",
        _TOPIC,
        "in self.subscriptions.values() if sub.durable]",
        "in self.subscriptions.values() if sub.durable and not sub.consumers]",
        ("retention",),
        options={"ledger_entries_max": 3, "ledger_min_ms": 0, "retention_check_ms": 500},
        weights={"time": 120},
    ),
    Planted(
        "reader_under_retention",
        "a reader gets what retention has dropped, under ids of no message",
        "core/upkeep.py",
        "                sub.move_floor(topic.first_offset)\n",
        "                pass\n",
        ("durable_first", "verbatim"),
        world="mixed",
        options={"ledger_entries_max": 3, "ledger_min_ms": 0, "retention_check_ms": 500, "tail_cache_bytes": 0},
        weights={"time": 120},
        places=(Place("t0", "reader", "Exclusive", durable=False),),
    ),
    Planted(
        "reversed",
        "what was sent in one go is stored in the opposite order",
        _TOPIC,
        "        run.entries = batch.entries\n",
        "        run.entries = batch.entries[::-1]\n",
        ("publish_order",),
        world="shared",
        options={"deduplication": False},
    ),
    Planted(
        "receipt_left_out",
        "of several receipts of one producer the first is forgotten",
        _TOPIC,
        "send_receipts(producer.id, run.sequences, run.highest, run.ledger, run.number)",
        "send_receipts(producer.id, run.sequences[1:], run.highest[1:], run.ledger, run.number + 1)",
        ("receipts",),
        world="shared",
    ),
    Planted(
        "cursor_not_written",
        "a new subscription is not written to the log",
        "core/requests/opening.py",
        "    topic.broker.commit.records.append(Put(topic.stream, cursor_key(name), sub.encode()))\n",
        "",
        ("durable",),
        world="shared",
        weights={"crash": 10},
    ),
    Planted(
        "seek_not_written",
        "a seek is not written to the log",
        _SUBSCRIPTION,
        "            self.dispatcher.reset()\n        self.write_whole()",
        "            self.dispatcher.reset()\n",
        ("durable_first",),
        world="exclusive",
        weights={"crash": 10, "seek": 30},
    ),
    Planted(
        "refusals_overtake",
        "what is refused is answered before what was sent, and refused, ahead of it",
        _TOPIC,
        "        if not producer.pending:\n",
        "        if producer.pending < 2:\n",
        ("receipts",),
        world="shared",
        weights={"terminate": 6, "fail_log": 0},
    ),
)  # fmt: skip
