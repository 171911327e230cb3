"""All other commands: protobuf messages in and out of frames.

>>> framed = encode(pb.CommandSuccess(request_id=4))
>>> kind, message = decode(framed, 8, len(framed))
>>> NAMES[kind], message == pb.CommandSuccess(request_id=4)
('SUCCESS', True)

Protobuf's parser lets two things through that ``parse`` does not: a message without a required field, and a text that
is not UTF-8, which would later turn up as ``bytes`` where a ``str`` is expected.
"""

from __future__ import annotations

from typing import Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message

from magnetar.wire.errors import WireError
from magnetar.wire.frames import frame
from magnetar.wire.hot import split
from magnetar.wire.proto import pulsar_pb2 as pb
from magnetar.wire.varint import write_varint

__all__ = ["NAMES", "UNSOLICITED_REQUEST_ID", "decode", "decode_body", "encode", "parse", "pb"]

_M = TypeVar("_M", bound=Message)

UNSOLICITED_REQUEST_ID: Final = (1 << 64) - 1
"""The request id of what a broker says unasked; on the wire it is -1 as an unsigned number."""

NAMES: Final[dict[int, str]] = {value: name for name, value in pb.BaseCommand.Type.items()}
"""The name of each command type, for logs and errors."""


def _classes() -> dict[int, type[Message]]:
    empty = pb.BaseCommand()
    fields = pb.BaseCommand.DESCRIPTOR.fields_by_number
    return {number: type(getattr(empty, fields[number].name)) for number in NAMES}


_CLASS_OF: Final[dict[int, type[Message]]] = _classes()
_LEAD_OF: Final[dict[type[Message], bytes]] = {
    kind: b"\x08" + write_varint(number) + write_varint(number << 3 | 2) for number, kind in _CLASS_OF.items()
}


def encode(message: Message) -> bytes:
    """Frame one sub-message, such as ``pb.CommandSuccess``; its type number follows from its class."""
    try:
        body = message.SerializeToString()
    except EncodeError as error:
        raise WireError(str(error)) from None
    return frame(_LEAD_OF[type(message)] + write_varint(len(body)) + body)


def decode(buf: bytes, start: int, end: int) -> tuple[int, Message]:
    """Read the BaseCommand in ``buf[start:end]``: its type, and its sub-message of the class that belongs to it."""
    kind, body_start, body_end = split(buf, start, end)
    return kind, decode_body(kind, buf, body_start, body_end)


def decode_body(kind: int, buf: bytes, start: int, end: int) -> Message:
    """Read the sub-message of a command whose type and bounds ``split`` has found."""
    maker = _CLASS_OF.get(kind)
    if maker is None:
        raise WireError(f"no command has the type {kind}")
    return parse(maker, buf[start:end])


def parse(maker: type[_M], data: bytes) -> _M:
    """Read one message of the given class from exactly these bytes."""
    message = maker()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise WireError(f"{maker.__name__} cannot be parsed") from None
    if not message.IsInitialized():
        raise WireError(_missing(message))
    # Where no byte is above 127 there can be no broken UTF-8, and most commands are like that.
    if not data.isascii():
        _check_texts(message)
    return message


def _missing(message: Message) -> str:
    # Only the serializer says by name what is missing.
    try:
        message.SerializeToString()
    except EncodeError as error:
        return str(error)
    raise AssertionError("the message is complete")


def _check_texts(message: Message) -> None:
    """Refuse texts that are not UTF-8; the parser bounds how deep messages nest."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            if not all(isinstance(text, str) for text in (value if field.is_repeated else (value,))):
                raise WireError(f"{field.full_name} is not UTF-8")
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else (value,):
                _check_texts(inner)
