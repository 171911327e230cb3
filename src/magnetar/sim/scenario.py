"""What the world of a seed looks like: its subscriptions, the broker's options, and what happens how often.

Everything is drawn from the seed, and small numbers are preferred: few keys, few permits, low limits and short windows
make rare meetings common. Not every seed has every kind of event; a seed without crashes, or with nothing but cuts,
reaches states that an even mixture never does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

__all__ = ["WORLDS", "Place", "Scenario", "draw"]

WORLDS = ("key_shared", "shared", "failover", "exclusive", "mixed")
"""Which types of subscription there are; ``mixed`` has several, on two topics."""

_KINDS = {"key_shared": ["Key_Shared"], "shared": ["Shared"], "failover": ["Failover"], "exclusive": ["Exclusive"]}


@dataclass(slots=True)
class Place:
    """One subscription that consumers of this world use."""

    topic: str
    name: str
    kind: str
    sticky: bool = False
    out_of_order: bool = False
    durable: bool = True


@dataclass(slots=True)
class Scenario:
    """See the module's text. It can be written as JSON and read again."""

    world: str
    seed: int
    steps: int = 300
    keys: int = 8
    batch_max: int = 1
    flow_max: int = 10
    places: list[Place] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Scenario:
        return Scenario(**{**data, "places": [Place(**place) for place in data["places"]]})


WEIGHTS: dict[str, tuple[int, ...]] = {
    # How often, in a thousand, each action comes; a seed chooses one of the numbers.
    "join": (60, 20, 120),
    "publish": (200, 100, 300),
    "flow": (130, 80, 200),
    "ack": (250, 120, 350),
    "commit": (150, 80, 300),
    "read": (60, 30, 100),
    "time": (80, 40, 120),
    "store": (30, 60),
    "nack": (0, 20, 60),
    "redeliver_all": (0, 0, 15),
    "close_consumer": (20, 0, 50),
    "cut": (15, 0, 40),
    "ghost": (0, 0, 6),
    "lag": (0, 15, 30),
    "deliver": (20, 40),
    "slow": (0, 8, 15),
    "stall": (0, 10, 20),
    "close_producer": (5, 0),
    "seek": (0, 0, 6),
    "skip": (0, 0, 8),
    "expire": (0, 0, 8),
    "unsubscribe": (0, 0, 3),
    "disconnect": (0, 0, 10),
    "policy": (0, 0, 6),
    "option": (0, 0, 4),
    "checkpoint": (0, 8, 15),
    "fail_log": (0, 0, 8),
    "fail_store": (0, 0, 4),
    "crash": (0, 0, 4),
    "damage": (0, 0, 0, 6),
    "terminate": (0, 0, 0, 0, 2),
}


def draw(world: str, seed: int, steps: int = 300) -> Scenario:
    """The scenario of a seed."""
    chance = Random(f"scenario {world} {seed}")
    weights = Random(f"weights {world} {seed}")
    found = Scenario(world, seed, steps)
    found.keys = chance.choice((1, 3, 8, 8, 20))
    found.batch_max = chance.choice((1, 1, 4))
    found.flow_max = chance.choice((1, 3, 10, 100))
    found.weights = {name: weights.choice(choices) for name, choices in WEIGHTS.items()}
    found.places = _places(world, chance)
    found.options = _options(chance)
    if any(place.sticky for place in found.places):
        found.options["key_shared_ring"] = True
    return found


def _places(world: str, chance: Random) -> list[Place]:
    if world != "mixed":
        kind = _KINDS[world][0]
        place = Place("t0", "s0", kind)
        if kind == "Key_Shared":
            place.sticky = chance.random() < 0.1
            place.out_of_order = chance.random() < 0.05
        return [place]
    kinds = ("Exclusive", "Failover", "Shared", "Key_Shared")
    places = [Place(f"t{n % 2}", f"s{n}", chance.choice(kinds)) for n in range(chance.randint(2, 4))]
    places.append(Place("t0", "reader", "Exclusive", durable=False))
    return places


def _options(chance: Random) -> dict[str, Any]:
    """Options of the core that differ from their defaults; see ``core/options.py`` for what each is."""
    low = chance.choice((0, 0, 5, 20))
    return {
        "tail_cache_bytes": chance.choice((0, 500, 2_000, 1 << 20)),
        "read_batch_entries": chance.choice((1, 3, 50, 500)),
        "ledger_entries_max": chance.choice((3, 20, 1_000)),
        "ledger_min_ms": chance.choice((0, 1_000)),
        "retention_check_ms": chance.choice((500, 60_000)),
        "expiry_check_ms": chance.choice((700, 60_000)),
        "message_ttl_ms": chance.choice((0, 0, 0, 0, 2_000)),
        "max_unacked_per_consumer": low,
        "max_unacked_per_subscription": chance.choice((0, 0, 0, low * 2)),
        "round_robin_entries": chance.choice((1, 3, 20)),
        "batch_index_ack": chance.random() < 0.8,
        "deduplication": chance.random() < 0.3,
        "failover_delay_ms": chance.choice((0, 20, 1_000)),
        "failover_by_hash": chance.random() < 0.5,
        "ring_points": chance.choice((1, 3, 100)),
        "key_shared_ring": chance.random() < 0.7,
        "key_shared_unblocking_ms": chance.choice((0, 10, 50)),
        "key_shared_nack_order": chance.random() < 0.3,
        "key_shared_drain_lease_ms": chance.choice((0, 0, 0, 200)),
        "look_ahead_per_consumer": chance.choice((1, 4, 4_000)),
        "look_ahead_per_subscription": chance.choice((2, 10, 40_000)),
        "keep_alive_ms": 30_000,
        # The books do not know yet of topics that go by themselves.
        "delete_inactive": False,
        "liveness_probe_ms": chance.choice((10, 500)),
        "key_shared_selector": chance.choice(("", "", "", "rateAware")),
        "rebalance_slots": chance.choice((0, 0, 5_000)),
        "failover_selector": chance.choice(("", "", "balanced", "first", "separated")),
        "failover_drain_ms": chance.choice((0, 0, 50, 2_000)),
    }
