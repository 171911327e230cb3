"""Batches: several messages in one entry, each with metadata of its own in front.

    ([u32 size][SingleMessageMetadata][payload_size bytes]) times num_messages_in_batch

A broker has to look inside only for compaction, for showing messages, and in tests; the payload must be decompressed.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.commands import parse
from magnetar.wire.errors import WireError
from magnetar.wire.proto import pulsar_pb2 as pb

__all__ = ["iter_batch"]

_MESSAGE_BYTES_MIN: Final = 6
"""Four bytes of size and the shortest metadata, a tag and a payload size."""


def iter_batch(payload: bytes, count: int) -> list[tuple[pb.SingleMessageMetadata, bytes]]:
    """Take an uncompressed batch of ``count`` messages apart. Bytes behind the last message are ignored."""
    if count < 0 or count * _MESSAGE_BYTES_MIN > len(payload):
        raise WireError(f"a batch of {count} messages cannot have only {len(payload)} bytes")
    messages: list[tuple[pb.SingleMessageMetadata, bytes]] = []
    i = 0
    for _ in range(count):
        start = i + 4
        if start > len(payload):
            raise WireError("a batch is cut off")
        end = start + int.from_bytes(payload[i:start], "big")
        if end > len(payload):
            raise WireError("a batch is cut off")
        metadata = parse(pb.SingleMessageMetadata, payload[start:end])
        if metadata.payload_size < 0:
            raise WireError("a message in a batch has a negative size")
        i = end + metadata.payload_size
        if i > len(payload):
            raise WireError("a batch is cut off")
        messages.append((metadata, payload[end:i]))
    return messages
