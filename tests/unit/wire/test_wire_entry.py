"""Entries, their checksums, batches inside them, hashes and sticky keys."""

from __future__ import annotations

import ast
import base64
import doctest
from pathlib import Path
from types import ModuleType

import pytest

from magnetar.wire import commands, hashing, replies
from magnetar.wire.batch import iter_batch
from magnetar.wire.commands import pb
from magnetar.wire.delivery import peek_deliver_at
from magnetar.wire.entry import checksum_ok, metadata_bounds, seal, strip_broker_metadata, strip_checksum
from magnetar.wire.errors import WireError
from magnetar.wire.hashing import murmur3, slot, topics_hash
from magnetar.wire.metadata import NONE_KEY, peek, peek_publish_time, sticky_key

META = pb.MessageMetadata(producer_name="p", sequence_id=7, publish_time=99)
SEALED = seal(META.SerializeToString(), b"payload")
BROKER = b"\x0e\x02\x00\x00\x00\x02\x08\x05"


def _entry(**fields: object) -> bytes:
    message = pb.MessageMetadata(producer_name="p", sequence_id=7, publish_time=99)
    for name, value in fields.items():
        setattr(message, name, value)
    return seal(message.SerializeToString(), b"payload")


def test_an_entry_byte_by_byte() -> None:
    assert (
        seal(b"\x0a\x01p\x10\x07\x18\x63", b"hi").hex()
        == "0e01" + "bfe0f8c2" + "00000007" + "0a0170" + "1007" + "1863" + "6869"
    )


def test_parts_of_an_entry() -> None:
    bare = strip_checksum(SEALED)
    assert bare == SEALED[6:]
    assert strip_broker_metadata(BROKER + SEALED) == SEALED
    assert strip_broker_metadata(SEALED) is SEALED
    assert strip_checksum(bare) is bare
    assert strip_checksum(BROKER + SEALED) == BROKER + bare
    for entry in (SEALED, bare, BROKER + SEALED, BROKER + bare):
        start, end = metadata_bounds(entry)
        assert entry[start:end] == META.SerializeToString()
        assert entry[end:] == b"payload"
        assert checksum_ok(entry)
        assert peek(entry).sequence_id == 7


def test_any_flipped_bit_fails_the_checksum() -> None:
    for i in range(2, len(SEALED)):
        for bit in range(8):
            broken = bytearray(SEALED)
            broken[i] ^= 1 << bit
            assert not checksum_ok(bytes(broken))
            assert not checksum_ok(BROKER + bytes(broken))


def test_every_cut_of_an_entry() -> None:
    whole = BROKER + seal(META.SerializeToString(), b"")
    for size in range(len(whole)):
        with pytest.raises(WireError):
            metadata_bounds(whole[:size])
        with pytest.raises(WireError):
            peek(whole[:size])
        assert sticky_key(whole[:size]) == NONE_KEY


@pytest.mark.parametrize("entry", [b"\x0e\x02", b"\x0e\x02\xff\xff\xff\xff12", b"\x0e\x01", b"\x0e\x01123"])
def test_sizes_that_reach_beyond_the_entry(entry: bytes) -> None:
    with pytest.raises(WireError):
        checksum_ok(entry)
    with pytest.raises(WireError):
        strip_checksum(entry)


def test_a_batch_of_one_is_still_a_batch() -> None:
    assert (peek(SEALED).is_batch, peek(SEALED).num_messages) == (False, 1)
    one = _entry(num_messages_in_batch=1)
    assert (peek(one).is_batch, peek(one).num_messages) == (True, 1)
    assert peek(_entry(num_messages_in_batch=-5)).num_messages == -5


def test_publish_time_is_required() -> None:
    assert peek_publish_time(SEALED) == 99
    with pytest.raises(WireError, match="publish_time"):
        peek_publish_time(seal(b"\x0a\x01p\x10\x07", b""))


def test_a_field_that_reaches_into_the_payload() -> None:
    entry = seal(b"\x0a\x01p\x10\x07\x18\x63\x32\x05k", b"payload")
    for look in (peek, peek_publish_time):
        with pytest.raises(WireError, match="cut off"):
            look(entry)
    assert peek_deliver_at(entry) == 0


