"""Planted faults: answers and turns."""

from __future__ import annotations

from tests.sim.plant import Planted

__all__ = ["ANSWERS"]

_PENDING = "core/dispatch/pending.py"
_SUBSCRIPTION = "core/subscription.py"

ANSWERS: tuple[Planted, ...] = (
    Planted(
        "not_woken",
        "more permits do not wake the subscription",
        "core/session.py",
        "                consumer.subscription.last_flow_ms = now\n"
        "                self.broker.wake(consumer.subscription)",
        "                consumer.subscription.last_flow_ms = now",
        ("liveness",),
        world="exclusive",
    ),
    Planted(
        "subscribe_unanswered",
        "a consumer that is disconnected before it was let in gets no answer",
        "core/requests/subscribing.py",
        "        session.error(message.request_id, error or ServiceNotReady(\"the consumer was disconn",
        "        str(error or ServiceNotReady(\"the consumer was disconn",
        ("answers",),
        world="shared",
        weights={"disconnect": 40, "fail_log": 20},
        seeds=100,
    ),
    Planted(
        "commits_without_end",
        "every commit brings about another",
        "core/broker.py",
        "        self.meter.wrote(commit)\n",
        "        self.meter.wrote(commit)\n"
        "        self.commit.records.append(Put(BROKER_STREAM, _COUNTER_KEY, b\"\"))\n",
        ("turns",),
        world="shared",
        weights={"crash": 0},
    ),
    Planted(
        "half_a_frame",
        "the last byte that is written to a connection is lost",
        "core/session.py",
        "        out = self.out\n        self.out = []",
        "        out = [*self.out[:-1], self.out[-1][:-1]]\n        self.out = []",
        ("frames",),
        world="shared",
    ),
    Planted(
        "deaf",
        "what a peer says is no sign of life",
        "core/session.py",
        "        self.seen_ms = self.broker.now_ms\n        if self.probes",
        "        if self.probes",
        ("hung_up",),
        world="shared",
        weights={"time": 200},
    ),
    Planted(
        "index_error",
        "an id that the broker does not know is looked up all the same",
        _SUBSCRIPTION,
        "        for message_id in ack.ids:\n            self._ack_one(consumer, message_id)",
        "        for message_id in ack.ids:\n            self.topic.tail.entries[message_id.entry]\n"
        "            self._ack_one(consumer, message_id)",
        ("no_exception",),
        world="shared",
    ),
    Planted(
        "two_copies",
        "what is given back goes to somebody else and stays with its consumer as well",
        _PENDING,
        "        word = consumer.pending.pop(offset, 0)\n        if not word:\n            return\n"
        "        self.discharge",
        "        word = consumer.pending.get(offset, 0)\n        if not word:\n            return\n"
        "        self.discharge",
        ("books", "counts", "one_copy"),
        world="shared",
        weights={"nack": 60},
    ),
    Planted(
        "end_before_durable",
        "consumers hear of the end of a topic before that is durable",
        _SUBSCRIPTION,
        "        if topic.terminated and not topic.pending_runs and",
        "        if topic.terminated and",
        ("end",),
        world="shared",
        weights={"terminate": 6, "join": 100},
    ),
    Planted(
        "end_before_success",
        "consumers hear of the end of a topic before they hear that they are let in",
        "core/requests/subscribing.py",
        "        consumer.end_told = sub.durable",
        "        consumer.end_told = False",
        ("deliveries",),
        world="shared",
        weights={"terminate": 6, "join": 100},
    ),
)  # fmt: skip
