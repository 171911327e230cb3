"""Looking into the metadata of an entry without parsing it.

A broker stores and delivers entries as they came. It needs a few fields of their metadata, and most of those only where
a feature asks for them: so ``peek`` collects all that a broker may ask for, and the ``peek_`` functions and
``sticky_key`` (in ``stickykey``) find one thing each and allocate nothing else. Properties and keys of encryption are
stepped over.

The decoders follow the rules that ``varint`` and ``hot`` describe.
"""

from __future__ import annotations

from typing import Final

from magnetar.wire.entry import metadata_bounds
from magnetar.wire.errors import WireError
from magnetar.wire.stickykey import NONE_KEY, sticky_key
from magnetar.wire.varint import int32, int64, rest_of_varint, short_tag, skip_field

__all__ = ["NONE_KEY", "Metadata", "peek", "peek_publish_time", "sticky_key"]

_TAG_PRODUCER_NAME: Final = 1 << 3 | 2
_TAG_SEQUENCE_ID: Final = 2 << 3
_TAG_PUBLISH_TIME: Final = 3 << 3
_TAG_REPLICATED_FROM: Final = 5 << 3 | 2
_TAG_PARTITION_KEY: Final = 6 << 3 | 2
_TAG_COMPRESSION: Final = 8 << 3
_TAG_UNCOMPRESSED_SIZE: Final = 9 << 3
_TAG_NUM_MESSAGES: Final = 11 << 3
_TAG_EVENT_TIME: Final = 12 << 3
_TAG_ENCRYPTION_KEYS: Final = 13 << 3 | 2
_TAG_SCHEMA_VERSION: Final = 16 << 3 | 2
_TAG_PARTITION_KEY_B64: Final = 17 << 3
_TAG_ORDERING_KEY: Final = 18 << 3 | 2
_TAG_DELIVER_AT_TIME: Final = 19 << 3
_TAG_MARKER_TYPE: Final = 20 << 3
_TAG_TXN_LEAST: Final = 22 << 3
_TAG_TXN_MOST: Final = 23 << 3
_TAG_HIGHEST_SEQUENCE_ID: Final = 24 << 3
_TAG_NULL_VALUE: Final = 25 << 3
_TAG_UUID: Final = 26 << 3 | 2
_TAG_NUM_CHUNKS: Final = 27 << 3
_TAG_CHUNK_ID: Final = 29 << 3


class Metadata:
    """The fields of MessageMetadata that a broker looks at.

    Absent is None for texts and bytes, -1 for ``marker_type`` and ``chunk_id``, 0 for other numbers and 1 for
    ``num_messages``. ``is_batch`` says that the number of messages was given at all, which is what makes a batch.
    """

    __slots__ = (
        "chunk_id",
        "compression",
        "deliver_at_time",
        "encrypted",
        "event_time",
        "has_txn",
        "highest_sequence_id",
        "is_batch",
        "marker_type",
        "null_value",
        "num_chunks",
        "num_messages",
        "ordering_key",
        "partition_key",
        "partition_key_b64",
        "producer_name",
        "publish_time",
        "replicated_from",
        "schema_version",
        "sequence_id",
        "uncompressed_size",
        "uuid",
    )

    def __init__(self) -> None:
        self.producer_name: str = ""
        self.sequence_id: int = -1
        self.highest_sequence_id: int = 0
        self.publish_time: int = -1
        self.event_time: int = 0
        self.partition_key: bytes | None = None
        self.partition_key_b64: bool = False
        self.ordering_key: bytes | None = None
        self.num_messages: int = 1
        self.is_batch: bool = False
        self.deliver_at_time: int = 0
        self.marker_type: int = -1
        self.uuid: bytes | None = None
        self.num_chunks: int = 0
        self.chunk_id: int = -1
        self.compression: int = 0
        self.uncompressed_size: int = 0
        self.encrypted: bool = False
        self.has_txn: bool = False
        self.schema_version: bytes | None = None
        self.replicated_from: str | None = None
        self.null_value: bool = False


