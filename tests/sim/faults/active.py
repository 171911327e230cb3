"""Planted faults: one active consumer."""

from __future__ import annotations

from tests.sim.plant import Planted

__all__ = ["ACTIVE"]

_SINGLE = "core/dispatch/single.py"

ACTIVE: tuple[Planted, ...] = (
    Planted(
        "two_active",
        "the consumer that was active is not told that it is no longer",
        _SINGLE,
        "                consumer.session.push(active_change(consumer.id, consumer is chosen))",
        "                consumer.session.push(active_change(consumer.id, consumer is not before))",
        ("one_active",),
        world="failover",
    ),
    Planted(
        "no_rewind",
        "a new active consumer does not get what the former one left open",
        _SINGLE,
        "        self.handover = None\n        self._rewind()",
        "        self.handover = None\n        self.subscription.topic.broker.wake(self.subscription)",
        ("active_order",),
        world="failover",
    ),
    Planted(
        "served_in_handover",
        "the new active consumer is served before the former one has had its time",
        _SINGLE,
        "        if consumer is None or self.handover is not None or not consumer.ready():",
        "        if consumer is None or not consumer.ready():",
        ("active_order", "liveness"),
        world="failover",
        options={"failover_delay_ms": 1_000, "failover_drain_ms": 0, "failover_selector": ""},
    ),
    Planted(
        "epoch_kept",
        "giving everything back does not begin a new epoch",
        "core/session.py",
        "                consumer.epoch = request.epoch\n",
        "                pass\n",
        ("epoch",),
        world="exclusive",
        weights={"redeliver_all": 30},
    ),
)  # fmt: skip
