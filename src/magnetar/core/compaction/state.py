"""What a topic knows of its compacted view, and how the entries of the view are kept.

The view is a stream of its own in the log. Each of its entries is an entry of the topic as it was published, behind a
head that says what it is: its offset, its id, and for a batch which of its messages are left. Batches are not
rewritten: the mask travels with the entry, and clients leave out what it does not name. So the ids of messages stay
what they were, to the index in the batch.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from magnetar.core.compaction.job import Job

__all__ = [
    "COMPACTED_KEY",
    "COMPACTION_CURSOR",
    "ERROR",
    "NOT_RUN",
    "RUNNING",
    "SUCCESS",
    "Compacted",
    "Kept",
    "TopicCompaction",
    "pack",
    "unpack",
]

NOT_RUN, RUNNING, SUCCESS, ERROR = "NOT_RUN", "RUNNING", "SUCCESS", "ERROR"


COMPACTED_KEY = b"C"
"""The state key of a topic's view in the topic's own stream."""

COMPACTION_CURSOR = "__compaction"
"""The subscription that holds what was not compacted yet."""

_STATE = struct.Struct("<BQQQQQ")
_VERSION = 1
_HEAD = struct.Struct("<QQQI")


class Compacted(NamedTuple):
    """A view that is complete: what the topic holds below ``horizon``, compacted."""

    stream: int
    ledger: int
    """The number by which statistics name it."""
    entries: int
    size_bytes: int
    horizon: int

    def encode(self) -> bytes:
        return _STATE.pack(_VERSION, *self)

    @staticmethod
    def decode(data: bytes) -> Compacted:
        version, *rest = _STATE.unpack(data)
        if version != _VERSION:
            raise ValueError(f"a compacted view has format {version}; this broker reads {_VERSION}")
        return Compacted(*rest)


class TopicCompaction:
    """What a topic knows of its compaction. Only ``view`` outlives the broker."""

    def __init__(self) -> None:
        self.view: Compacted | None = None
        self.job: Job | None = None
        self.status: str = NOT_RUN
        self.error: str = ""
        self.removed: int = 0
        """Messages that the last one has left out."""
        self.succeeded: int = 0
        self.failed: int = 0
        """How many since the broker began."""
        self.succeeded_ms: int = 0
        self.failed_ms: int = 0
        self.took_ms: int = 0


class Kept(NamedTuple):
    """One entry with what is left of it: ``left`` is a mask of its messages, -1 for all of them."""

    offset: int
    ledger: int
    number: int
    left: int
    entry: bytes


def pack(kept: Kept) -> bytes:
    """The entry of the view for an entry of the topic."""
    bits = kept.left.to_bytes((kept.left.bit_length() + 7) // 8 or 1, "little") if kept.left >= 0 else b""
    return _HEAD.pack(kept.offset, kept.ledger, kept.number, len(bits)) + bits + kept.entry


def unpack(data: bytes) -> Kept:
    """The inverse of ``pack``."""
    offset, ledger, number, size = _HEAD.unpack_from(data)
    at = _HEAD.size + size
    left = int.from_bytes(data[_HEAD.size : at], "little") if size else -1
    return Kept(offset, ledger, number, left, data[at:])