def peek(entry: bytes) -> Metadata:
    """Collect the fields of an entry's metadata that a broker looks at."""
    i, end = metadata_bounds(entry)
    found = Metadata()
    named = False
    try:
        while i < end:
            tag = entry[i]
            after = i + 1
            if tag < 8 or tag >= 128:
                tag, after = short_tag(entry, i)
            form = tag & 7
            if form == 0 and tag:
                n = entry[after]
                i = after + 1
                if n >= 128:
                    n, i = rest_of_varint(entry, i, n)
                if tag < _TAG_DELIVER_AT_TIME:
                    _take_number(found, tag, n)
                else:
                    _take_late_number(found, tag, n)
            elif form == 2:
                n = entry[after]
                i = after + 1
                if n >= 128:
                    n, i = rest_of_varint(entry, i, n)
                if n > end - i:
                    raise WireError("metadata is cut off")
                if tag == _TAG_PRODUCER_NAME:
                    named = True
                _take_bytes(found, tag, entry, i, i + n)
                i += n
            else:
                i = skip_field(entry, i, end)
    except IndexError:
        raise WireError("metadata is cut off") from None
    if i != end:
        raise WireError("metadata is cut off")
    if not named or found.sequence_id < 0 or found.publish_time < 0:
        raise WireError("metadata lacks producer_name, sequence_id or publish_time")
    return found


def _take_number(found: Metadata, tag: int, n: int) -> None:
    if tag == _TAG_SEQUENCE_ID:
        found.sequence_id = n
    elif tag == _TAG_PUBLISH_TIME:
        found.publish_time = n
    elif tag == _TAG_COMPRESSION:
        # An enum value that nobody knows counts as absent.
        if n <= 4:
            found.compression = n
    elif tag == _TAG_UNCOMPRESSED_SIZE:
        found.uncompressed_size = n & 0xFFFFFFFF
    elif tag == _TAG_NUM_MESSAGES:
        found.num_messages = int32(n)
        found.is_batch = True
    elif tag == _TAG_EVENT_TIME:
        found.event_time = n
    elif tag == _TAG_PARTITION_KEY_B64:
        found.partition_key_b64 = n != 0


def _take_late_number(found: Metadata, tag: int, n: int) -> None:
    if tag == _TAG_DELIVER_AT_TIME:
        found.deliver_at_time = int64(n)
    elif tag == _TAG_MARKER_TYPE:
        found.marker_type = int32(n)
    elif tag in (_TAG_TXN_LEAST, _TAG_TXN_MOST):
        found.has_txn = True
    elif tag == _TAG_HIGHEST_SEQUENCE_ID:
        found.highest_sequence_id = n
    elif tag == _TAG_NULL_VALUE:
        found.null_value = n != 0
    elif tag == _TAG_NUM_CHUNKS:
        found.num_chunks = int32(n)
    elif tag == _TAG_CHUNK_ID:
        found.chunk_id = int32(n)


def _take_bytes(found: Metadata, tag: int, buf: bytes, start: int, end: int) -> None:
    if tag == _TAG_PRODUCER_NAME:
        found.producer_name = _text(buf, start, end)
    elif tag == _TAG_PARTITION_KEY:
        found.partition_key = buf[start:end]
    elif tag == _TAG_ORDERING_KEY:
        found.ordering_key = buf[start:end]
    elif tag == _TAG_SCHEMA_VERSION:
        found.schema_version = buf[start:end]
    elif tag == _TAG_ENCRYPTION_KEYS:
        found.encrypted = True
    elif tag == _TAG_UUID:
        found.uuid = buf[start:end]
    elif tag == _TAG_REPLICATED_FROM:
        found.replicated_from = _text(buf, start, end)


def _text(buf: bytes, start: int, end: int) -> str:
    try:
        return buf[start:end].decode("utf-8")
    except UnicodeDecodeError:
        raise WireError("a name in the metadata is not UTF-8") from None


def peek_publish_time(entry: bytes) -> int:
    """Find when an entry was published, by its producer's clock, in milliseconds."""
    n = _peek_number(entry, _TAG_PUBLISH_TIME, -1)
    if n < 0:
        raise WireError("metadata lacks publish_time")
    return n


def _peek_number(entry: bytes, wanted: int, absent: int) -> int:
    i, end = metadata_bounds(entry)
    result = absent
    try:
        while i < end:
            tag = entry[i]
            after = i + 1
            if tag < 8 or tag >= 128:
                tag, after = short_tag(entry, i)
            form = tag & 7
            if tag == 0 or (form != 0 and form != 2):
                i = skip_field(entry, i, end)
                continue
            n = entry[after]
            i = after + 1
            if n >= 128:
                n, i = rest_of_varint(entry, i, n)
            if form == 2:
                i += n
            elif tag == wanted:
                result = n
    except IndexError:
        raise WireError("metadata is cut off") from None
    if i != end:
        raise WireError("metadata is cut off")
    return result
