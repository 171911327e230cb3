"""Hashes that are part of the protocol: of keys, which decide who gets a message, and of lists of topics.

>>> murmur3(b"key-0")
1664612543
>>> slot(murmur3(b"key-0"), 65535, 1)
23544
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import google_crc32c
from mmh3 import mmh3_32_uintdigest

__all__ = ["murmur3", "slot", "topics_hash"]

_digest: Final = mmh3_32_uintdigest


def murmur3(key: bytes) -> int:
    """Hash a key as all Pulsar clients and brokers do: Murmur3 of 32 bits, seed 0, without the sign."""
    return _digest(key, 0) & 0x7FFFFFFF


def slot(key_hash: int, range_size: int, range_start: int) -> int:
    """Place a hash in a range of slots. Slot 0 means "not set" everywhere, so what falls there becomes 1."""
    return key_hash % range_size + range_start or 1


def topics_hash(names: Iterable[str]) -> str:
    """Hash a list of full topic names, in any order, the way clients compare lists with the broker."""
    checksum: int = google_crc32c.value(",".join(sorted(names)).encode("utf-8"))
    return checksum.to_bytes(4, "little").hex()
