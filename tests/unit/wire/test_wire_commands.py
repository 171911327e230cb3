"""Commands through protobuf: what is refused, and with which words."""

from __future__ import annotations

import pytest

from magnetar.wire.commands import NAMES, decode, decode_body, encode, parse, pb
from magnetar.wire.errors import WireError
from magnetar.wire.frames import next_frame


def test_every_command_type_has_a_message_and_finds_it_back() -> None:
    for kind, name in NAMES.items():
        field = pb.BaseCommand.DESCRIPTOR.fields_by_number[kind].name
        message = getattr(pb.BaseCommand(), field)
        if not message.IsInitialized():
            with pytest.raises(WireError, match="required"):
                encode(message)
            with pytest.raises(WireError, match="required"):
                decode_body(kind, b"", 0, 0)
            continue
        framed = encode(message)
        start, end, stop = next_frame(framed, 0, len(framed), 100)
        assert stop == len(framed)
        assert decode(framed, start, end) == (kind, message), name


def test_a_command_is_the_base_command_that_protobuf_would_write() -> None:
    message = pb.CommandSubscribe(
        topic="persistent://public/default/t",
        subscription="s",
        subType=pb.CommandSubscribe.SubType.Key_Shared,
        consumer_id=1,
        request_id=2,
    )
    whole = pb.BaseCommand(type=pb.BaseCommand.Type.SUBSCRIBE, subscribe=message)
    assert encode(message)[8:] == whole.SerializeToString()


def test_missing_fields_are_named() -> None:
    with pytest.raises(WireError, match="CommandSubscribe is missing required fields: subscription,subType"):
        parse(pb.CommandSubscribe, b"\x0a\x01t\x20\x01\x28\x02")
    with pytest.raises(WireError, match=r"message_id\.entryId"):
        parse(pb.CommandSeek, b"\x08\x01\x10\x02\x1a\x02\x08\x05")
    with pytest.raises(WireError, match="request_id"):
        encode(pb.CommandSuccess())


def test_texts_must_be_utf8_at_any_depth() -> None:
    with pytest.raises(WireError, match="client_version is not UTF-8"):
        parse(pb.CommandConnect, b"\x0a\x02\xff\xfe")
    with pytest.raises(WireError, match=r"KeyValue\.value is not UTF-8"):
        parse(pb.CommandProducer, b"\x0a\x01t\x10\x01\x18\x02\x32\x06\x0a\x01k\x12\x01\xff")
    with pytest.raises(WireError, match="topics is not UTF-8"):
        parse(pb.CommandGetTopicsOfNamespaceResponse, b"\x08\x01\x12\x01t\x12\x01\xff")
    assert parse(pb.CommandConnect, "\x0a\x02\u00e9".encode()).client_version == "\u00e9"
    assert parse(pb.CommandConnect, b"\x0a\x01v\x1a\x01\xff").auth_data == b"\xff"


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(WireError, match="no command has the type 70"):
        decode(b"\x08\x46\xb2\x04\x02\x08\x01", 0, 7)


def test_garbage_is_refused() -> None:
    with pytest.raises(WireError, match="CommandSuccess cannot be parsed"):
        decode(b"\x08\x0d\x6a\x01\xff", 0, 5)
