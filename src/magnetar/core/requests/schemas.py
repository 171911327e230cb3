"""GET_SCHEMA and GET_OR_CREATE_SCHEMA."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from magnetar.core.creating import with_topic
from magnetar.core.names import TopicName
from magnetar.core.schemas.info import from_wire, to_wire, version_bytes
from magnetar.core.topic import Topic
from magnetar.errors import IncompatibleSchema, InvalidSchema, MagnetarError, TopicNotFound
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["get_or_create_schema", "get_schema"]

_VERSION = struct.Struct(">q")


def _code(error: Exception) -> pb.ServerError:
    code = error.code if isinstance(error, MagnetarError) else 0
    return pb.ServerError.Name(code)  # type: ignore[return-value]


def get_schema(broker: Broker, session: Session, message: pb.CommandGetSchema) -> None:
    """GET_SCHEMA: the schema of a version, or the latest."""
    answer = pb.CommandGetSchemaResponse(request_id=message.request_id)
    try:
        name = TopicName(message.topic)
        history = broker.schemas.of(name)
        if message.HasField("schema_version"):
            if len(message.schema_version) != _VERSION.size:
                raise IncompatibleSchema(
                    f"a schema version has {_VERSION.size} bytes, not {len(message.schema_version)}"
                )
            found = history.at(_VERSION.unpack(message.schema_version)[0])
        else:
            found = history.latest
        if found is None:
            raise TopicNotFound(f"Topic {name} not found, or it has no schema of this version")
        answer.schema.CopyFrom(to_wire(found.definition.info, f"{name.namespace}/{name.parent}"))
        answer.schema_version = version_bytes(found.version)
    except MagnetarError as error:
        answer.error_code = _code(error)
        answer.error_message = str(error)
    session.reply(answer)


def get_or_create_schema(broker: Broker, session: Session, message: pb.CommandGetOrCreateSchema) -> None:
    """GET_OR_CREATE_SCHEMA: the version of one more schema that a producer wants to write with."""

    def answer(version: int, error: Exception | None) -> None:
        reply = pb.CommandGetOrCreateSchemaResponse(request_id=message.request_id)
        if error is None:
            reply.schema_version = version_bytes(version)
        else:
            reply.error_code = _code(error)
            reply.error_message = str(error)
        session.reply(reply)

    def opened(topic: Topic | None, error: Exception | None) -> None:
        try:
            if topic is None:
                raise error or TopicNotFound(f"Topic {message.topic} not found")
            info = from_wire(message.schema)
            if info is None:
                raise InvalidSchema("plain bytes are no schema; send without one")
            policies = topic.policies
            broker.schemas.register(topic.name, info, policies.schema_strategy, policies.schema_auto_update, answer)
        except MagnetarError as wrong:
            answer(-1, wrong)

    try:
        with_topic(broker, message.topic, False, opened)
    except MagnetarError as error:
        answer(-1, error)
