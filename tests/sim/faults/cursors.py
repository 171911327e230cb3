"""Planted faults: acknowledgements and cursors."""

from __future__ import annotations

from tests.sim.plant import Planted

__all__ = ["CURSORS"]

_SUBSCRIPTION = "core/subscription.py"

CURSORS: tuple[Planted, ...] = (
    Planted(
        "ack_not_durable",
        "acknowledgements do not travel with the commit",
        _SUBSCRIPTION,
        "                if self.new_offsets:\n"
        "                    records.append(Merge(stream, key, delta_offsets(self.new_offsets)))",
        "                pass",
        ("acked_stays", "durable_first"),
        weights={"crash": 10},
    ),
    Planted(
        "acks_of_failed_commit",
        "what was acknowledged in a commit that failed is not written again",
        "core/broker.py",
        "            for sub in commit.cursors:\n                sub.write_whole()\n",
        "",
        ("acked_stays",),
        weights={"crash": 20, "fail_log": 60, "ack": 350},
    ),
    Planted(
        "ack_receipt_early",
        "the receipt of an acknowledgement does not wait for the commit",
        "core/session.py",
        "            self.broker.commit.after.append(answer)",
        "            answer(None)",
        ("durable_first",),
    ),
    Planted(
        "foreign_floor",
        "a cumulative acknowledgement takes one message too many",
        _SUBSCRIPTION,
        "        self.move_floor(offset + 1)",
        "        self.move_floor(min(offset + 2, topic.tail.end))",
        ("cursor",),
        world="exclusive",
    ),
    Planted(
        "parts_lost",
        "redelivery forgets which messages of a batch are acknowledged",
        "core/dispatch/keyed.py",
        "sub.acks.part(offset), redeliveries",
        "-1, redeliveries",
        ("parts_stay",),
        options={"batch_index_ack": True},
        weights={"nack": 60},
        seeds=60,
    ),
    Planted(
        "skipped_batch",
        "a batch acknowledged message by message after it was skipped is never released",
        _SUBSCRIPTION,
        "            if not self.acks.contains(offset):  # else it was skipped, and only the consumer's hands are "
        "emptied\n",
        "            if self.acks.contains(offset):\n                return\n            else:\n",
        ("books", "at_rest", "liveness"),
        options={"batch_index_ack": True},
        weights={"skip": 40},
        seeds=60,
    ),
    Planted(
        "ledger_of_held",
        "retention drops a ledger of which a consumer still holds something",
        "core/upkeep.py",
        "low = _lowest_held(topic, topic.low_water())",
        "low = topic.low_water()",
        ("books", "at_rest", "liveness"),
        options={"ledger_entries_max": 3, "ledger_min_ms": 0, "retention_check_ms": 500},
        weights={"skip": 40, "time": 100},
        seeds=60,
    ),
    Planted(
        "skip_not_written",
        "a skip, an expiry or a cumulative acknowledgement is not written to the log",
        _SUBSCRIPTION,
        "            self.dispatcher.settle_below(self.acks.floor)\n        self.mark()\n",
        "            self.dispatcher.settle_below(self.acks.floor)\n",
        ("durable_first", "acked_stays"),
        weights={"skip": 40},
    ),
    Planted(
        "unreadable_is_old",
        "an entry that cannot be read makes all before it count as old, and expires them",
        "core/timesearch.py",
        "< self.time_ms if entry else None",
        "< self.time_ms if entry else True",
        ("cursor",),
        world="shared",
        options={"tail_cache_bytes": 0},
        weights={"damage": 40, "expire": 40},
    ),
    Planted(
        "lost_blocks",
        "nobody acknowledges an entry that cannot be read",
        "core/dispatch/base.py",
        "        self.subscription.lose(offset)\n",
        "        pass\n",
        ("liveness",),
        world="shared",
        options={"tail_cache_bytes": 0},
        weights={"damage": 40},
    ),
    Planted(
        "lost_remembered",
        "redelivery counts of entries that cannot be read any more are kept for ever",
        "core/dispatch/base.py",
        "        self.redelivered.pop(offset, None)\n",
        "",
        ("at_rest",),
        world="shared",
        options={"tail_cache_bytes": 0},
        weights={"damage": 60, "nack": 120, "read": 60, "terminate": 0},
        seeds=60,
    ),
    Planted(
        "lost_holds_key",
        "with keySharedNackOrder an entry that cannot be read any more holds its key for ever",
        "core/dispatch/keyshared.py",
        "            if not again.entry:\n",
        "            if not again.entry:\n                line.drop_first()\n"
        "                waiting.drop_first(key_hash)\n",
        ("liveness", "at_rest"),
        options={"tail_cache_bytes": 0, "key_shared_nack_order": True},
        weights={"damage": 60, "nack": 120},
    ),
)  # fmt: skip
