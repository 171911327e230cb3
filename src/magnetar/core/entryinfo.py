"""What the dispatchers need to know of an entry without looking into it twice: how many messages, part of a chunk."""

from __future__ import annotations

from magnetar.wire.errors import WireError
from magnetar.wire.metadata import peek

__all__ = ["CHUNK", "COUNT", "entry_count"]

CHUNK = 1 << 30
"""Set in a count when the entry is one chunk of a larger message."""

COUNT = CHUNK - 1


def entry_count(entry: bytes) -> int:
    """Messages in the entry, with CHUNK set for a chunk; 1 for metadata that cannot be read."""
    try:
        metadata = peek(entry)
    except WireError:
        return 1
    if metadata.chunk_id >= 0 and metadata.num_chunks > 1:
        return CHUNK | 1
    return max(metadata.num_messages, 1)