def test_names_must_be_text() -> None:
    with pytest.raises(WireError, match="UTF-8"):
        peek(seal(b"\x0a\x01\xff\x10\x07\x18\x63", b""))


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({}, b"p-7"),
        ({"sequence_id": (1 << 64) - 1}, b"p--1"),
        ({"partition_key": "k\u00e9y"}, "k\u00e9y".encode()),
        ({"partition_key": ""}, b""),
        ({"partition_key": "k", "ordering_key": b"o"}, b"o"),
        ({"partition_key": "k", "ordering_key": b""}, b""),
        (
            {"partition_key": base64.b64encode(b"\x00\xff\xfe").decode(), "partition_key_b64_encoded": True},
            b"\x00\xff\xfe",
        ),
        ({"partition_key": "AP8", "partition_key_b64_encoded": True}, b"\x00\xff"),
        ({"partition_key": "not base64!", "partition_key_b64_encoded": True}, NONE_KEY),
        ({"partition_key": "A!P8A", "partition_key_b64_encoded": True}, NONE_KEY),
        ({"partition_key": "A", "partition_key_b64_encoded": True}, NONE_KEY),
        ({"partition_key": "AP8", "partition_key_b64_encoded": False}, b"AP8"),
    ],
)
def test_sticky_key(fields: dict[str, object], key: bytes) -> None:
    assert sticky_key(_entry(**fields)) == key


def test_sticky_key_of_metadata_that_cannot_be_understood() -> None:
    assert sticky_key(seal(b"\x0a\x05p", b"x")) == NONE_KEY
    assert sticky_key(seal(b"\x0a\x01p\x10\x07\x32\x05k", b"payload")) == NONE_KEY
    assert sticky_key(seal(b"\x32\x01k", b"x")) == NONE_KEY


@pytest.mark.parametrize(
    ("key", "masked", "ring", "auto"),
    [
        (b"anyKey", 1587856074, 8560, 49866),
        (b"key-0", 1664612543, 23544, 63679),
        (b"key-1", 414258592, 11858, 5536),
        (b"key-2", 1945654540, 51461, 21772),
        (b"a", 1009084850, 42456, 27058),
        (b"", 0, 1, 1),
        (b"NONE_KEY", 504741539, 56505, 48803),
    ],
)
def test_hashes_and_slots(key: bytes, masked: int, ring: int, auto: int) -> None:
    assert murmur3(key) == masked
    assert slot(masked, 65535, 1) == ring
    assert slot(masked, 65536, 0) == auto


def test_topics_hash() -> None:
    name = "persistent://my-property/my-ns/pattern-topic-"
    assert topics_hash([]) == "00000000"
    assert topics_hash([name + "1"]) == "0d0602ed"
    assert topics_hash([name + "3", name + "1", name + "2"]) == "90d4a04a"


def _single(payload: bytes, **fields: object) -> bytes:
    message = pb.SingleMessageMetadata(payload_size=len(payload))
    for name, value in fields.items():
        setattr(message, name, value)
    data = message.SerializeToString()
    return len(data).to_bytes(4, "big") + data + payload


def test_a_batch_comes_apart() -> None:
    payload = _single(b"one", partition_key="k") + _single(b"") + _single(b"three")
    messages = iter_batch(payload, 3)
    assert [body for _, body in messages] == [b"one", b"", b"three"]
    assert messages[0][0].partition_key == "k"


def test_every_cut_of_a_batch() -> None:
    payload = _single(b"one") + _single(b"two")
    for size in range(len(payload)):
        with pytest.raises(WireError):
            iter_batch(payload[:size], 2)


@pytest.mark.parametrize("count", [-1, 1 << 31, 3])
def test_a_count_that_cannot_be(count: int) -> None:
    with pytest.raises(WireError):
        iter_batch(_single(b"one"), count)


def test_a_batch_with_bad_sizes() -> None:
    for payload in (
        _single(b"", payload_size=-1) + b"xxxx",
        b"\xff\xff\xff\xff" + b"x" * 20,
        b"\x00\x00\x00\x00" + b"x" * 9,
    ):
        with pytest.raises(WireError):
            iter_batch(payload, 1)


@pytest.mark.parametrize("module", [commands, hashing, replies])
def test_examples_in_the_docs(module: ModuleType) -> None:
    """The examples are taken from the source, because a compiled module hides them."""
    name = module.__name__.rpartition(".")[2]
    source = (Path(commands.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    runner = doctest.DocTestRunner()
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else None
        runner.run(doctest.DocTestParser().get_doctest(text or "", dict(vars(module)), name, None, None))
    assert runner.tries > 0
    assert runner.failures == 0
