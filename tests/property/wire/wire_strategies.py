"""Protobuf messages with any fields set, drawn from their own descriptors."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

M = TypeVar("M", bound=Message)


def _edges(low: int, high: int) -> st.SearchStrategy[int]:
    usual = st.integers(max(low, -1), min(high, 1 << 17))
    return st.one_of(usual, st.integers(low, high), st.sampled_from([low, high]))


_NUMBERS = {
    FieldDescriptor.TYPE_UINT64: _edges(0, (1 << 64) - 1),
    FieldDescriptor.TYPE_INT64: _edges(-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.TYPE_UINT32: _edges(0, (1 << 32) - 1),
    FieldDescriptor.TYPE_INT32: _edges(-(1 << 31), (1 << 31) - 1),
}


def _value(field: FieldDescriptor, depth: int) -> st.SearchStrategy[object]:
    if field.type in _NUMBERS:
        return _NUMBERS[field.type]
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return st.floats(allow_nan=False)
    if field.type == FieldDescriptor.TYPE_STRING:
        return st.text(max_size=20)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=20)
    if field.type == FieldDescriptor.TYPE_ENUM:
        assert field.enum_type is not None
        return st.sampled_from([value.number for value in field.enum_type.values])
    assert field.message_type is not None
    return messages(GetMessageClass(field.message_type), depth - 1)


@st.composite
def messages(draw: st.DrawFn, kind: type[M], depth: int = 2) -> M:
    """Draw a complete message: required fields always, others sometimes, repeated ones up to three times."""
    message = kind()
    for field in kind.DESCRIPTOR.fields:
        assert isinstance(field, FieldDescriptor)
        nested = field.type == FieldDescriptor.TYPE_MESSAGE
        if nested and depth == 0 and not field.is_required:
            continue
        if not field.is_required and draw(st.booleans()):
            continue
        if field.is_repeated:
            values = draw(st.lists(_value(field, depth), max_size=3))
            getattr(message, field.name).extend(values)
        elif nested:
            getattr(message, field.name).CopyFrom(draw(_value(field, depth)))
        else:
            setattr(message, field.name, draw(_value(field, depth)))
    return message


@st.composite
def shuffled(draw: st.DrawFn, message: Message) -> bytes:
    """Serialize a message with its top-level fields in any order, some of them twice, and unknown ones between."""
    parts = [
        draw(st.sampled_from([b"", b"\xc2\x3e\x03abc", b"\xc0\x3e\x96\x01", b"\xc5\x3e1234", b"\xc1\x3e12345678"]))
    ]
    for field, value in message.ListFields():
        one = type(message)()
        if field.is_repeated:
            getattr(one, field.name).extend(value)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(one, field.name).CopyFrom(value)
        else:
            setattr(one, field.name, value)
            if draw(st.booleans()):
                parts.append(one.SerializePartialToString())
        parts.append(one.SerializePartialToString())
    return b"".join(draw(st.permutations(parts)))
