"""What is still open of a batch: masks with a one for every message that is not acknowledged, and words on the wire.

A client may say whatever it likes, megabytes of it. What is kept is cut to the messages that the batch has, or, where
that cannot be seen without reading it, to as many as any batch can have.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from magnetar.core.entryinfo import COUNT, entry_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from magnetar.core.topic import Topic

__all__ = ["mask_words", "open_mask"]

_WORD = (1 << 64) - 1


def open_mask(topic: Topic, offset: int, words: Sequence[int], before: int = -1) -> int:
    """The mask of open messages that a client gave for the entry at ``offset``, as 64-bit words, lowest first.
    ``before`` is what was open until now, if some of it was not."""
    tail = topic.tail
    messages = COUNT
    if before >= 0:
        messages = before.bit_length()
    elif tail.base <= offset < tail.end:
        messages = entry_count(tail.entries[offset - tail.base + tail.gone]) & COUNT
    used = words[: (messages + 63) // 64]
    packed = struct.pack(f"<{len(used)}Q", *[word & _WORD for word in used])
    return int.from_bytes(packed, "little") & ((1 << messages) - 1)


def mask_words(mask: int) -> list[int]:
    """A mask as words of the wire."""
    count = (mask.bit_length() + 63) // 64
    return list(struct.unpack(f"<{count}Q", mask.to_bytes(8 * count, "little")))
