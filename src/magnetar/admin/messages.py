"""A stored entry as an answer over HTTP: its payload, unpacked from compression, and its metadata in headers.

A batch stays a batch: the client takes it apart, as it does with Pulsar. What is encrypted stays as it is.
"""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import quote

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal
from magnetar.admin.stats.common import iso
from magnetar.wire.commands import parse, pb
from magnetar.wire.compression import can_decompress, decompress
from magnetar.wire.entry import metadata_bounds
from magnetar.wire.errors import WireError

__all__ = ["message_answer", "unpacked"]

_NAMES = {1: "LZ4", 2: "ZLIB", 3: "ZSTD", 4: "SNAPPY"}

_TEXTS = ("producer_name", "replicated_from", "partition_key", "encryption_algo", "uuid")
_NUMBERS = ("uncompressed_size", "marker_type", "highest_sequence_id", "num_chunks_from_msg", "total_chunk_msg_size",
            "chunk_id", "txnid_least_bits", "txnid_most_bits")  # fmt: skip
_FLAGS = ("null_value", "null_partition_key", "partition_key_b64_encoded")
_BYTES = ("encryption_param", "schema_version", "ordering_key")
_TIMES = ("publish_time", "event_time", "deliver_at_time")
_HEADERS = {
    "partition_key_b64_encoded": "X-Pulsar-partition-key-b64-encoded",
    "txnid_least_bits": "X-Pulsar-txnid-least-bits",
    "txnid_most_bits": "X-Pulsar-txnid-most-bits",
    "schema_version": "X-Pulsar-Base64-schema-version-b64encoded",
}


def message_answer(entry: bytes, ledger: int, number: int) -> web.Response:
    """The entry with this id."""
    try:
        start, end = metadata_bounds(entry)
        metadata = parse(pb.MessageMetadata, entry[start:end])
    except WireError as error:
        raise Refusal(412, f"entry {ledger}:{number} cannot be read: {error}") from None
    body = entry[end:]
    if metadata.compression and not metadata.encryption_keys:
        body = unpacked(metadata.compression, body, metadata.uncompressed_size)
    headers = {"X-Pulsar-Message-ID": f"{ledger}:{number}"}
    headers |= _headers(metadata, len(entry) - (end - start))
    return web.Response(body=body, headers=headers, content_type="application/octet-stream")


def _headers(metadata: pb.MessageMetadata, size: int) -> dict[str, str]:
    """What Pulsar says of a message, under Pulsar's names. ``size`` is that of the entry without its metadata."""
    properties = {pair.key: pair.value for pair in metadata.properties}
    # Header lines are ASCII: other characters of the properties are written as JSON escapes, which read the same.
    found = {"X-Pulsar-PROPERTY": _ascii_json(properties)}
    for name in _TIMES:
        if metadata.HasField(name):
            found[_header(name)] = iso(max(min(getattr(metadata, name), _LATEST_MS), 0))
    if metadata.HasField("num_messages_in_batch"):
        found["X-Pulsar-num-batch-message"] = str(metadata.num_messages_in_batch)
        found["X-Pulsar-batch-size"] = str(size)
    if metadata.HasField("num_chunks_from_msg"):
        found["X-Pulsar-PROPERTY-TOTAL-CHUNKS"] = str(metadata.num_chunks_from_msg)
        found["X-Pulsar-PROPERTY-CHUNK-ID"] = str(metadata.chunk_id)
    found["X-Pulsar-Is-Encrypted"] = str(bool(metadata.encryption_keys)).lower()
    found["X-Pulsar-sequence-id"] = str(metadata.sequence_id)
    for name in _TEXTS:
        if metadata.HasField(name):
            found[_header(name)] = _ascii(getattr(metadata, name))
    if metadata.HasField("compression"):
        found["X-Pulsar-compression"] = _NAMES.get(metadata.compression, "NONE")
    for name in _NUMBERS:
        if metadata.HasField(name):
            found[_header(name)] = str(getattr(metadata, name))
    for name in _FLAGS:
        if metadata.HasField(name):
            found[_header(name)] = str(getattr(metadata, name)).lower()
    for name in _BYTES:
        if metadata.HasField(name):
            found[_header(name, "Base64-")] = b64encode(getattr(metadata, name)).decode()
    if metadata.encryption_keys:
        keys = [b64encode(key.SerializeToString()).decode() for key in metadata.encryption_keys]
        found["X-Pulsar-Base64-encryption-keys"] = ",".join(keys)
    found["X-Pulsar-txn-uncommitted"] = "false"
    return found


_LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, beyond which times cannot be written."""


def _header(name: str, kind: str = "") -> str:
    return _HEADERS.get(name) or f"X-Pulsar-{kind}{name.replace('_', '-')}"


def _ascii(text: str) -> str:
    """A text as one header line: what cannot stand there is percent-encoded."""
    return text if text.isascii() and text.isprintable() else quote(text, safe=" ")


def _ascii_json(value: dict[str, str]) -> str:
    text = msgspec.json.encode(value).decode()
    return "".join(each if " " <= each <= "~" else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def unpacked(kind: int, data: bytes, size: int) -> bytes:
    """The payload as it was before its producer compressed it to ``data``."""
    if not can_decompress(kind):
        raise Refusal(412, f"the payload is compressed in a way that is not known here: {kind}")
    try:
        return decompress(kind, data, size)
    except WireError as error:
        raise Refusal(412, f"the payload cannot be unpacked: {error}") from None
