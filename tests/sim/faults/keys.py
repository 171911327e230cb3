"""Planted faults: the contract of a key, in Key_Shared."""

from __future__ import annotations

from tests.sim.plant import Planted

__all__ = ["KEYS"]

_KEYSHARED = "core/dispatch/keyshared.py"
_RESELECT = "core/dispatch/reselect.py"
_SKIMMING = {
    "look_ahead_per_consumer": 1, "look_ahead_per_subscription": 2, "tail_cache_bytes": 0, "read_batch_entries": 1,
}  # fmt: skip
_BUSY = {"publish": 300, "join": 120, "close_consumer": 50, "flow": 200, "commit": 300, "time": 20}
"""Much is held while consumers come and go."""


KEYS: tuple[Planted, ...] = (
    Planted(
        "classic",
        "the dispatcher of before PIP-282, which follows positions and not keys",
        "", "", "",
        ("one_holder", "key_order"),
        options={"key_shared_classic": True, "message_ttl_ms": 0, "key_shared_nack_order": False},
        weights={**_BUSY, "skip": 0, "expire": 0, "policy": 0, "seek": 0},
        audit_every=1_000,
    ),
    Planted(
        "drains_unheeded",
        "a key goes to its new owner although the former one still holds it",
        "core/dispatch/draining.py",
        "return key_hash in self.keys or coarse[slot] != 0",
        "return False",
        ("one_holder",),
        weights=_BUSY,
    ),
    Planted(
        "drains_only_for_joiner",
        "slots that move between consumers that were there already do not drain",
        _RESELECT,
        "    slot_of = dispatcher.selector.slot_of\n    for consumer in dispatcher.subscription.consumers:\n",
        "    slot_of = dispatcher.selector.slot_of\n    for consumer in dispatcher.subscription.consumers[:1]:\n",
        ("drains",),
    ),
    Planted(
        "overtaking",
        "a newly read message does not wait behind those of its key that wait already",
        _KEYSHARED,
        "                or (keys and self.ordered and key_hash in keys)\n",
        "",
        ("key_order",),
    ),
    Planted(
        "unblocked_too_early",
        "the first acknowledgement of a draining slot frees all of it (PIP-379, section 7)",
        "core/dispatch/draining.py",
        "        if counts[slot]:\n            return 1 if left == 0 else 0\n        self._clear(slot)",
        "        self.keys.pop(key_hash, None)\n        counts[slot] = 0\n        self._clear(slot)",
        ("one_holder", "drains", "no_exception"),
        weights=_BUSY,
    ),
    Planted(
        "skip_ends_drain",
        "what was skipped counts as given up by the consumer that holds it (#25627)",
        _KEYSHARED,
        "        Dispatcher.settle_below(self, floor)\n",
        "        super().settle_below(floor)\n",
        ("books",),
        weights={"skip": 40},
    ),
    Planted(
        "returned_range",
        "a drain that ends because the slot returns to its holder is not noticed (#24736)",
        _RESELECT,
        "    fresh = before.begin()\n    now_ms",
        "    fresh = before if before.active else before.begin()\n    now_ms",
        ("drains", "liveness", "no_exception", "at_rest"),
    ),
    Planted(
        "not_unblocked",
        "nobody is told that a drain has ended",
        _KEYSHARED,
        "            if key_hash in self.waiting_keys.keys:\n                self._queue_key(key_hash)\n"
        "        if self.skim is not None:\n            self.skim.again()\n"
        "        self.subscription.topic.broker.wake(self.subscription)\n\n    def draining",
        "            pass\n\n    def draining",
        ("liveness",),
        seeds=150,
    ),
    Planted(
        "nack_order",
        "with keySharedNackOrder the rest of the key does not wait for what was given back",
        _KEYSHARED,
        "            if self.nacked and key_hash in self.nacked:\n                self.holding[key_hash] = offset\n",
        "",
        ("nack_order",),
        options={"key_shared_nack_order": True},
        weights={"nack": 60},
    ),
    Planted(
        "unblocked_in_a_pass",
        "a key whose drain ends in the middle of a pass is sent past what waits of it (PIP-379, section 7)",
        _KEYSHARED,
        "                or (keys and self.ordered and key_hash in keys)\n",
        "                or (keys and self.ordered and key_hash in keys and key_hash not in self.freed)\n",
        ("key_order",),
        options={"key_shared_unblocking_ms": 100},
        weights=_BUSY,
        seeds=150,
    ),
    Planted(
        "joined_while_sending",
        "a consumer that joins is sent keys that others hold, until somebody leaves (PIP-379, section 7)",
        _KEYSHARED,
        "        self.seat(consumer)\n        self.ranges_moved()\n",
        "        self.seat(consumer)\n        ordered, self.ordered = self.ordered, False\n"
        "        self.ranges_moved()\n        self.ordered = ordered\n",
        ("one_holder",),
        audit_every=1_000,
        weights=_BUSY,
    ),
    Planted(
        "left_while_sending",
        "a consumer that has closed is sent messages still (PIP-379, section 7)",
        "core/requests/subscribing.py",
        "        consumer.subscription.leave(consumer)\n    session.success(message.request_id)\n",
        "        pass\n    session.success(message.request_id)\n",
        ("deliveries",),
        audit_every=1_000,
        weights=_BUSY,
    ),
    Planted(
        "nack_of_expired",
        "giving back what has expired holds its key for ever",
        _KEYSHARED,
        "if word and not self.subscription.acks.contains(offset):",
        "if word:",
        ("at_rest",),
        options={"key_shared_nack_order": True, "message_ttl_ms": 2_000, "expiry_check_ms": 700},
        weights={"nack": 200, "time": 200, "ack": 120, "disconnect": 0, "publish": 200, "expire": 30, "seek": 0},
    ),
    Planted(
        "skim_twice",
        "what was sent while skimming is forgotten when skimming begins anew",
        "core/dispatch/skim.py",
        "if offset >= self.top and offset + 1 >= self.next:",
        "if offset + 1 >= self.next:",
        ("one_copy",),
        options={"look_ahead_per_consumer": 1, "look_ahead_per_subscription": 2, "max_unacked_per_consumer": 5},
        weights={"publish": 300, "nack": 60, "time": 120, "ack": 120, "terminate": 0},
        seeds=80,
    ),
    Planted(
        "skim_behind",
        "skimming goes over what reading has passed meanwhile",
        "core/dispatch/skim.py",
        "        self.next = max(self.next, dispatcher.read_next)\n",
        "",
        ("one_copy",),
        options=_SKIMMING,
        weights={"read": 60, "publish": 200, "nack": 20},

        seeds=200,
    ),
)  # fmt: skip
