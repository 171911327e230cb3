"""What can be seen of a Key_Shared subscription through the REST interface."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from magnetar.wire.hashing import murmur3, slot
from tests.support.broker import Broker

__all__ = ["assert_at_rest", "configured", "consumers", "keys_of", "owner", "sub_stats"]

RING_SLOTS = 65_535


def sub_stats(broker: Broker, topic: str) -> dict[str, Any]:
    """Statistics of the subscription ``s``."""
    answer = broker.topic_rest("GET", topic, "stats")
    assert isinstance(answer, dict)
    found: dict[str, Any] = answer["subscriptions"]["s"]
    return found


def consumers(broker: Broker, topic: str) -> dict[str, dict[str, Any]]:
    """Statistics of its consumers by name."""
    return {each["consumerName"]: each for each in sub_stats(broker, topic)["consumers"]}


def owner(broker: Broker, topic: str, key: str) -> str:
    """The consumer that the key belongs to on the ring; who joins later may change that."""
    at = slot(murmur3(key.encode()), RING_SLOTS, 1)
    for name, each in consumers(broker, topic).items():
        if any(first <= at <= last for first, last in each["keyHashRangeArrays"]):
            return name
    return ""


def keys_of(broker: Broker, topic: str, name: str, count: int = 1) -> list[str]:
    """Keys that belong to the consumer on the ring."""
    ranges = consumers(broker, topic)[name]["keyHashRangeArrays"]

    def belongs(key: str) -> bool:
        at = slot(murmur3(key.encode()), RING_SLOTS, 1)
        return any(first <= at <= last for first, last in ranges)

    return list(itertools.islice((key for key in (f"k{n}" for n in itertools.count()) if belongs(key)), count))


@contextlib.contextmanager
def configured(broker: Broker, **settings: object) -> Iterator[None]:
    """Change settings of the running broker for the length of a block."""
    names = "brokers/configuration"
    try:
        for name, value in settings.items():
            status, answer = broker.rest(
                "POST", f"{names}/{name}/{str(value).lower() if isinstance(value, bool) else value}"
            )
            assert status == 204, answer
        yield
    finally:
        for name in settings:
            broker.rest("DELETE", f"{names}/{name}")


def assert_at_rest(broker: Broker, topic: str, permits: dict[str, int] | None = None) -> None:
    """Nothing is unacknowledged, waits or drains; permits are what was granted less what was sent, where given."""
    sub = sub_stats(broker, topic)
    names = ("msgBacklog", "unackedMessages", "msgInReplay", "drainingHashesCount", "drainingHashesUnackedMessages")
    assert {name: sub[name] for name in names} == dict.fromkeys(names, 0)
    for each in sub["consumers"]:
        assert (each["unackedMessages"], each["drainingHashesCount"], each["drainingHashes"]) == (0, 0, [])
        assert not each["blockedConsumerOnUnackedMsgs"]
    if permits is not None:
        assert {each["consumerName"]: each["availablePermits"] for each in sub["consumers"]} == permits
