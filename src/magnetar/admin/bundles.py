"""Names of brokers and of bundles, the ranges of hashes that a namespace is cut into."""

from __future__ import annotations

import zlib
from itertools import pairwise

from magnetar.core.broker import Broker

__all__ = ["BUNDLES_MAX", "boundaries", "broker_id", "bundle_of", "even", "within"]

BUNDLES = 4
"""How many there are where nobody asks for a number."""
BUNDLES_MAX = 1024
_TOP = 0xFFFFFFFF


def even(count: int) -> list[str]:
    """The limits of so many ranges of the same size, one more than there are ranges."""
    step = (1 << 32) // count
    return [f"0x{step * index:08x}" for index in range(count)] + [f"0x{_TOP:08x}"]


def boundaries(core: Broker, name: str) -> list[str]:
    """The limits of the namespace's ranges."""
    row = core.catalog.namespaces.get(name, {})
    stored = row.get("bundles")
    if isinstance(stored, dict) and isinstance(stored.get("boundaries"), list) and len(stored["boundaries"]) > 1:
        return [str(bound) for bound in stored["boundaries"]]
    return even(BUNDLES)


def bundle_of(bounds: list[str], topic: str) -> str:
    """The range that the topic's name hashes into."""
    where = zlib.crc32(topic.encode())
    for low, high in pairwise(bounds):
        if where < int(high, 16):
            return f"{low}_{high}"
    return f"{bounds[-2]}_{bounds[-1]}"


def within(bundle: str, topic: str) -> bool:
    """Whether the topic's name hashes into this range, whatever the namespace's own are."""
    low, _, high = bundle.partition("_")
    where = zlib.crc32(topic.encode())
    try:
        first, last = int(low, 16), int(high, 16)
    except ValueError:
        return False
    return first <= where < last or (last == _TOP == where)


def broker_id(core: Broker) -> str:
    """Host and port of the HTTP side, which is how Pulsar names a broker."""
    return core.options.http_url.partition("://")[2]
