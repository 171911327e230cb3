"""The work of compaction, away from the loop: find the latest message of each key, then leave out the others.

Both passes look at every entry. The first fills ``Latest``: where the latest message of each key stands. A message
without a payload deletes its key. The second compares with it and says what is left of an entry.

A batch whose messages cannot be seen, because it is encrypted or compressed in a way that is not known here, is kept
whole and says nothing of any key. The chunks of one large message live and die together, by the id they share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from magnetar.core.compaction.state import Kept
from magnetar.wire.batch import iter_batch
from magnetar.wire.compression import can_decompress, decompress
from magnetar.wire.entry import metadata_bounds
from magnetar.wire.errors import WireError
from magnetar.wire.metadata import Metadata, peek

__all__ = ["Latest", "Work", "look", "sift"]

_INDEX_BITS = 20

Place = int | bytes
"""Where a message stands: its offset and its index in the batch as one number, or the id that its chunks share."""


class Work:
    """Something that the shell runs outside of the loop; ``done`` is called in the loop, with what went wrong if
    anything did."""

    def __init__(self, run: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.run: Callable[[], None] = run
        self.done: Callable[[Exception | None], None] = done


class Latest:
    """What the first pass has found."""

    def __init__(self, retain_null_key: bool) -> None:
        self.places: dict[bytes, Place] = {}
        self.retain_null_key: bool = retain_null_key
        self.messages: int = 0
        """Messages that the first pass has seen."""
        self.left: int = 0
        """Messages that the second has kept."""

    def lives(self, key: bytes | None, place: Place) -> bool:
        return self.retain_null_key if key is None else self.places.get(key) == place


class _Message(NamedTuple):
    at: int
    """Its index in the batch."""
    key: bytes | None
    place: Place
    empty: bool


def look(latest: Latest, entries: Sequence[Kept]) -> None:
    """The first pass over some entries."""
    for kept in entries:
        messages = _messages(kept)
        if messages is None:
            continue
        for message in messages:
            latest.messages += 1
            if message.key is not None:
                if message.empty:
                    latest.places.pop(message.key, None)
                else:
                    latest.places[message.key] = message.place


def sift(latest: Latest, entries: Sequence[Kept]) -> list[Kept]:
    """The second pass: what is left of some entries."""
    found: list[Kept] = []
    for kept in entries:
        messages = _messages(kept)
        if messages is None:
            found.append(kept)
            continue
        living = [message for message in messages if latest.lives(message.key, message.place)]
        latest.left += len(living)
        if len(living) == len(messages) and living:
            found.append(kept)
        elif living:
            found.append(kept._replace(left=sum(1 << message.at for message in living)))
    return found


def _messages(kept: Kept) -> list[_Message] | None:
    """The messages that are left of the entry; None when they cannot be seen."""
    try:
        metadata = peek(kept.entry)
        if metadata.is_batch:
            return _batch(kept, metadata)
    except WireError:
        return None
    _, start = metadata_bounds(kept.entry)
    size = metadata.uncompressed_size or len(kept.entry) - start
    place: Place = kept.offset << _INDEX_BITS
    if metadata.uuid is not None and metadata.num_chunks > 1:
        place = metadata.uuid
    return [_Message(0, metadata.partition_key, place, size == 0 or metadata.null_value)]


def _batch(kept: Kept, metadata: Metadata) -> list[_Message] | None:
    if metadata.encrypted or not can_decompress(metadata.compression):
        return None
    _, start = metadata_bounds(kept.entry)
    payload = decompress(metadata.compression, kept.entry[start:], metadata.uncompressed_size)
    found: list[_Message] = []
    for index, (single, _) in enumerate(iter_batch(payload, metadata.num_messages)):
        if kept.left < 0 or kept.left >> index & 1:
            key = single.partition_key.encode() if single.HasField("partition_key") else None
            empty = single.payload_size == 0 or single.null_value
            found.append(_Message(index, key, kept.offset << _INDEX_BITS | index, empty))
    return found
