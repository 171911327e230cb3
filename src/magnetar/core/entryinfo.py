"""What the dispatchers need to know of an entry without looking into it twice: how many messages, part of a chunk."""

from __future__ import annotations

from typing import Final

from magnetar.wire.errors import WireError
from magnetar.wire.metadata import peek

__all__ = ["CHUNK", "COUNT", "DELAYED", "chunk_of", "entry_count", "last_batch_index"]

CHUNK: Final = 1 << 30
"""Set in a count when the entry is one chunk of a larger message."""

DELAYED: Final = 1 << 29
"""Set in a count when the entry names a time before which it is not to be delivered."""

COUNT: Final = (1 << 20) - 1
"""The messages of an entry, which count as at most this many: 5 MiB of empty ones are fewer."""


def entry_count(entry: bytes) -> int:
    """Messages in the entry, with CHUNK and DELAYED set where they hold; 1 for metadata that cannot be read."""
    try:
        metadata = peek(entry)
    except WireError:
        return 1
    if metadata.chunk_id >= 0 and metadata.num_chunks > 1:
        count = CHUNK | 1
    else:
        count = min(max(metadata.num_messages, 1), COUNT)
    return count | DELAYED if metadata.deliver_at_time > 0 else count


def chunk_of(entry: bytes) -> tuple[bytes | None, bool]:
    """The id of the large message that the entry is a chunk of, and whether it is the last one; None for no id.

    An entry that is called a chunk but cannot be understood stands for itself.
    """
    try:
        metadata = peek(entry)
    except WireError:
        return None, True
    return metadata.uuid, metadata.chunk_id >= metadata.num_chunks - 1


def last_batch_index(entry: bytes) -> int:
    """The index of the last message in a batch; -1 for what is no batch, or cannot be understood."""
    try:
        metadata = peek(entry)
    except WireError:
        return -1
    return metadata.num_messages - 1 if metadata.is_batch else -1
